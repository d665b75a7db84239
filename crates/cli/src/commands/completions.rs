//! `anyhook completions`: prints the shell's completion script.
//!
//! The printed script makes the shell ask this program what can be completed at the cursor:
//! `anyhook -- WORDS…` with `ANYHOOK_COMPLETE` set to the shell. Which values each argument takes
//! is defined in [`crate::argument_values`].

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use anyhook_model::exit_code;
use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;

use super::CommandResult;
use crate::environment::completing_shell;
use crate::error::CommandError;
use crate::ui::Out;

/// The variable in which a shell's script names the shell.
pub const VARIABLE: &str = "ANYHOOK_COMPLETE";

/// The word before the command line that is to be completed.
pub const ARGUMENT: &str = "--";

/// The shells that have a script.
const SHELLS: Shells<'static> = Shells::builtins();

/// Print completions for a shell: commands, options, and values such as hooks and agents
#[derive(Args)]
#[command(
    after_help = "Example: anyhook completions bash > ~/.local/share/bash-completion/completions/anyhook"
)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub fn run(arguments: &CompletionsArgs, out: &mut Out) -> CommandResult {
    let name = arguments.shell.to_string();
    let shell = SHELLS.completer(&name);
    let shell = shell.ok_or_else(|| CommandError::usage(format!("unknown shell `{name}`")))?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "anyhook", "anyhook", "anyhook", &mut script)?;
    let mut script = String::from_utf8_lossy(&script).trim().to_owned();
    if arguments.shell == Shell::Zsh {
        script.push_str(ZSH_FIRST_USE);
    }
    out.text(&script)?;
    Ok(exit_code::OK)
}

/// zsh loads a file of its functions at their first use: that use has to complete something, too.
const ZSH_FIRST_USE: &str = "

if [[ \"$funcstack[1]\" = \"_anyhook\" ]]; then
    _clap_dynamic_completer_anyhook \"$@\"
fi";

/// Answers a shell's script that asks what can be completed at the cursor; `None` if no script
/// asks.
///
/// Errors are not reported: the person is in the middle of typing a line.
pub fn answer(words: &[OsString]) -> Option<ExitCode> {
    let name = completing_shell()?;
    let shell = SHELLS.completer(&name)?;
    if words.is_empty() {
        return None;
    }
    let folder = std::env::current_dir().ok();
    let mut text = Vec::new();
    let mut command = super::command_line();
    if shell.write_complete(&mut command, words.to_vec(), folder.as_deref(), &mut text).is_ok() {
        // A shell that does not read the answer has given up waiting.
        let _ = std::io::stdout().write_all(&text);
    }
    Some(ExitCode::SUCCESS)
}

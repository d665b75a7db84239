//! `anyhook completions`: for the shell's tab key.
//!
//! What is printed has the shell ask this program what can stand at the cursor: `anyhook -- WORDS…`
//! with `ANYHOOK_COMPLETE` set to the shell. What can be typed where is in [`super::values`].

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

/// The variable by which a shell's script says which shell asks.
pub const VARIABLE: &str = "ANYHOOK_COMPLETE";

/// The word before the command line that is to be completed.
pub const ARGUMENT: &str = "--";

/// The shells there are scripts for.
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

/// zsh reads a file of its functions at the first use of it: that use is to complete something, too.
const ZSH_FIRST_USE: &str = "

if [[ \"$funcstack[1]\" = \"_anyhook\" ]]; then
    _clap_dynamic_completer_anyhook \"$@\"
fi";

/// Answers a shell's script that asks what can stand at the cursor; none if no script asks.
///
/// What goes wrong is not said: the person is in the middle of a line.
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
        // A shell that does not read it has given up waiting.
        let _ = std::io::stdout().write_all(&text);
    }
    Some(ExitCode::SUCCESS)
}

//! `anyhook completions`: for the shell's tab key.

use anyhook_model::exit_code;
use clap::Args;
use clap_complete::Shell;

use super::Ended;
use crate::ui::Out;

/// Print completions for a shell
#[derive(Args)]
#[command(
    after_help = "Example: anyhook completions bash > ~/.local/share/bash-completion/completions/anyhook"
)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub fn run(arguments: &CompletionsArgs, command: &mut clap::Command, out: &mut Out) -> Ended {
    // Written aside first: the generator panics when nobody reads.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "anyhook", &mut script);
    out.text(String::from_utf8_lossy(&script).trim_end())?;
    Ok(exit_code::OK)
}

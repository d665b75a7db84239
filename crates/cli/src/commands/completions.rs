//! `anyhook completions`: for the shell's tab key.

use clap::Args;
use clap_complete::Shell;

/// Print completions for a shell
#[derive(Args)]
#[command(
    after_help = "Example: anyhook completions bash > ~/.local/share/bash-completion/completions/anyhook"
)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub fn run(arguments: &CompletionsArgs, command: &mut clap::Command) {
    clap_complete::generate(arguments.shell, command, "anyhook", &mut std::io::stdout());
}

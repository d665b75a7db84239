//! Installs the real agents that the end-to-end tests run: the most used, or with `--all` every one
//! (`cargo xtask test agents --all`).

use std::process::ExitCode;

use anyhook_testkit::agents::Agent;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program for people")]
fn main() -> ExitCode {
    let all = std::env::args().any(|argument| argument == "--all");
    for agent in Agent::ALL.into_iter().filter(|agent| all || !Agent::RARE.contains(agent)) {
        match agent.install() {
            Ok(folder) => println!("{} is in {}", agent.name(), folder.display()),
            Err(error) => {
                eprintln!("{} cannot be installed: {error}", agent.name());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

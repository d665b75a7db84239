//! Installs the real agents that the end-to-end tests run (`cargo xtask test agents`).

use std::process::ExitCode;

use anyhook_testkit::agents::Agent;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program for people")]
fn main() -> ExitCode {
    for agent in Agent::ALL {
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

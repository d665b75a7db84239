//! Installs what the tests of the page need (`cargo xtask test page`): what drives the browser, what
//! tries the API, and the agent that waits for an answer.

use std::process::ExitCode;

use anyhook_testkit::agents::Agent;
use anyhook_testkit::{browser, pypi};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program for people")]
fn main() -> ExitCode {
    let installed = browser::install()
        .and_then(|folder| Ok([folder, pypi::schemathesis()?, Agent::ClaudeCode.install()?]));
    match installed {
        Ok(folders) => {
            for folder in folders {
                println!("{} is installed", folder.display());
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("what the tests of the page need cannot be installed: {error}");
            ExitCode::FAILURE
        }
    }
}

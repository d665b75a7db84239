//! Installs what the tests of the TypeScript client need (`cargo xtask test clients`).

use std::process::ExitCode;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program for people")]
fn main() -> ExitCode {
    match anyhook_testkit::npm::typescript() {
        Ok(folder) => {
            println!("the compiler of TypeScript is in {}", folder.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("the compiler of TypeScript cannot be installed: {error}");
            ExitCode::FAILURE
        }
    }
}

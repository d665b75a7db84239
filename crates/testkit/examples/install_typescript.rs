//! Installs what the tests of the TypeScript client and of SARIF need (`cargo xtask test clients`).

use std::process::ExitCode;

use anyhook_testkit::npm;

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program for people")]
fn main() -> ExitCode {
    let installed = npm::typescript().and_then(|folder| Ok((folder, npm::sarif_schema()?)));
    match installed {
        Ok((folder, schema)) => {
            println!("the compiler of TypeScript is in {}", folder.display());
            println!("the schema of SARIF is {}", schema.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("what the tests of clients need cannot be installed: {error}");
            ExitCode::FAILURE
        }
    }
}

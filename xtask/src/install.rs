//! `cargo xtask install`: installs both programs from the source. They are two packages, and
//! `cargo install --path` takes one.

use anyhow::Result;

use crate::{TaskResult, Workspace, process};

/// What is installed: the folder of a package, and its features.
const PACKAGES: [(&str, &[&str]); 2] =
    [("crates/cli", &["--features", "full"]), ("crates/hook", &[])];

/// Runs `cargo install` for each package; `arguments` are passed on, such as `--root DIR`.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<TaskResult> {
    for (folder, features) in PACKAGES {
        let mut install = workspace.cargo();
        install.args(["install", "--locked", "--path", folder]).args(features).args(arguments);
        process::run(&mut install)?;
    }
    Ok(TaskResult::Good)
}

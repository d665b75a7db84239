//! `cargo xtask check`: the suites one wants after every change, without the slow ones.

use anyhow::{Result, bail};

use crate::{Ending, Workspace, test};

const QUICK: [&str; 4] = ["format", "lint", "build", "tests"];

/// Runs the quick suites.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<Ending> {
    if let Some(argument) = arguments.first() {
        bail!("`check` takes no argument, but got `{argument}`");
    }
    let suites: Vec<_> = test::SUITES.iter().filter(|suite| QUICK.contains(&suite.name)).collect();
    Ok(test::run_suites(workspace, &suites, test::Skips::Allowed))
}

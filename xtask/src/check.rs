//! `cargo xtask check`: the checks for every change, without the slow suites.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::{TaskResult, Workspace, process, test, tools};

const QUICK: [&str; 3] = ["format", "lint", "tests"];

/// Checks the named crates, or runs the quick suites over all.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<TaskResult> {
    if arguments.is_empty() {
        let is_quick = |suite: &&test::Suite| QUICK.contains(&suite.name);
        let suites: Vec<_> = test::SUITES.iter().filter(is_quick).collect();
        return test::run_suites(workspace, &suites, test::RunOptions::default());
    }
    let metadata = workspace.metadata()?;
    let packages = metadata["packages"].as_array().context("cargo names no crates")?;
    let names: Vec<_> =
        arguments.iter().map(|argument| find(packages, argument)).collect::<Result<_>>()?;
    check_crates(workspace, &names)?;
    Ok(TaskResult::Good)
}

/// Formats, lints and tests only the named crates; those that depend on them are left out.
fn check_crates(workspace: &Workspace, names: &[&str]) -> Result<()> {
    let packages: Vec<&str> = names.iter().flat_map(|name| ["--package", name]).collect();
    process::run(workspace.cargo().arg("fmt").args(&packages).arg("--check"))?;
    let mut lint = workspace.cargo();
    lint.arg("clippy").args(&packages).args(["--all-features", "--locked", "--all-targets"]);
    process::run(lint.args(["--", "-D", "warnings"]))?;
    let mut tests = workspace.command(tools::ensure(&tools::NEXTEST)?);
    tests.args(["nextest", "run"]).args(&packages).args(["--all-features", "--locked"]);
    process::run_tests(&mut tests)
}

/// Returns the full name of a crate; its folder's name works, too.
fn find<'a>(packages: &'a [Value], wanted: &str) -> Result<&'a str> {
    let names = packages.iter().filter_map(|package| {
        let folder = Path::new(package["manifest_path"].as_str()?).parent()?.file_name()?;
        Some((package["name"].as_str()?, folder.to_str()?))
    });
    let names: Vec<_> = names.collect();
    let found = names.iter().find(|(name, folder)| *name == wanted || *folder == wanted);
    let found = found.with_context(|| {
        let known: Vec<_> = names.iter().map(|(_, folder)| *folder).collect();
        format!("there is no crate `{wanted}`; there are {}", known.join(", "))
    })?;
    Ok(found.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_crate_is_found_by_its_name_and_by_its_folder() {
        let packages = [
            json!({"name": "anyhook", "manifest_path": "/a/crates/cli/Cargo.toml"}),
            json!({"name": "anyhook-engine", "manifest_path": "/a/crates/engine/Cargo.toml"}),
        ];
        assert_eq!(find(&packages, "cli").unwrap(), "anyhook");
        assert_eq!(find(&packages, "engine").unwrap(), "anyhook-engine");
        assert_eq!(find(&packages, "anyhook-engine").unwrap(), "anyhook-engine");
        let error = find(&packages, "motor").unwrap_err().to_string();
        assert_eq!(error, "there is no crate `motor`; there are cli, engine");
    }
}

//! The suite `features`: every crate that is published builds from its package and alone, without
//! its features, with each of them, and with all.
//!
//! In the workspace a crate also gets the features that others enable in its dependencies, so that
//! a feature it forgot to enable goes unnoticed.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::suites::SuiteOutcome;
use crate::{Workspace, package, process};

/// Checks every combination.
pub fn suite(workspace: &Workspace) -> Result<SuiteOutcome> {
    let metadata = workspace.metadata()?;
    let packages = package::published(&metadata)?;
    let unpacked = package::unpack(workspace, &packages)?;
    let mut failed = Vec::new();
    for package in packages {
        let name = package["name"].as_str().context("a crate has no name")?;
        for features in combinations(package) {
            let mut command = workspace.cargo();
            command.args(["check", "--offline", "--package", name]).args(&features);
            command.arg("--target-dir").arg(&workspace.target).current_dir(&unpacked);
            if let Err(error) = process::run(&mut command) {
                println!("{error:#}");
                failed.push(format!("{name} {}", features.join(" ")));
            }
        }
    }
    if !failed.is_empty() {
        bail!("these do not build alone:\n{}", failed.join("\n"));
    }
    Ok(SuiteOutcome::Passed)
}

/// Returns the arguments that select features: none, each alone, all.
fn combinations(package: &Value) -> Vec<Vec<String>> {
    let none = "--no-default-features".to_owned();
    let mut combinations = vec![vec![none.clone()]];
    let features = package["features"].as_object().into_iter().flatten().map(|(name, _)| name);
    let features: Vec<_> = features.filter(|name| *name != "default").collect();
    for name in &features {
        combinations.push(vec![none.clone(), format!("--features={name}")]);
    }
    if features.len() > 1 {
        combinations.push(vec!["--all-features".to_owned()]);
    }
    combinations
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn joined(features: &Value) -> Vec<String> {
        let combinations = combinations(&json!({ "features": features }));
        combinations.iter().map(|arguments| arguments.join(" ")).collect()
    }

    #[test]
    fn a_crate_without_features_is_built_once() {
        assert_eq!(joined(&json!({})), ["--no-default-features"]);
    }

    #[test]
    fn each_feature_is_tried_alone_and_all_together() {
        assert_eq!(
            joined(&json!({"default": ["a"], "a": [], "b": ["a"]})),
            [
                "--no-default-features",
                "--no-default-features --features=a",
                "--no-default-features --features=b",
                "--all-features",
            ]
        );
        assert_eq!(joined(&json!({"a": []})).len(), 2);
    }
}

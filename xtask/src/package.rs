//! The suite `packages`: builds the packages of published crates, unpacked. They must need nothing
//! else of the repository.
//!
//! `cargo package` would rebuild each package. Unpacked next to each other they are one workspace,
//! and their dependencies are in our build folder already.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::suites::SuiteOutcome;
use crate::{Workspace, process};

/// The fields that crates.io shows.
const SHOWN: [&str; 6] =
    ["description", "license", "repository", "readme", "keywords", "categories"];

/// The files that every package must contain.
const FILES: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// As in our own workspace: with another profile every dependency would be checked again.
const PROFILE: &str = "[profile.dev]\ndebug = \"line-tables-only\"\n\n\
                       [profile.dev.package.\"*\"]\ndebug = false\n";

/// Builds every package with all features, and `anyhook` with its default features.
///
/// Each crate alone, with every combination of its features, is the nightly suite `features`.
pub fn suite(workspace: &Workspace) -> Result<SuiteOutcome> {
    let metadata = workspace.metadata()?;
    let unpacked = unpack(workspace, &published(&metadata)?)?;
    let mut command = workspace.cargo();
    command.args(["check", "--offline", "--workspace", "--all-features", "--target-dir"]);
    process::run(command.arg(&workspace.target).current_dir(&unpacked))?;
    process::run(workspace.cargo().args(["check", "--locked"]))?;
    Ok(SuiteOutcome::Passed)
}

/// Returns the crates that are published to a registry, from `cargo metadata`.
pub fn published(metadata: &Value) -> Result<Vec<&Value>> {
    let packages = metadata["packages"].as_array().context("cargo names no crates")?;
    Ok(packages.iter().filter(|package| is_published(package)).collect())
}

/// Returns whether a crate is published to a registry: if not, the list of registries is empty.
fn is_published(package: &Value) -> bool {
    package["publish"].as_array().is_none_or(|registries| !registries.is_empty())
}

/// Makes the packages of crates, from `cargo metadata`, and returns the workspace that has them as
/// its members.
pub fn unpack(workspace: &Workspace, crates: &[&Value]) -> Result<PathBuf> {
    let mut package = workspace.cargo();
    package.args(["package", "--locked", "--no-verify", "--allow-dirty"]);
    for one in crates {
        package.args(["--package", name(one)?]);
    }
    process::run(&mut package)?;
    let packages = workspace.target.join("package");
    let unpacked = packages.join("unpacked");
    if unpacked.exists() {
        fs::remove_dir_all(&unpacked)?;
    }
    fs::create_dir_all(&unpacked)?;
    for one in crates {
        let folder = folder(one)?;
        let mut tar = workspace.command("tar");
        // The times in packages are always the same, by which cargo would take a change for none.
        tar.arg("--extract")
            .arg("--touch")
            .arg("--file")
            .arg(packages.join(format!("{folder}.crate")));
        process::run(tar.arg("--directory").arg(&unpacked))?;
        check(one, &unpacked.join(folder))?;
    }
    fs::write(unpacked.join("Cargo.toml"), manifest(crates)?)?;
    // The same versions; cargo removes what the packages do not need.
    fs::copy(workspace.root.join("Cargo.lock"), unpacked.join("Cargo.lock"))?;
    Ok(unpacked)
}

fn name(package: &Value) -> Result<&str> {
    package["name"].as_str().context("a crate has no name")
}

/// The folder in a package.
fn folder(package: &Value) -> Result<String> {
    let version = package["version"].as_str().context("a crate has no version")?;
    Ok(format!("{}-{version}", name(package)?))
}

/// Fails if something is missing in what is published.
fn check(package: &Value, folder: &Path) -> Result<()> {
    let is_missing = |key: &&str| match &package[key] {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        _ => false,
    };
    let mut missing: Vec<&str> = SHOWN.into_iter().filter(is_missing).collect();
    missing.extend(FILES.into_iter().filter(|file| !folder.join(file).is_file()));
    if !missing.is_empty() {
        bail!("the package {} has no {}", name(package)?, missing.join(", "));
    }
    Ok(())
}

/// The manifest of a workspace in which the packages find each other.
fn manifest(crates: &[&Value]) -> Result<String> {
    let (mut members, mut patches) = (String::new(), String::new());
    for one in crates {
        let (name, folder) = (name(one)?, folder(one)?);
        writeln!(members, "    {folder:?},")?;
        writeln!(patches, "{name} = {{ path = {folder:?} }}")?;
    }
    Ok(format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\n{members}]\n\n\
         [patch.crates-io]\n{patches}\n{PROFILE}"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one() -> Value {
        let mut package = json!({"name": "one", "version": "0.1.0"});
        for key in SHOWN {
            package[key] = "x".into();
        }
        package
    }

    #[test]
    fn what_a_package_lacks_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for file in FILES {
            fs::write(folder.path().join(file), "").unwrap();
        }
        assert!(check(&one(), folder.path()).is_ok());
        let mut package = one();
        package["keywords"] = json!([]);
        fs::remove_file(folder.path().join("LICENSE-MIT")).unwrap();
        let error = check(&package, folder.path()).unwrap_err();
        assert_eq!(error.to_string(), "the package one has no keywords, LICENSE-MIT");
    }

    #[test]
    fn a_crate_is_published_unless_it_says_otherwise() {
        assert!(is_published(&json!({"publish": null})));
        assert!(is_published(&json!({"publish": ["crates-io"]})));
        assert!(!is_published(&json!({"publish": []})));
    }

    #[test]
    fn packages_find_each_other() {
        let text = manifest(&[&one()]).unwrap();
        assert!(text.contains("members = [\n    \"one-0.1.0\",\n]\n"), "{text}");
        assert!(text.contains("[patch.crates-io]\none = { path = \"one-0.1.0\" }\n"), "{text}");
    }
}

//! Depending on the crate changes nothing about a program's own types.
//!
//! Features are the sum over all that a program is built from: one that a library turns on for
//! `serde_json` changes how every type of the program is read (`untagged`, `flatten` and tagged types
//! cannot read numbers with `arbitrary_precision`). The tests of this workspace are built together with
//! programs that want them, so here a program of its own is built.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(workspace()).output();
    let output = output.unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "cargo {arguments:?}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

#[test]
fn no_feature_of_serde_json_is_turned_on() {
    let edges = ["--edges", "features,no-dev", "--prefix", "none", "--format", "{p} [{f}]"];
    let about = ["tree", "--offline", "--package", "anyhook-sdk", "--all-features"];
    let tree = cargo(&[&about[..], &edges].concat());
    let lines: Vec<&str> = tree.lines().filter(|line| line.starts_with("serde_json v")).collect();
    assert!(!lines.is_empty(), "{tree}");
    for feature in ["arbitrary_precision", "preserve_order", "float_roundtrip", "unbounded_depth"] {
        assert!(lines.iter().all(|line| !line.contains(feature)), "{feature}: {lines:?}");
    }
}

/// Returns how the workspace builds for tests, so that what both need is built once.
fn profile(manifest: &str) -> String {
    let sections = manifest.split("\n[").filter(|section| section.starts_with("profile.dev"));
    sections.flat_map(|section| ["[", section, "\n"]).collect()
}

#[test]
fn types_of_a_program_are_read_as_without_it() {
    let (workspace, scratch) = (workspace(), tempfile::tempdir().unwrap());
    let package = env!("CARGO_MANIFEST_DIR");
    let profile = profile(&fs::read_to_string(workspace.join("Cargo.toml")).unwrap());
    let manifest = format!(
        "[package]\nname = \"consumer\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [[bin]]\nname = \"consumer\"\npath = \"{package}/tests/consumer/program.rs\"\n\n\
         [dependencies]\nanyhook-sdk = {{ path = \"{package}\" }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\nserde_json = \"1\"\n\
         tokio = {{ version = \"1\", features = [\"macros\", \"rt\"] }}\n\n{profile}"
    );
    let path = scratch.path().join("Cargo.toml");
    fs::write(&path, manifest).unwrap();
    // The same versions as in the workspace, and no network.
    fs::copy(workspace.join("Cargo.lock"), scratch.path().join("Cargo.lock")).unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned();
    let said = cargo(&[
        "run",
        "--quiet",
        "--offline",
        "--manifest-path",
        path.to_str().unwrap(),
        "--target-dir",
        target.to_str().unwrap(),
    ]);
    assert_eq!(said, "as without it\n");
}

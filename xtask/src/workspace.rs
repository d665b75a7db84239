//! Paths: the repository, the build folder and the programs in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::process;

/// What the suites build: all crates with all features.
///
/// One selection for all of them: with another one, cargo would enable other features in
/// dependencies, and recompile most crates.
pub const EVERYTHING: [&str; 3] = ["--workspace", "--all-features", "--locked"];

/// The repository this task works on.
pub struct Workspace {
    /// The repository's root folder.
    pub root: PathBuf,
    /// Cargo's build folder.
    pub target: PathBuf,
}

impl Workspace {
    /// Finds the repository and asks cargo for its build folder, which a variable or a
    /// configuration file may have moved.
    pub fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask has no parent folder")?
            .to_owned();
        let mut workspace = Self { root, target: PathBuf::new() };
        let metadata = workspace.metadata()?;
        workspace.target =
            metadata["target_directory"].as_str().context("cargo names no build folder")?.into();
        Ok(workspace)
    }

    /// Returns cargo's metadata of our own crates.
    pub fn metadata(&self) -> Result<Value> {
        let mut command = self.cargo();
        command.args(["metadata", "--no-deps", "--format-version", "1"]);
        serde_json::from_str(&process::output(&mut command)?)
            .context("cargo metadata printed no JSON")
    }

    /// A cargo command in the repository.
    pub fn cargo(&self) -> Command {
        self.command(cargo_program())
    }

    /// A command that starts in the repository.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// Builds every program and example as the tests do, and returns their folder.
    ///
    /// Without `--examples` cargo would leave out what only tests depend on, and enable other
    /// features in other crates.
    pub fn build_everything(&self) -> Result<PathBuf> {
        let mut command = self.cargo();
        process::run(command.arg("build").args(EVERYTHING).args(["--bins", "--examples"]))?;
        Ok(self.target.join("debug"))
    }

    /// Builds only the program of a crate, as it is installed, and returns its path.
    pub fn build_program(&self, name: &str, profile: &str) -> Result<PathBuf> {
        let mut command = self.cargo();
        command.args(["build", "--locked", "--package", name, "--profile", profile]);
        process::run(&mut command)?;
        // Cargo keeps the old folder name for its oldest profile.
        let folder = if profile == "dev" { "debug" } else { profile };
        Ok(self.target.join(folder).join(name))
    }
}

/// Returns the cargo that started us, so that a toolchain chosen with `cargo +NAME` is kept.
pub fn cargo_program() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

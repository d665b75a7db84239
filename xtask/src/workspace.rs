//! Where things are: the repository, the build folder and the binary in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::process;

/// The repository this task works on.
pub struct Workspace {
    /// The repository's top folder.
    pub root: PathBuf,
    /// Cargo's build folder.
    pub target: PathBuf,
}

impl Workspace {
    /// Finds the repository and asks cargo for its build folder, which a variable or a settings
    /// file may have moved.
    pub fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask has no parent folder")?
            .to_owned();
        let mut command = Command::new(cargo_program());
        command.current_dir(&root).args(["metadata", "--no-deps", "--format-version", "1"]);
        let metadata: Value = serde_json::from_str(&process::output(&mut command)?)
            .context("cargo metadata printed no JSON")?;
        let target =
            metadata["target_directory"].as_str().context("cargo names no build folder")?.into();
        Ok(Self { root, target })
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

    /// Builds `anyhook` and returns the path of the program.
    pub fn build_anyhook(&self, profile: &str) -> Result<PathBuf> {
        self.build_program("anyhook", profile)
    }

    /// Builds the program of a crate and returns its path.
    pub fn build_program(&self, name: &str, profile: &str) -> Result<PathBuf> {
        let mut command = self.cargo();
        command.args(["build", "--locked", "--package", name, "--profile", profile]);
        process::run(&mut command)?;
        // Cargo keeps the old folder name for its oldest profile.
        let folder = if profile == "dev" { "debug" } else { profile };
        Ok(self.target.join(folder).join(name))
    }
}

/// The cargo that started us, so that a toolchain chosen with `cargo +NAME` stays chosen.
pub fn cargo_program() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

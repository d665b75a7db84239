//! The program that is measured: the shipped build, unless another is requested.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::options::{Build, SHIPPED};
use crate::Workspace;
use crate::dist::binary;
use crate::dist::package::{NAME, SMALL};
use crate::dist::platform::{Libc, Platform};

/// The built programs and how they were built.
pub struct BuiltPrograms {
    /// The one that agents call.
    pub hook: PathBuf,
    /// The one that can do everything.
    pub whole: PathBuf,
    /// In a few words, for readers of the figures.
    pub build: String,
}

/// Builds the programs, or uses existing ones.
pub fn find(workspace: &Workspace, build: &Build) -> Result<BuiltPrograms> {
    match build {
        Build::Profile(profile) if profile == SHIPPED => {
            let build = format!("profile {SHIPPED}, {}, static", target()?);
            let whole = binary::build(workspace, Libc::Musl, NAME)?;
            Ok(BuiltPrograms { hook: shipped_hook(workspace)?, whole, build })
        }
        Build::Profile(profile) => {
            let whole = workspace.build_program(NAME, profile)?;
            let hook = workspace.build_program(SMALL, profile)?;
            Ok(BuiltPrograms { hook, whole, build: format!("profile {profile}") })
        }
        Build::Binary(path) => {
            let hook = path.canonicalize();
            let hook = hook.with_context(|| format!("{build:?} is no program"))?;
            let beside = hook.with_file_name(NAME);
            let whole = if beside.is_file() { beside } else { hook.clone() };
            Ok(BuiltPrograms { hook, whole, build: "given with --binary".to_owned() })
        }
    }
}

/// Builds only the program that agents call, or uses an existing one.
pub fn find_hook(workspace: &Workspace, build: &Build) -> Result<PathBuf> {
    match build {
        Build::Profile(profile) if profile == SHIPPED => shipped_hook(workspace),
        Build::Profile(profile) => workspace.build_program(SMALL, profile),
        Build::Binary(_) => Ok(find(workspace, build)?.hook),
    }
}

/// The target of the shipped programs.
pub fn target() -> Result<String> {
    Ok(Platform::here()?.target(Libc::Musl))
}

/// Builds the program that agents call as it is shipped, and returns its path.
pub fn shipped_hook(workspace: &Workspace) -> Result<PathBuf> {
    binary::build(workspace, Libc::Musl, SMALL)
}

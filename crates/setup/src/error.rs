//! Errors of installing, reading or removing things.

use std::io;
use std::path::{Path, PathBuf};

use anyhook_engine::trust::TrustError;
use anyhook_hosts::planned::{PlannedHost, Refusal};
use anyhook_hosts::wiring::SettingsError;

use crate::import::ImportError;
use crate::packs::PackError;

/// Why something could not be installed, read or removed.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// There is no home folder for settings and programs.
    #[error("there is no home folder")]
    NoHome,
    /// There is no state folder.
    #[error("there is no state folder")]
    NoState,
    /// There is no folder for the user's level.
    #[error("there is no user level: `HOME` is not set")]
    NoUserLevel,
    /// The path of the running program is not known.
    #[error("cannot find the path of the running program")]
    NoProgram,
    /// No agent has this name.
    #[error("unknown agent `{0}`")]
    UnknownAgent(String),
    /// No hook works in this agent.
    #[error("{title} is not supported: {why} (version {version} was run)", title = host.title, why = refusal.why, version = refusal.version)]
    NoHooks {
        /// The agent.
        host: &'static PlannedHost,
        /// Why none works in it.
        refusal: &'static Refusal,
    },
    /// No pack has this name.
    #[error("there is no pack `{name}`")]
    UnknownPack {
        /// The name.
        name: String,
        /// The known names.
        known: Vec<String>,
    },
    /// A name that is neither an installed hook's nor a folder's.
    #[error("`{}` is neither an installed hook nor a hook's folder", .0.display())]
    UnknownHook(PathBuf),
    /// Settings are not in a file.
    #[error("`{}` is not a file", .0.display())]
    NotAFile(PathBuf),
    /// Settings are behind a dangling link.
    #[error("`{}` is a broken link", .0.display())]
    DanglingLink(PathBuf),
    /// Settings cannot be read.
    #[error("`{}` cannot be read: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// A settings file or a program cannot be written; it is unchanged.
    #[error("`{}` cannot be written: {cause}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// The record of where programs are found cannot be written.
    #[error("`{}` cannot be written: {cause}", path.display())]
    PathNotRecorded {
        /// The file.
        path: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// A part of a pack cannot be written; nothing of the pack was added.
    #[error("`{}` cannot be written: {cause}", path.display())]
    NotAdded {
        /// The folder or the file.
        path: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// A file or folder cannot be read, moved or written.
    #[error("cannot access `{}`: {cause}", path.display())]
    Unusable {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// A HOOK.md is written so that a program cannot add `mode: shadow`.
    #[error("`{0}` cannot be put into shadow mode")]
    NoShadow(String),
    /// A HOOK.md is written so that a program cannot take it out of shadow mode.
    #[error("`{}` has no plain line `mode: shadow`", .0.display())]
    NoPlainMode(PathBuf),
    /// No `init` can be undone.
    #[error("there is nothing to undo: `anyhook init` was not run, or was undone")]
    NothingToUndo,
    /// What `init` added was changed since; nothing was undone.
    #[error("changed since `anyhook init` added it: {}", listed(.0))]
    ChangedSince(Vec<PathBuf>),
    /// The record of an `init` cannot be read.
    #[error("`{}` is not a record of `anyhook init`: {why}", path.display())]
    BrokenRecord {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// What was shown cannot be trusted, or a folder cannot be copied.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// Hooks cannot be imported or restored.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A pack cannot be added or updated.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// Settings are not what their agent expects.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

fn listed(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    shown.join(", ")
}

impl SetupError {
    pub(crate) fn unusable(path: &Path) -> impl Fn(io::Error) -> Self {
        move |cause| Self::Unusable { path: path.to_owned(), cause }
    }
}

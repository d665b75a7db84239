//! Errors of importing hooks, and of running imported ones.

use std::path::PathBuf;

use anyhook_hosts::native_hooks::FORMATS;

/// Why hooks cannot be imported or restored, or an imported one cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The hooks of this agent cannot be read.
    #[error("the hooks of {0} cannot be imported")]
    UnknownFormat(String),
    /// The agent does not call anyhook, so imported hooks would not run.
    #[error("{title} does not call anyhook, so imported hooks would not run")]
    NotCalled {
        /// The agent's id.
        host: String,
        /// Its display name.
        title: String,
    },
    /// Nothing was imported from this agent's settings, or it was restored.
    #[error("nothing that was imported from {0}'s settings is left to restore")]
    NothingToRestore(String),
    /// A folder is not that of an imported hook, or not of this version.
    #[error("`{}` is not the description of an imported hook: {why}", path.display())]
    Definition {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The record of what was taken out of settings cannot be read.
    #[error("`{}` is not a record of parked hooks: {why}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The script was not started by anyhook.
    #[error("there is no imported hook to run")]
    NotAHook,
    /// The payload is not the agent's.
    #[error("the payload cannot be read: {0}")]
    Payload(String),
    /// The hook failed, as its agent sees it.
    #[error("{0}")]
    Failed(String),
}

impl ImportError {
    /// Returns the next step.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownFormat(_) => {
                let hosts = FORMATS.map(|format| format.host).join(", ");
                format!("those of these agents can: {hosts}")
            }
            Self::NotCalled { host, .. } => {
                format!("anyhook install {host}, then import its hooks")
            }
            Self::NothingToRestore(_) => {
                "`anyhook import AGENT --list` shows the hooks in its settings".to_owned()
            }
            Self::Definition { .. } => {
                "`anyhook import AGENT --restore` puts the agent's own hooks back".to_owned()
            }
            Self::Record { .. } => {
                "it contains the settings as they were; take the parked hooks from it by hand, then remove it".to_owned()
            }
            Self::NotAHook => "it is called by the script of an imported hook".to_owned(),
            Self::Payload(_) | Self::Failed(_) => return None,
        })
    }
}

//! Why a session cannot be used.

use std::io;
use std::path::PathBuf;

use crate::task::TaskError;

/// Why a session cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is no such session, or no longer.
    #[error("there is no session `{0}`")]
    NotThere(String),
    /// An error of its task.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Its task could not be started.
    #[error("the session `{name}` could not be started: {why}")]
    NotStarted {
        /// The session.
        name: String,
        /// The reason.
        why: String,
    },
    /// A folder or file cannot be used.
    #[error("cannot access `{}`: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A folder is accessible to other users.
    #[error("`{}` belongs to another user", .0.display())]
    NotOurs(PathBuf),
    /// The process that answers belongs to another user.
    #[error("the socket of the session `{0}` belongs to another user's process")]
    Stranger(String),
    /// A request failed.
    #[error("{what}: {why}")]
    Failed {
        /// What happened.
        what: String,
        /// The reason.
        why: String,
    },
    /// It does not answer in time.
    #[error("{0} does not answer")]
    Slow(String),
    /// The text would end its own paste, and the rest would be typed.
    #[error("the text contains the byte sequence that ends a paste")]
    Unpastable,
    /// There is no such key.
    #[error("no control key combination for {0:?}")]
    NoKey(char),
    /// What was typed did not appear.
    #[error("the session `{0}` does not show the typed text")]
    NotShown(String),
    /// A session can only be shown in a terminal.
    #[error("this is not a terminal")]
    NoTerminal,
}

impl SessionError {
    /// Returns the next step.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotThere(_) => "anyhook agent list",
            Self::Task(error) => error.hint(),
            Self::NotStarted { .. } | Self::Failed { .. } => "anyhook daemon logs",
            Self::File { .. } | Self::NotOurs(_) | Self::Stranger(_) => {
                "check the folder's owner and permissions"
            }
            Self::Slow(_) => "try again; if that does not help, end the session",
            Self::Unpastable => "remove control characters",
            Self::NoKey(_) => "use a letter",
            Self::NotShown(_) => "attach to the session and check what it is waiting for",
            Self::NoTerminal => "run it in a terminal",
        }
    }
}

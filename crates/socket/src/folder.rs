//! The daemon's folder inside the state folder, and the paths in it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhook_model::StateDir;
use rustix::fs::OFlags;

/// The longest socket path that every known system accepts.
const SOCKET_PATH_LIMIT: usize = 103;

/// The daemon's folder.
#[derive(Clone, Debug)]
pub struct DaemonFolder {
    path: PathBuf,
}

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It cannot be created or inspected.
    #[error("cannot access `{}`: {error}", path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// Other users could access it.
    #[error("`{}` belongs to another user", .0.display())]
    NotOurs(PathBuf),
    /// The path is too long for a socket.
    #[error("`{}` is too long for a socket path (at most {SOCKET_PATH_LIMIT} bytes)", .0.display())]
    TooLong(PathBuf),
}

impl FolderError {
    /// Returns the next step.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::TooLong(_) => "set XDG_STATE_HOME to a shorter path",
            Self::Unusable { .. } | Self::NotOurs(_) => {
                "check the state folder's owner and permissions"
            }
        }
    }
}

impl DaemonFolder {
    /// Names the folder inside a state folder. Does not create anything.
    pub fn in_state_dir(state: &Path) -> Self {
        Self { path: StateDir::new(state).daemon() }
    }

    /// Creates the folder, accessible only to the current user.
    pub fn make(&self) -> Result<(), FolderError> {
        let unusable = |error| FolderError::Unusable { path: self.path.clone(), error };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path).map_err(unusable)?;
        let metadata = fs::symlink_metadata(&self.path).map_err(unusable)?;
        if !metadata.is_dir() || metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(FolderError::NotOurs(self.path.clone()));
        }
        fs::set_permissions(&self.path, fs::Permissions::from_mode(0o700)).map_err(unusable)?;
        self.check_socket_path()
    }

    /// Fails if the socket's path is too long; the system's own error would not be clear.
    pub fn check_socket_path(&self) -> Result<(), FolderError> {
        let socket = self.socket();
        if socket.as_os_str().len() > SOCKET_PATH_LIMIT {
            return Err(FolderError::TooLong(socket));
        }
        Ok(())
    }

    /// Takes the turn to start the daemon, held as long as the file is open; `None` if another
    /// process has it.
    pub fn take_turn_to_start(&self) -> Option<File> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            // Must not block on a named pipe at this path or follow a symlink.
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
            .open(self.path.join("starting"))
            .ok()?;
        file.try_lock().ok().map(|()| file)
    }

    /// Returns the folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the socket.
    pub fn socket(&self) -> PathBuf {
        self.path.join("socket")
    }

    /// Returns the file the daemon writes its own log to.
    pub fn log(&self) -> PathBuf {
        self.path.join("daemon.log")
    }

    /// Returns the folder of the store.
    pub fn store(&self) -> PathBuf {
        self.path.join("store")
    }
}

//! The calling process that works on a workflow: its paths, and which agent it is.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use anyhook_engine::Places;
use anyhook_socket::{Client, ClientError, DaemonFolder};

use crate::error::WorkflowError;
use crate::method::Method;

/// The variable that says which agent of a workflow a session is.
pub const WORKFLOW_AGENT: &str = "ANYHOOK_WORKFLOW_AGENT";
/// The variable that says that the agent's prompt has its context already.
pub const WORKFLOW_CONTEXT: &str = "ANYHOOK_WORKFLOW_CONTEXT";
/// How long the daemon may take to answer, or to start.
const DAEMON_PATIENCE: Duration = Duration::from_secs(10);

/// Starts the daemon, given its program and folder, and does not wait for it.
pub type StartDaemon = fn(Option<&Path>, &DaemonFolder) -> io::Result<Child>;

/// The process that works on a workflow.
#[derive(Clone, Debug)]
pub struct WorkflowCaller {
    /// Where things are.
    pub places: Places,
    /// The folder that it was started in.
    pub work_dir: PathBuf,
    /// The agent of a workflow that it is, or that started it.
    pub agent: Option<String>,
    /// The id of the session that it is part of, if a supervisor started it for the agent.
    pub session: Option<String>,
    /// The workflow of projects that have none of their own.
    pub method: &'static Method,
    /// How the daemon is started where one is needed.
    pub start_daemon: StartDaemon,
}

impl WorkflowCaller {
    /// Returns the daemon's folder.
    pub(crate) fn daemon_folder(&self) -> Result<DaemonFolder, WorkflowError> {
        let state = self.places.state.as_deref().ok_or(WorkflowError::NoDaemonFolder)?;
        Ok(DaemonFolder::in_state_dir(state))
    }

    /// Connects to the daemon; starts it if it does not run.
    pub(crate) fn connect(&self, folder: &DaemonFolder) -> Result<Client, ClientError> {
        Client::connect_or(folder, DAEMON_PATIENCE, || {
            (self.start_daemon)(self.places.binary.as_deref(), folder)
        })
    }
}

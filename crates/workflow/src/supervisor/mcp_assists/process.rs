//! One assisting process.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::AssistRequest;
use crate::caller::{WORKFLOW_AGENT, WORKFLOW_CONTEXT};
use crate::project::Project;

/// The processes have limits of their own; one that exceeds this limit is told to end.
const LIMIT: Duration = Duration::from_secs(90);
/// A process that is told to end first ends its server; after this time it is killed.
pub const GRACE: Duration = Duration::from_secs(5);
/// Maximum number of bytes that are read from its error output.
const LONGEST: u64 = 4 * 1024;

/// An assisting process.
#[derive(Debug)]
pub struct AssistProcess {
    child: Child,
    since: Instant,
    /// Its error output. A file: no one has to read it concurrently, and no server can hold it
    /// open.
    complaint: File,
}

impl AssistProcess {
    pub fn begin(project: &Project, wish: &AssistRequest<'_>) -> io::Result<Self> {
        let binary = project.caller.places.binary.as_deref().unwrap_or(Path::new("anyhook"));
        let complaint = tempfile::tempfile()?;
        let mut child = Command::new(binary)
            .args([wish.command, "--event"])
            .current_dir(&project.root)
            .env(WORKFLOW_AGENT, wish.agent)
            .env_remove(WORKFLOW_CONTEXT)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(complaint.try_clone()?)
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // If it does not read its input, it is gone, and has reported why.
            let _ = write!(input, "{}", json!({"event_type": wish.event}));
        }
        Ok(Self { child, since: Instant::now(), complaint })
    }

    /// Returns its error once it has ended; empty if it succeeded.
    pub fn ended(&mut self) -> Option<String> {
        let is_late = self.since.elapsed() > LIMIT;
        if self.since.elapsed() > LIMIT + GRACE {
            self.kill();
        } else if is_late {
            self.tell_to_end();
        }
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(_)) if is_late => Some(format!("timed out after {} s", LIMIT.as_secs())),
            Ok(Some(status)) => Some(self.complaint(status)),
            Err(error) => Some(error.to_string()),
        }
    }

    fn complaint(&mut self, status: ExitStatus) -> String {
        let mut bytes = Vec::new();
        let read = self.complaint.rewind().and_then(|()| {
            let mut file = (&self.complaint).take(LONGEST);
            file.read_to_end(&mut bytes)
        });
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        match read {
            Err(error) => error.to_string(),
            Ok(_) if text.is_empty() && !status.success() => status.to_string(),
            Ok(_) => text.strip_prefix("warning: ").unwrap_or(text).to_owned(),
        }
    }

    /// Returns whether the process has ended.
    pub fn is_over(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Tells it to end, and its server with it.
    pub fn tell_to_end(&self) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(id) = id {
            // If it is already gone, there is nothing to do.
            let _ = kill_process(id, Signal::TERM);
        }
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

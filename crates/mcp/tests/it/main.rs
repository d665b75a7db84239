//! The client against real server processes: what a server may do right, and all it may do wrong.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

mod documentation;
mod http;
mod memory;
mod real;
mod stdio;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhook_mcp::{Endpoint, McpError, Server, ServerError, ServerSession, SessionLimits};
use anyhook_testkit::wait_until;
use tempfile::TempDir;

/// Enough for every server that answers at all, also on a machine with other things to do.
const LONG: Duration = Duration::from_secs(60);
/// For those that do not.
const SHORT: Duration = Duration::from_secs(5);

fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(name).to_str().unwrap().to_owned()
}

/// A program that makes one call. It stands beside the folder of the tests.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.parent().unwrap().parent().unwrap().join("examples/call-within-memory")
}

fn limits(deadline: Duration) -> SessionLimits {
    SessionLimits { deadline, ..SessionLimits::default() }
}

/// A scripted server on its standard input and output.
struct Scripted {
    scratch: TempDir,
    server: Server,
}

impl Scripted {
    fn new(mode: &str) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let pids = scratch.path().join("pids").to_str().unwrap().to_owned();
        let arguments = ["-u".to_owned(), script("server.py"), mode.to_owned(), pids];
        let mut server = Server::stdio("tester", "python3", arguments);
        if let Endpoint::Stdio { environment, work_dir, .. } = &mut server.endpoint {
            environment.push(("TOKEN".to_owned(), "s3cret".to_owned()));
            *work_dir = Some(scratch.path().to_str().unwrap().to_owned());
        }
        Self { scratch, server }
    }

    fn open(&self) -> ServerSession {
        ServerSession::open(&self.server, limits(LONG)).unwrap()
    }

    fn unusable(&self, deadline: Duration) -> McpError {
        let error = ServerSession::open(&self.server, limits(deadline)).unwrap_err();
        self.must_be_gone();
        error
    }

    /// Returns why a call fails.
    fn failure(&self, tool: &str, deadline: Duration) -> McpError {
        let arguments = serde_json::json!({});
        let error = anyhook_mcp::call(&self.server, tool, arguments, deadline).unwrap_err();
        self.must_be_gone();
        error
    }

    /// Returns how often it was started.
    fn started(&self) -> usize {
        let text = std::fs::read_to_string(self.scratch.path().join("pids")).unwrap_or_default();
        text.lines().count()
    }

    /// Checks that no process is left of all that were started: the servers, their children, and
    /// those that went away from them.
    fn must_be_gone(&self) {
        let text = std::fs::read_to_string(self.scratch.path().join("pids")).unwrap_or_default();
        for process in text.split_ascii_whitespace() {
            wait_until("a process of a server ends", || has_ended(process));
        }
    }
}

fn has_ended(process: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"));
    // A child of a child is reaped by somebody else.
    status.map_or(true, |status| status.contains("State:\tZ"))
}

fn fault(error: McpError) -> ServerError {
    error.fault
}

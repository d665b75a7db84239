//! MCP client: connects to a server, lists its tools, calls them, and shuts it down.
//! [`ServerSession`] is for programs that make a few requests and continue; [`Connection`] for
//! those that keep the server and have a runtime of their own.
//!
//! Everything is bounded: the time of a session, the length of an answer, the life of a server's
//! processes. Failures are a [`ServerError`] that says what happened.

mod connection;
#[cfg(feature = "http")]
mod http;
mod ids;
mod lines;
mod process;
mod stop;
mod transport_errors;

use std::io;
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Runtime;

pub use self::connection::Connection;
pub use self::process::ShutdownMode;
pub use self::stop::StopHandle;
use crate::config::Server;
use crate::error::{McpError, ServerError};

/// The limits of a session with a server.
#[derive(Clone, Debug)]
pub struct SessionLimits {
    /// Everything together, from the start of the server to the last answer; `Duration::MAX` means
    /// no limit.
    pub deadline: Duration,
    /// Maximum length of an answer, in bytes.
    pub longest_answer: usize,
    /// Stops the session early.
    pub stop: StopHandle,
    /// How the server's program is shut down.
    pub ending: ShutdownMode,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(60),
            longest_answer: 8 << 20,
            stop: StopHandle::default(),
            ending: ShutdownMode::default(),
        }
    }
}

/// A tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerTool {
    /// Its name.
    pub name: String,
    /// A short description.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
}

impl ServerTool {
    /// Returns whether it takes an argument of this name.
    pub fn takes(&self, argument: &str) -> bool {
        self.input_schema["properties"].get(argument).is_some()
    }
}

/// The result of a tool call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolAnswer {
    /// Its texts, concatenated.
    pub text: String,
    /// The same as structured data, if the tool returns any.
    pub structured: Option<Value>,
}

/// A session with a server. Dropping it shuts down the server. Not for use inside an asynchronous
/// runtime: it has its own, and blocks.
#[derive(Debug)]
pub struct ServerSession {
    /// `None` only while it is being dropped.
    connection: Option<Connection>,
    runtime: Runtime,
}

impl ServerSession {
    /// Connects to a server.
    pub fn open(server: &Server, limits: SessionLimits) -> Result<Self, McpError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(
            |error| {
                let fault = ServerError::Client(error);
                McpError { server: server.name.clone(), fault, last_words: None }
            },
        )?;
        let connection = runtime.block_on(Connection::open(server, limits))?;
        Ok(Self { connection: Some(connection), runtime })
    }

    /// Returns the tools of the server.
    pub fn tools(&mut self) -> Result<Vec<ServerTool>, McpError> {
        match &self.connection {
            Some(connection) => self.runtime.block_on(connection.tools()),
            None => Err(gone()),
        }
    }

    /// Calls a tool; `arguments` is a JSON object.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<ToolAnswer, McpError> {
        match &self.connection {
            Some(connection) => self.runtime.block_on(connection.call_named(tool, arguments)),
            None => Err(gone()),
        }
    }
}

fn gone() -> McpError {
    let fault = ServerError::Client(io::ErrorKind::NotConnected.into());
    McpError { server: String::new(), fault, last_words: None }
}

impl Drop for ServerSession {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.runtime.block_on(connection.close());
        }
    }
}

/// Calls one tool of a server: connects, calls, and shuts down the server.
pub fn call(
    server: &Server,
    tool: &str,
    arguments: Value,
    deadline: Duration,
) -> Result<ToolAnswer, McpError> {
    let limits = SessionLimits { deadline, ..SessionLimits::default() };
    ServerSession::open(server, limits)?.call(tool, arguments)
}

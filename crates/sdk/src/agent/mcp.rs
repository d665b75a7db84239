//! MCP servers: programs that provide tools, started when an agent first needs them and stopped
//! with the center.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhook_mcp::{Connection, McpError, ServerError, SessionLimits, ShutdownMode};
use anyhook_model::truncate::ellipsized;
use serde_json::Value;
use tokio::task::JoinSet;

use super::agent_loop::LoopError;
use super::center::{IfTaken, RegisterError};
use super::live::{LiveAgentCenter, put};
use super::tool::{Tool, ToolDescription, ToolError};
use crate::call::{CallError, guarded};
use crate::function::BoxFuture;

/// The default time limit for a server to start and to list its tools.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// The default time limit of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum length of a server's message.
const LONGEST_MESSAGE: usize = 10 << 20;
/// At most this much of an error is passed on: it may quote the server.
const LONGEST_WORDS: usize = 2000;

/// How to reach an MCP server. Registered with [`LiveAgentCenter::register_mcp_server`].
///
/// It is started when an agent that names it first runs, and kept for later runs of all agents. Its
/// tools are offered to the model as `mcp__SERVER__TOOL`. A server that has exited is started again
/// at the next run.
#[derive(Clone)]
#[must_use]
pub struct McpServer {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    work_dir: Option<PathBuf>,
    connect_timeout: Duration,
    call_timeout: Duration,
}

impl McpServer {
    /// A program that speaks MCP on its standard input and output. It inherits the environment of
    /// this program, plus what [`env`](Self::env) adds.
    pub fn stdio<T: Into<OsString>>(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = T>,
    ) -> Self {
        Self {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            work_dir: None,
            connect_timeout: CONNECT_TIMEOUT,
            call_timeout: CALL_TIMEOUT,
        }
    }

    /// Adds a variable to its environment.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Starts it in this folder.
    pub fn work_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.work_dir = Some(folder.into());
        self
    }

    /// Sets how long it may take to start and to list its tools; 30 seconds by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long a call may take; one minute by default. The center's limit for tools applies,
    /// too.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.work_dir {
            command.current_dir(folder);
        }
        command
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the values: they are often secrets.
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        formatter
            .debug_struct("McpServer")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("environment", &names)
            .finish_non_exhaustive()
    }
}

impl LiveAgentCenter {
    /// Registers an MCP server under a name. It is not started before an agent needs it. One that
    /// is replaced is stopped when the last run that uses it has ended.
    pub fn register_mcp_server(
        &self,
        name: &str,
        server: McpServer,
        if_taken: IfTaken,
    ) -> Result<(), RegisterError> {
        let registered = Registered { name: name.to_owned(), server, connection: Slot::default() };
        self.change(|registry| {
            put(&mut registry.mcp_servers, "MCP server", name, Arc::new(registered), if_taken)
        })
    }
}

/// A running server, with its tools.
#[derive(Debug)]
struct Connected {
    connection: Connection,
    tools: Vec<anyhook_mcp::ServerTool>,
}

impl Connected {
    /// Starts a server and asks it for its tools. The caller applies the time limit.
    async fn open(name: &str, server: &McpServer) -> Result<Self, McpError> {
        let limits = SessionLimits {
            deadline: Duration::MAX,
            longest_answer: LONGEST_MESSAGE,
            ending: ShutdownMode::AtOnce,
            ..SessionLimits::default()
        };
        let connection = Connection::start(name, server.command(), limits).await?;
        let tools = connection.tools().await?;
        Ok(Self { connection, tools })
    }

    /// Calls a tool.
    async fn call(&self, tool: &str, input: Value) -> Result<Value, ToolError> {
        match self.connection.call(tool, input).await {
            // It includes the content of the texts: the protocol requires that.
            Ok(answer) => Ok(answer.structured.unwrap_or(Value::String(answer.text))),
            Err(McpError { fault: ServerError::Arguments, .. }) => {
                Err(ToolError::Arguments("they are not an object".to_owned()))
            }
            Err(McpError {
                fault:
                    ServerError::ToolFailed { message, .. } | ServerError::Refused { message, .. },
                ..
            }) => Err(ToolError::Failed(message)),
            Err(error) => {
                let why = ellipsized(&error.why(), LONGEST_WORDS);
                Err(ToolError::Failed(format!("the MCP server failed: {why}")))
            }
        }
    }
}

type Slot = tokio::sync::Mutex<Option<Arc<Connected>>>;

/// A server with its connection, if there is one.
#[derive(Debug)]
pub(super) struct Registered {
    name: String,
    server: McpServer,
    connection: Slot,
}

impl Registered {
    /// Returns the connection; connects first if there is no live one.
    async fn connection(&self) -> Result<Arc<Connected>, String> {
        // Held while connecting: runs that start together share one connection.
        let mut slot = self.connection.lock().await;
        if let Some(connection) = slot.as_ref().filter(|one| one.connection.is_alive()) {
            return Ok(connection.clone());
        }
        *slot = None;
        let connect = || Connected::open(&self.name, &self.server);
        match guarded(self.server.connect_timeout, connect).await {
            Ok(Ok(connected)) => Ok(slot.insert(Arc::new(connected)).clone()),
            Ok(Err(error)) => Err(ellipsized(&error.why(), LONGEST_WORDS)),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A tool of a server.
struct McpTool {
    name: String,
    tool: anyhook_mcp::ServerTool,
    connection: Arc<Connected>,
    timeout: Duration,
}

impl Tool for McpTool {
    fn describe(&self) -> ToolDescription {
        ToolDescription {
            name: self.name.clone(),
            description: self.tool.description.clone(),
            schema: self.tool.input_schema.clone(),
        }
    }

    fn call(&self, input: Value) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            match guarded(self.timeout, || self.connection.call(&self.tool.name, input)).await {
                Ok(result) => result,
                Err(CallError::TimedOut(limit)) => Err(ToolError::TimedOut(limit)),
                Err(panicked) => Err(ToolError::Failed(panicked.to_string())),
            }
        })
    }
}

/// Returns a tool's name for the model. Models allow only these characters.
fn name_of(server: &str, tool: &str) -> String {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let clean = |name: &str| name.replace(|letter| !allowed(letter), "_");
    format!("mcp__{}__{}", clean(server), clean(tool))
}

/// The servers of a run, and their tools as soon as they are known.
pub(super) struct RunServers {
    registered: Vec<Arc<Registered>>,
    tools: OnceLock<HashMap<String, Arc<dyn Tool>>>,
}

impl RunServers {
    pub(super) fn named(names: &[String], known: &HashMap<String, Arc<Registered>>) -> Self {
        let registered = names.iter().filter_map(|name| known.get(name)).cloned().collect();
        Self { registered, tools: OnceLock::new() }
    }

    pub(super) fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get()?.get(name)
    }

    /// Connects to all servers in parallel. Returns their tools, in the order of the servers,
    /// without those whose names are taken.
    pub(super) async fn connect(
        &self,
        taken: &HashMap<String, Arc<dyn Tool>>,
    ) -> Result<Vec<ToolDescription>, LoopError> {
        let mut connecting = JoinSet::new();
        for (place, registered) in self.registered.iter().cloned().enumerate() {
            connecting.spawn(async move { (place, registered.connection().await) });
        }
        let mut connected: Vec<_> = connecting.join_all().await;
        connected.sort_by_key(|(place, _)| *place);
        let mut tools = HashMap::new();
        let mut descriptions = Vec::new();
        for (place, connection) in connected {
            let Registered { name: server, server: McpServer { call_timeout, .. }, .. } =
                &*self.registered[place];
            let connection =
                connection.map_err(|why| LoopError::McpServer { server: server.clone(), why })?;
            for tool in &connection.tools {
                let name = name_of(server, &tool.name);
                if taken.contains_key(&name) || tools.contains_key(&name) {
                    tracing::warn!(tool = %name, "skipped a tool of an MCP server: its name is taken");
                    continue;
                }
                let (tool, connection) = (tool.clone(), connection.clone());
                let tool = McpTool { name: name.clone(), tool, connection, timeout: *call_timeout };
                descriptions.push(tool.describe());
                tools.insert(name, Arc::new(tool) as Arc<dyn Tool>);
            }
        }
        // A run connects once.
        let _ = self.tools.set(tools);
        Ok(descriptions)
    }
}

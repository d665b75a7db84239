//! A connection to an MCP server: the handshake, the list of its tools, and calls.

use std::io;
use std::process::Command;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ContentBlock,
    Implementation, PaginatedRequestParams, ResourceContents,
};
use rmcp::service::{ClientInitializeError, RoleClient, RunningService, ServiceError};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::time::{Duration, Instant, sleep_until, timeout};

use super::ids::IdMatcher;
use super::lines::LineTransport;
use super::process::{ServerProcess, StderrTail};
use super::transport_errors::TransportErrors;
use super::{ServerTool, SessionLimits, ToolAnswer};
use crate::config::{Endpoint, Server};
use crate::error::{McpError, ServerError, ServerStep, beginning};

/// Maximum number of tools of a server: an endless list is as bad as an endless message.
const MOST_TOOLS: usize = 10_000;
/// How long a server may take to close the session.
const FAREWELL: Duration = Duration::from_secs(1);

type Service = RunningService<RoleClient, ClientConfig>;

/// A server that answers. It can be called concurrently.
///
/// Dropping it shuts down the server.
#[derive(Debug)]
pub struct Connection {
    service: Option<Service>,
    peer: Peer,
}

/// The other side, and what is known about it.
#[derive(Debug)]
struct Peer {
    name: String,
    seen: TransportErrors,
    limits: SessionLimits,
    /// `None` if there is no time limit.
    until: Option<Instant>,
    program: Option<Program>,
}

#[derive(Debug)]
struct Program {
    process: ServerProcess,
    last_words: StderrTail,
}

impl Connection {
    /// Connects to a server.
    pub async fn open(server: &Server, limits: SessionLimits) -> Result<Self, McpError> {
        let mut peer = Peer::new(&server.name, limits);
        match Box::pin(peer.connect(&server.endpoint)).await {
            Ok(service) => Ok(Self { service: Some(service), peer }),
            Err(fault) => Err(peer.error(fault).await),
        }
    }

    /// Starts the program of a server, and connects to it.
    pub async fn start(
        name: &str,
        command: Command,
        limits: SessionLimits,
    ) -> Result<Self, McpError> {
        let mut peer = Peer::new(name, limits);
        match Box::pin(peer.start(command)).await {
            Ok(service) => Ok(Self { service: Some(service), peer }),
            Err(fault) => Err(peer.error(fault).await),
        }
    }

    /// Returns whether it can still be called.
    pub fn is_alive(&self) -> bool {
        let has_ended = self.peer.program.as_ref().is_some_and(|one| one.process.has_ended());
        self.service.as_ref().is_some_and(|service| !service.is_transport_closed()) && !has_ended
    }

    /// Lists all tools.
    pub async fn tools(&self) -> Result<Vec<ServerTool>, McpError> {
        let Self { service, peer } = self;
        match peer.within(ServerStep::ListTools, list(service.as_ref())).await {
            Ok(tools) => Ok(tools),
            Err(fault) => Err(peer.error(fault).await),
        }
    }

    /// Calls a tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<ToolAnswer, McpError> {
        let Self { service, peer } = self;
        match peer.within(ServerStep::Call, call(service.as_ref(), tool, arguments)).await {
            Ok(answer) => Ok(answer),
            Err(fault) => Err(peer.error(fault).await),
        }
    }

    /// Calls a tool; if the server does not have it, the error says so.
    pub(super) async fn call_named(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<ToolAnswer, McpError> {
        let Self { service, peer } = self;
        match peer.within(ServerStep::Call, call(service.as_ref(), tool, arguments)).await {
            Ok(answer) => Ok(answer),
            Err(fault) => {
                let fault = peer.explained(service.as_ref(), tool, fault).await;
                Err(peer.error(fault).await)
            }
        }
    }

    /// Closes the session, and ends the server's program with everything that it has started.
    pub(super) async fn close(mut self) {
        if let Some(service) = self.service.take() {
            let _ = timeout(FAREWELL, service.cancel()).await;
        }
        if let Some(program) = &self.peer.program {
            program.process.ended().await;
        }
    }
}

impl Peer {
    fn new(name: &str, limits: SessionLimits) -> Self {
        Self {
            name: name.to_owned(),
            seen: TransportErrors::default(),
            until: Instant::now().checked_add(limits.deadline),
            limits,
            program: None,
        }
    }

    async fn connect(&mut self, endpoint: &Endpoint) -> Result<Service, ServerError> {
        match endpoint {
            Endpoint::Stdio { command: program, arguments, environment, work_dir } => {
                let mut command = Command::new(program);
                command.args(arguments).envs(environment.iter().cloned());
                if let Some(folder) = work_dir {
                    command.current_dir(folder);
                }
                self.start(command).await
            }
            Endpoint::Http { url, headers } => self.reach(url, headers).await,
        }
    }

    #[cfg(feature = "http")]
    async fn reach(&self, url: &str, headers: &[(String, String)]) -> Result<Service, ServerError> {
        use rmcp::transport::StreamableHttpClientTransport;
        use rmcp::transport::common::client_side_sse::NeverRetry;
        use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

        let (seen, longest) = (self.seen.clone(), self.limits.longest_answer);
        let client = super::http::HttpClient::new(url, headers, longest, seen.clone())?;
        let mut config =
            StreamableHttpClientTransportConfig::with_uri(url).reinit_on_expired_session(false);
        config.retry_config = std::sync::Arc::new(NeverRetry::default());
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let transport = IdMatcher::new(transport, seen);
        self.within(ServerStep::Connect, Box::pin(serve(transport))).await
    }

    #[cfg(not(feature = "http"))]
    #[expect(clippy::unused_async, reason = "with HTTP it waits")]
    async fn reach(&self, _: &str, _: &[(String, String)]) -> Result<Service, ServerError> {
        Err(ServerError::Address("needs HTTP, which this build does not support".to_owned()))
    }

    async fn start(&mut self, command: Command) -> Result<Service, ServerError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let ending = self.limits.ending;
        let starting = tokio::task::spawn_blocking(move || ServerProcess::start(command, ending));
        let started = starting.await.unwrap_or_else(|panicked| Err(io::Error::other(panicked)));
        let (process, pipes) =
            started.map_err(|error| ServerError::NotStarted { program, error })?;
        let last_words = StderrTail::of(pipes.errors);
        self.program = Some(Program { process, last_words });
        let longest = self.limits.longest_answer;
        let lines = LineTransport::new(pipes.input, pipes.output, longest, self.seen.clone());
        let transport = IdMatcher::new(lines, self.seen.clone());
        self.within(ServerStep::Connect, Box::pin(serve(transport))).await
    }

    /// Runs a step that involves the server, until the deadline or until no answer can come any
    /// more.
    async fn within<T>(
        &self,
        step: ServerStep,
        work: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, ServerError> {
        let Self { seen, program, limits, .. } = self;
        let (seen, told_to_end) = (seen.clone(), limits.stop.clone());
        let refusal = tokio::select! {
            biased;
            done = work => match done {
                Ok(value) => {
                    seen.take_noise();
                    return Ok(value);
                }
                Err(refusal) => refusal,
            },
            () = seen.wait() => Refusal::Closed,
            () = ended(program.as_ref()) => Refusal::Closed,
            () = sleep_until_some(self.until) => Refusal::TimedOut,
            () = told_to_end.wait() => return Err(ServerError::Stopped),
        };
        if let Some(fault) = seen.take_fatal() {
            return Err(fault);
        }
        Err(match refusal {
            Refusal::TimedOut => match seen.take_noise() {
                Some(noise) => ServerError::Garbage(noise),
                None => ServerError::TimedOut { limit: self.limits.deadline, step },
            },
            Refusal::Closed => self.closed(step).await,
            Refusal::Said { code, message } => ServerError::Refused { step, code, message },
            Refusal::Fault(fault) => fault,
        })
    }

    /// Returns how the connection ended.
    async fn closed(&self, step: ServerStep) -> ServerError {
        let in_the_middle = self.seen.is_partial();
        if let Some(program) = &self.program
            && let Some(how) = program.process.ended().await
            && !in_the_middle
        {
            return ServerError::Ended { step, how };
        }
        ServerError::Closed { step, in_the_middle }
    }

    /// Checks whether a call failed because there is no such tool.
    async fn explained(
        &self,
        service: Option<&Service>,
        tool: &str,
        fault: ServerError,
    ) -> ServerError {
        if !matches!(fault, ServerError::Refused { .. } | ServerError::ToolFailed { .. }) {
            return fault;
        }
        match self.within(ServerStep::ListTools, list(service)).await {
            Ok(tools) if tools.iter().all(|known| known.name != tool) => ServerError::NoSuchTool {
                tool: tool.to_owned(),
                known: tools.into_iter().map(|tool| tool.name).collect(),
            },
            _ => fault,
        }
    }

    /// Makes an error of a fault; if the server is no longer usable, the end of its standard error
    /// is included.
    async fn error(&self, fault: ServerError) -> McpError {
        let server = self.name.clone();
        let is_over = !matches!(
            fault,
            ServerError::Refused { .. }
                | ServerError::ToolFailed { .. }
                | ServerError::NoSuchTool { .. }
                | ServerError::Arguments
        );
        let last_words = match &self.program {
            Some(program) if is_over => {
                program.process.end();
                program.last_words.hear().await
            }
            _ => None,
        };
        McpError { server, fault, last_words }
    }
}

/// Sleeps until a deadline, if there is one; otherwise for ever.
async fn sleep_until_some(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// Waits for a program to end, if there is one; otherwise for ever.
async fn ended(program: Option<&Program>) {
    match program {
        Some(program) => program.process.wait().await,
        None => std::future::pending().await,
    }
}

/// Why there is no answer, as the library reports it.
enum Refusal {
    TimedOut,
    Closed,
    Said { code: i32, message: String },
    Fault(ServerError),
}

fn refused_connection(error: ClientInitializeError) -> Refusal {
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            Refusal::Said { code: error.code.0, message: error.message.into_owned() }
        }
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::TransportError { .. } => Refusal::Closed,
        other => Refusal::Fault(ServerError::Protocol(beginning(other.to_string().as_bytes()))),
    }
}

fn refused(error: ServiceError) -> Refusal {
    match error {
        ServiceError::McpError(error) => {
            Refusal::Said { code: error.code.0, message: error.message.into_owned() }
        }
        ServiceError::TransportSend(_)
        | ServiceError::TransportClosed
        | ServiceError::Cancelled { .. } => Refusal::Closed,
        other => Refusal::Fault(ServerError::Protocol(beginning(other.to_string().as_bytes()))),
    }
}

/// Performs the handshake, and lets the library listen from then on.
async fn serve(transport: impl Transport<RoleClient> + 'static) -> Result<Service, Refusal> {
    let ourselves = ClientConfig::new(
        ClientCapabilities::default(),
        Implementation::new("anyhook", env!("CARGO_PKG_VERSION")),
    );
    rmcp::serve_client(ourselves, transport).await.map_err(refused_connection)
}

async fn list(service: Option<&Service>) -> Result<Vec<ServerTool>, Refusal> {
    let service = service.ok_or(Refusal::Closed)?;
    let mut tools = Vec::new();
    let mut cursor = None;
    loop {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = service.list_tools(Some(page)).await.map_err(refused)?;
        tools.extend(page.tools.into_iter().map(|tool| ServerTool {
            name: tool.name.into_owned(),
            description: tool.description.unwrap_or_default().into_owned(),
            input_schema: Value::Object((*tool.input_schema).clone()),
        }));
        if tools.len() > MOST_TOOLS {
            let what = format!("it has more than {MOST_TOOLS} tools");
            return Err(Refusal::Fault(ServerError::Protocol(what)));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
}

async fn call(
    service: Option<&Service>,
    tool: &str,
    arguments: Value,
) -> Result<ToolAnswer, Refusal> {
    let service = service.ok_or(Refusal::Closed)?;
    let Value::Object(arguments) = arguments else {
        return Err(Refusal::Fault(ServerError::Arguments));
    };
    let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let result = service.call_tool(request).await.map_err(refused)?;
    answer(tool, result).map_err(Refusal::Fault)
}

fn answer(tool: &str, result: CallToolResult) -> Result<ToolAnswer, ServerError> {
    let texts: Vec<String> = result.content.into_iter().map(text_of).collect();
    let (text, structured) = (texts.join("\n"), result.structured_content);
    if result.is_error != Some(true) {
        return Ok(ToolAnswer { text, structured });
    }
    let message = match structured {
        Some(value) if text.is_empty() => value.to_string(),
        _ => text,
    };
    Err(ServerError::ToolFailed { tool: tool.to_owned(), message })
}

/// Returns the text representation of a content block.
fn text_of(content: ContentBlock) -> String {
    match content {
        ContentBlock::Text(content) => content.text,
        ContentBlock::Image(content) => format!("[image: {}]", content.mime_type),
        ContentBlock::Audio(content) => format!("[audio: {}]", content.mime_type),
        ContentBlock::ResourceLink(resource) => format!("[{}]({})", resource.name, resource.uri),
        ContentBlock::Resource(content) => match content.resource {
            ResourceContents::TextResourceContents { text, .. } => text,
            ResourceContents::BlobResourceContents { uri, .. } => format!("[data: {uri}]"),
            _ => "[resource]".to_owned(),
        },
        _ => "[content of an unknown kind]".to_owned(),
    }
}

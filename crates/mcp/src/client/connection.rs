//! A connection to a server: the handshake, the list of its tools, and calls.

use std::process::Command;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ContentBlock,
    Implementation, PaginatedRequestParams, ResourceContents,
};
use rmcp::service::{ClientInitializeError, RoleClient, RunningService, ServiceError};
use rmcp::transport::common::client_side_sse::NeverRetry;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use serde_json::Value;
use tokio::time::{Duration, Instant, sleep_until, timeout};

use super::fault::Seen;
use super::http::HttpClient;
use super::ids::Matched;
use super::lines::Lines;
use super::process::{LastWords, Process};
use super::{Answer, Limits, Tool};
use crate::config::{Endpoint, Server};
use crate::error::{Fault, McpError, Step, beginning};

/// No server may have more tools: a list without an end is as bad as an endless message.
const MOST_TOOLS: usize = 10_000;
/// So long a server may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(1);

type Service = RunningService<RoleClient, ClientConfig>;

/// A server that answers.
#[derive(Debug)]
pub(super) struct Connection {
    service: Option<Service>,
    peer: Peer,
}

/// The other side, and what is known of it.
#[derive(Debug)]
struct Peer {
    name: String,
    seen: Seen,
    limits: Limits,
    until: Instant,
    program: Option<Program>,
}

#[derive(Debug)]
struct Program {
    process: Process,
    last_words: LastWords,
}

impl Connection {
    /// Connects to a server.
    pub(super) async fn open(server: &Server, limits: Limits) -> Result<Self, McpError> {
        let mut peer = Peer {
            name: server.name.clone(),
            seen: Seen::default(),
            until: Instant::now() + limits.deadline,
            limits,
            program: None,
        };
        match Box::pin(peer.connect(&server.endpoint)).await {
            Ok(service) => Ok(Self { service: Some(service), peer }),
            Err(fault) => Err(peer.error(fault).await),
        }
    }

    /// Lists all tools.
    pub(super) async fn tools(&mut self) -> Result<Vec<Tool>, McpError> {
        let Self { service, peer } = self;
        match peer.within(Step::ListTools, list(service.as_ref())).await {
            Ok(tools) => Ok(tools),
            Err(fault) => Err(peer.error(fault).await),
        }
    }

    /// Calls a tool.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Result<Answer, McpError> {
        let Self { service, peer } = self;
        match peer.within(Step::Call, call(service.as_ref(), tool, arguments)).await {
            Ok(answer) => Ok(answer),
            Err(fault) => {
                let fault = peer.explained(service.as_ref(), tool, fault).await;
                Err(peer.error(fault).await)
            }
        }
    }

    /// Says goodbye, and ends the server's program with all that it has started.
    pub(super) async fn close(mut self) {
        if let Some(service) = self.service.take() {
            let _ = timeout(FAREWELL, service.cancel()).await;
        }
        if let Some(program) = &mut self.peer.program {
            program.process.ended().await;
        }
    }
}

impl Peer {
    async fn connect(&mut self, endpoint: &Endpoint) -> Result<Service, Fault> {
        let (seen, longest) = (self.seen.clone(), self.limits.longest_answer);
        match endpoint {
            Endpoint::Stdio { command: program, arguments, environment, work_dir } => {
                let mut command = Command::new(program);
                command.args(arguments).envs(environment.iter().cloned());
                if let Some(folder) = work_dir {
                    command.current_dir(folder);
                }
                let (process, pipes) = Process::start(command)
                    .map_err(|error| Fault::NotStarted { program: program.clone(), error })?;
                let last_words = LastWords::of(pipes.errors);
                self.program = Some(Program { process, last_words });
                let lines = Lines::new(pipes.input, pipes.output, longest, seen.clone());
                let transport = Matched::new(lines, seen);
                self.within(Step::Connect, Box::pin(serve(transport))).await
            }
            Endpoint::Http { url, headers } => {
                let client = HttpClient::new(url, headers, longest, seen.clone())?;
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
                    .reinit_on_expired_session(false);
                config.retry_config = std::sync::Arc::new(NeverRetry::default());
                let transport = StreamableHttpClientTransport::with_client(client, config);
                let transport = Matched::new(transport, seen);
                self.within(Step::Connect, Box::pin(serve(transport))).await
            }
        }
    }

    /// Does something that the server has a part in, as long as there is time and hope.
    async fn within<T>(
        &mut self,
        step: Step,
        work: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Fault> {
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
            () = ended(program) => Refusal::Closed,
            () = sleep_until(self.until) => Refusal::TimedOut,
            () = told_to_end.wait() => return Err(Fault::Stopped),
        };
        if let Some(fault) = seen.take_fatal() {
            return Err(fault);
        }
        Err(match refusal {
            Refusal::TimedOut => match seen.take_noise() {
                Some(noise) => Fault::Garbage(noise),
                None => Fault::TimedOut { limit: self.limits.deadline, step },
            },
            Refusal::Closed => self.closed(step).await,
            Refusal::Said { code, message } => Fault::Refused { step, code, message },
            Refusal::Fault(fault) => fault,
        })
    }

    /// Says how the connection ended.
    async fn closed(&mut self, step: Step) -> Fault {
        let in_the_middle = self.seen.is_partial();
        if let Some(program) = &mut self.program
            && let Some(how) = program.process.ended().await
            && !in_the_middle
        {
            return Fault::Ended { step, how };
        }
        Fault::Closed { step, in_the_middle }
    }

    /// Looks whether a call failed because there is no such tool.
    async fn explained(&mut self, service: Option<&Service>, tool: &str, fault: Fault) -> Fault {
        if !matches!(fault, Fault::Refused { .. } | Fault::ToolFailed { .. }) {
            return fault;
        }
        match self.within(Step::ListTools, list(service)).await {
            Ok(tools) if tools.iter().all(|known| known.name != tool) => Fault::NoSuchTool {
                tool: tool.to_owned(),
                known: tools.into_iter().map(|tool| tool.name).collect(),
            },
            _ => fault,
        }
    }

    /// Makes an error of a fault; of a server that is of no more use, its last words belong to it.
    async fn error(&mut self, fault: Fault) -> McpError {
        let server = self.name.clone();
        let is_over = !matches!(
            fault,
            Fault::Refused { .. }
                | Fault::ToolFailed { .. }
                | Fault::NoSuchTool { .. }
                | Fault::Arguments
        );
        let last_words = match &mut self.program {
            Some(program) if is_over => {
                program.process.end();
                program.last_words.hear().await
            }
            _ => None,
        };
        McpError { server, fault, last_words }
    }
}

/// Waits for the end of a program, where there is one.
async fn ended(program: &mut Option<Program>) {
    match program {
        Some(program) => program.process.wait().await,
        None => std::future::pending().await,
    }
}

/// Why there is no answer, as the library says it.
enum Refusal {
    TimedOut,
    Closed,
    Said { code: i32, message: String },
    Fault(Fault),
}

fn refused_connection(error: ClientInitializeError) -> Refusal {
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            Refusal::Said { code: error.code.0, message: beginning(error.message.as_bytes()) }
        }
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::TransportError { .. } => Refusal::Closed,
        other => Refusal::Fault(Fault::Protocol(beginning(other.to_string().as_bytes()))),
    }
}

fn refused(error: ServiceError) -> Refusal {
    match error {
        ServiceError::McpError(error) => {
            Refusal::Said { code: error.code.0, message: beginning(error.message.as_bytes()) }
        }
        ServiceError::TransportSend(_)
        | ServiceError::TransportClosed
        | ServiceError::Cancelled { .. } => Refusal::Closed,
        other => Refusal::Fault(Fault::Protocol(beginning(other.to_string().as_bytes()))),
    }
}

/// Does the handshake, and has the library listen from then on.
async fn serve(transport: impl Transport<RoleClient> + 'static) -> Result<Service, Refusal> {
    let ourselves = ClientConfig::new(
        ClientCapabilities::default(),
        Implementation::new("anyhook", env!("CARGO_PKG_VERSION")),
    );
    rmcp::serve_client(ourselves, transport).await.map_err(refused_connection)
}

async fn list(service: Option<&Service>) -> Result<Vec<Tool>, Refusal> {
    let service = service.ok_or(Refusal::Closed)?;
    let mut tools = Vec::new();
    let mut cursor = None;
    loop {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = service.list_tools(Some(page)).await.map_err(refused)?;
        tools.extend(page.tools.into_iter().map(|tool| Tool {
            name: tool.name.into_owned(),
            description: tool.description.unwrap_or_default().into_owned(),
            input_schema: Value::Object((*tool.input_schema).clone()),
        }));
        if tools.len() > MOST_TOOLS {
            let what = format!("it has more than {MOST_TOOLS} tools");
            return Err(Refusal::Fault(Fault::Protocol(what)));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
}

async fn call(service: Option<&Service>, tool: &str, arguments: Value) -> Result<Answer, Refusal> {
    let service = service.ok_or(Refusal::Closed)?;
    let Value::Object(arguments) = arguments else {
        return Err(Refusal::Fault(Fault::Arguments));
    };
    let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let result = service.call_tool(request).await.map_err(refused)?;
    answer(tool, result).map_err(Refusal::Fault)
}

fn answer(tool: &str, result: CallToolResult) -> Result<Answer, Fault> {
    let texts: Vec<String> = result.content.into_iter().map(text_of).collect();
    let (text, structured) = (texts.join("\n"), result.structured_content);
    if result.is_error != Some(true) {
        return Ok(Answer { text, structured });
    }
    let message = match structured {
        Some(value) if text.is_empty() => value.to_string(),
        _ => text,
    };
    Err(Fault::ToolFailed { tool: tool.to_owned(), message: beginning(message.as_bytes()) })
}

/// Returns what somebody who reads text is told of a content.
fn text_of(content: ContentBlock) -> String {
    match content {
        ContentBlock::Text(content) => content.text,
        ContentBlock::Image(content) => format!("[an image: {}]", content.mime_type),
        ContentBlock::Audio(content) => format!("[a sound: {}]", content.mime_type),
        ContentBlock::ResourceLink(resource) => format!("[{}]({})", resource.name, resource.uri),
        ContentBlock::Resource(content) => match content.resource {
            ResourceContents::TextResourceContents { text, .. } => text,
            ResourceContents::BlobResourceContents { uri, .. } => format!("[data: {uri}]"),
            _ => "[a resource]".to_owned(),
        },
        _ => "[a content of an unknown kind]".to_owned(),
    }
}

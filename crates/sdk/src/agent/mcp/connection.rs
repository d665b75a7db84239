//! A connection to a server: the handshake, the list of its tools, and calls.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ContentBlock,
    Implementation, PaginatedRequestParams, ResourceContents, Tool as ListedTool,
};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use serde_json::Value;

use super::super::tool::ToolError;
use super::McpServer;
use super::process::{BoundedLines, LastWords, Process};

/// No message of a server may be longer.
const LONGEST_MESSAGE: usize = 10 << 20;
/// No server may have more tools: a list without an end is as bad as an endless message.
const MOST_TOOLS: usize = 10_000;
/// So much of what went wrong is passed on: an error may quote the server.
const LONGEST_WORDS: usize = 2000;

/// A server that runs, with the tools it has.
#[derive(Debug)]
pub(super) struct Connection {
    service: RunningService<RoleClient, ClientConfig>,
    pub(super) tools: Vec<ListedTool>,
    peer: Peer,
}

/// The other side, as far as it is a process.
#[derive(Debug)]
struct Peer {
    process: Process,
    last_words: LastWords,
    said_too_much: Arc<AtomicBool>,
}

impl Peer {
    /// Ends it, and says what is known of why.
    async fn end(&self, what: impl fmt::Display) -> String {
        self.process.end();
        let what = if self.said_too_much.load(Ordering::Relaxed) {
            format!("it sent a message of more than {} MiB", LONGEST_MESSAGE >> 20)
        } else {
            what.to_string()
        };
        match self.last_words.hear().await {
            Some(words) => format!("{what}; its last words: {words}"),
            None => what,
        }
    }
}

impl Connection {
    /// Starts a server and asks it for its tools.
    pub(super) async fn open(server: &McpServer) -> Result<Self, String> {
        let command = server.command();
        let started = tokio::task::spawn_blocking(move || Process::start(command)).await;
        let (process, pipes) = match started {
            Ok(Ok(started)) => started,
            Ok(Err(error)) => {
                let program = server.program.to_string_lossy();
                return Err(format!("`{program}` cannot be started: {error}"));
            }
            Err(panicked) => return Err(panicked.to_string()),
        };
        let said_too_much = Arc::new(AtomicBool::new(false));
        let output = BoundedLines::new(pipes.output, LONGEST_MESSAGE, said_too_much.clone());
        let peer = Peer { process, last_words: LastWords::of(pipes.errors), said_too_much };
        let ourselves = ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("anyhook", env!("CARGO_PKG_VERSION")),
        );
        let service = match rmcp::serve_client(ourselves, (output, pipes.input)).await {
            Ok(service) => service,
            Err(error) => return Err(peer.end(error).await),
        };
        match list(&service).await {
            Ok(tools) => Ok(Self { service, tools, peer }),
            Err(error) => Err(peer.end(error).await),
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.service.is_transport_closed() && !self.peer.process.has_ended()
    }

    /// Calls a tool.
    pub(super) async fn call(&self, tool: &ListedTool, input: Value) -> Result<Value, ToolError> {
        let Value::Object(arguments) = input else {
            return Err(ToolError::Arguments("they are no object".to_owned()));
        };
        let request = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments);
        match self.service.call_tool(request).await {
            Ok(result) => result_of(result),
            Err(ServiceError::McpError(error)) => Err(ToolError::Failed(error.message.into())),
            Err(error @ (ServiceError::TransportClosed | ServiceError::TransportSend(_))) => {
                let why = self.peer.end("it ended before it answered").await;
                tracing::debug!(%error, "a connection to an MCP server is over");
                Err(ToolError::Failed(format!("the MCP server failed: {}", shortened(why))))
            }
            Err(error) => Err(ToolError::Failed(shortened(error.to_string()))),
        }
    }
}

/// Lists all tools of a server.
async fn list(
    service: &RunningService<RoleClient, ClientConfig>,
) -> Result<Vec<ListedTool>, String> {
    let mut tools = Vec::new();
    let mut cursor = None;
    loop {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = service.list_tools(Some(page)).await.map_err(|error| error.to_string())?;
        tools.extend(page.tools);
        if tools.len() > MOST_TOOLS {
            return Err(format!("it has more than {MOST_TOOLS} tools"));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
}

/// Makes of a server's result what other tools return.
fn result_of(result: CallToolResult) -> Result<Value, ToolError> {
    let texts: Vec<String> = result.content.into_iter().map(text_of).collect();
    let text = texts.join("\n");
    match (result.is_error, result.structured_content) {
        (Some(true), Some(value)) if text.is_empty() => Err(ToolError::Failed(value.to_string())),
        (Some(true), _) => Err(ToolError::Failed(text)),
        // What the texts say is in there, too: the protocol asks for that.
        (_, Some(value)) => Ok(value),
        (_, None) => Ok(Value::String(text)),
    }
}

/// Returns what a model that reads text is told of a content.
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

pub(super) fn shortened(text: String) -> String {
    match text.char_indices().nth(LONGEST_WORDS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

//! Errors of MCP servers, and how to fix them.

use std::fmt;
use std::io;
use std::time::Duration;

use anyhook_model::truncate::ellipsized;

use crate::config::ConfigError;

/// What went wrong with a server.
#[derive(Debug, thiserror::Error)]
#[error("the MCP server `{server}`: {fault}{}", Said(last_words.as_deref()))]
pub struct McpError {
    /// Its name.
    pub server: String,
    /// What happened.
    #[source]
    pub fault: ServerError,
    /// The end of its standard error.
    pub last_words: Option<String>,
}

impl McpError {
    /// Returns what went wrong without the server's name.
    pub fn why(&self) -> String {
        format!("{}{}", self.fault, Said(self.last_words.as_deref()))
    }

    /// Returns the next step.
    pub fn hint(&self) -> String {
        self.fault.hint()
    }
}

/// Why a server could not help, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ServerFailure {
    /// The reason.
    pub reason: String,
    /// The next step.
    pub hint: String,
}

impl From<McpError> for ServerFailure {
    fn from(error: McpError) -> Self {
        Self { reason: error.to_string(), hint: error.hint() }
    }
}

impl From<ConfigError> for ServerFailure {
    fn from(error: ConfigError) -> Self {
        Self { reason: error.to_string(), hint: error.hint }
    }
}

struct Said<'a>(Option<&'a str>);

impl fmt::Display for Said<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(words) => write!(formatter, "; last output: {words}"),
            None => Ok(()),
        }
    }
}

/// The step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerStep {
    /// Making the connection.
    Connect,
    /// Listing the tools.
    ListTools,
    /// Calling a tool.
    Call,
}

impl fmt::Display for ServerStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Connect => "while connecting",
            Self::ListTools => "while listing its tools",
            Self::Call => "before it answered the call",
        })
    }
}

/// The errors of a server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Its program cannot be started.
    #[error("`{program}` cannot be started: {error}")]
    NotStarted {
        /// The program.
        program: String,
        /// Why not.
        error: io::Error,
    },
    /// Its URL is not usable.
    #[error("its address {0}")]
    Address(String),
    /// There is no server, or not the one that was meant.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// It answered a request with an unexpected status.
    #[error("it answered with status {status}{}", Quoted(body))]
    Status {
        /// The status.
        status: u16,
        /// The beginning of the body.
        body: String,
    },
    /// It took too long.
    #[error("it did not answer within {} {step}", InSeconds(*limit))]
    TimedOut {
        /// The time limit.
        limit: Duration,
        /// The step that failed.
        step: ServerStep,
    },
    /// Its program ended.
    #[error("it ended {step} ({how})")]
    Ended {
        /// The step that failed.
        step: ServerStep,
        /// How it ended.
        how: String,
    },
    /// It closed the connection, perhaps in the middle of an answer.
    #[error("it closed the connection {step}{}", if *in_the_middle { ", in the middle of a message" } else { "" })]
    Closed {
        /// The step that failed.
        step: ServerStep,
        /// Part of a message had arrived.
        in_the_middle: bool,
    },
    /// Its answer is too long.
    #[error("its answer is longer than {limit} bytes")]
    TooLong {
        /// The maximum length of an answer.
        limit: usize,
    },
    /// It sent something that is not a message.
    #[error("its answer is not a valid protocol message: {0}")]
    Garbage(String),
    /// It answered a request that was never made.
    #[error("it answered request {received}, which was never sent")]
    OtherId {
        /// The request's id.
        received: String,
    },
    /// It refused a request.
    #[error("it refused {step}: {} (code {code})", beginning(message.as_bytes()), step = match step { ServerStep::Connect => "the connection", ServerStep::ListTools => "the request for its tools", ServerStep::Call => "the call" })]
    Refused {
        /// The step that failed.
        step: ServerStep,
        /// The code of its error.
        code: i32,
        /// Its message.
        message: String,
    },
    /// It has no such tool.
    #[error("it has no tool `{tool}`")]
    NoSuchTool {
        /// The tool.
        tool: String,
        /// The tools that it has.
        known: Vec<String>,
    },
    /// The tool ran, and failed.
    #[error("its tool `{tool}` failed: {}", beginning(message.as_bytes()))]
    ToolFailed {
        /// The tool.
        tool: String,
        /// Its message.
        message: String,
    },
    /// It does not know the topic.
    #[error("it has no library for `{topic}`: {said}")]
    UnknownTopic {
        /// The topic.
        topic: String,
        /// Its answer.
        said: String,
    },
    /// It returned no opinion.
    #[error("its answer has no verdict: {0}")]
    NoVerdict(String),
    /// The arguments of a tool must be a JSON object.
    #[error("arguments must be a JSON object")]
    Arguments,
    /// Its message is valid in the protocol, but not at this point.
    #[error("it violates the protocol: {0}")]
    Protocol(String),
    /// The caller stopped it.
    #[error("it was stopped before it answered")]
    Stopped,
    /// An error on our own side.
    #[error("the client failed: {0}")]
    Client(io::Error),
}

impl ServerError {
    /// Returns the next step.
    pub fn hint(&self) -> String {
        match self {
            Self::NotStarted { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                "install the program, or correct `command` and `cwd` in mcp.json".to_owned()
            }
            Self::NotStarted { .. } => "correct `command` in mcp.json".to_owned(),
            Self::Address(_) => "correct `url` in mcp.json".to_owned(),
            Self::Unreachable(_) => "start the server, or correct `url` in mcp.json".to_owned(),
            Self::Status { status: 401 | 403, .. } => {
                "add the required `headers` in mcp.json".to_owned()
            }
            Self::Status { status: 404 | 405, .. } => {
                "correct the path of `url` in mcp.json; many servers use `/mcp`".to_owned()
            }
            Self::TimedOut { .. } | Self::Stopped => {
                "try again, or allow more time with `--timeout`".to_owned()
            }
            Self::NoSuchTool { known, .. } if known.is_empty() => "it has no tools".to_owned(),
            Self::NoSuchTool { known, .. } => format!("available: {}", known.join(", ")),
            Self::TooLong { .. } => "request less data".to_owned(),
            Self::ToolFailed { .. } | Self::Refused { .. } => {
                "check that the arguments match the tool's schema".to_owned()
            }
            Self::UnknownTopic { .. } => {
                "name the library as the server does, or by its id, such as `/vercel/next.js`"
                    .to_owned()
            }
            Self::NoVerdict(_) => "ask again, or use another of its tools".to_owned(),
            Self::Arguments => "write them as `{\"name\": \"value\"}`".to_owned(),
            _ => "start the server manually and check its output".to_owned(),
        }
    }
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(formatter, ": {}", self.0) }
    }
}

struct InSeconds(Duration);

impl fmt::Display for InSeconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The remainder of a limit is hardly ever a round number.
        write!(formatter, "{} s", (self.0.as_secs_f64() * 10.0).round() / 10.0)
    }
}

/// Returns the beginning of received data, on one line, for an error.
pub(crate) fn beginning(bytes: &[u8]) -> String {
    const LONGEST: usize = 200;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LONGEST)]);
    let clean = text.trim().replace(char::is_control, " ");
    ellipsized(&clean, LONGEST)
}

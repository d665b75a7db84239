//! A run: one message to an agent, and everything that resulted from it.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::message::Message;
use super::model::{ModelError, Usage};
use super::session::SessionContext;
use crate::function::HookError;

/// The status of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// It is running.
    #[default]
    Running,
    /// It is complete.
    Completed,
    /// It failed, with the reason.
    Failed(String),
    /// It was cancelled.
    Cancelled,
}

/// A tool call that was requested in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MadeCall {
    /// The model's id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input, after all changes by hooks.
    pub input: Value,
    /// Its result, or why it has none.
    pub result: Result<Value, String>,
    /// Whether a hook denied it.
    pub denied: bool,
    /// How long it took.
    pub duration: Duration,
}

/// One message to an agent, and everything that resulted from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Run {
    /// The run's id.
    pub id: String,
    /// The session it belongs to.
    pub session: SessionContext,
    /// The agent's final message. Post-hooks may change it.
    pub output: String,
    /// The messages of this run: the person's, the model's, the tools'.
    pub messages: Vec<Message>,
    /// The tool calls, in order.
    pub tool_calls: Vec<MadeCall>,
    /// The usage.
    pub usage: Usage,
    /// How long the agent took, without its hooks.
    pub duration: Duration,
    /// The outcome.
    pub status: RunStatus,
    /// Data that hooks passed on.
    pub metadata: Map<String, Value>,
}

impl Run {
    /// Makes a complete run with this output: for testing a post-hook alone.
    pub fn new(session: SessionContext, output: impl Into<String>) -> Self {
        let (output, status) = (output.into(), RunStatus::Completed);
        let messages = vec![Message::assistant(output.clone())];
        Self { session, output, messages, status, ..Self::default() }
    }

    /// Reads the output as a value: the model's JSON, with or without a fence around it.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, RunError> {
        let text = self.output.trim();
        let inner = text
            .strip_prefix("```json")
            .or_else(|| text.strip_prefix("```"))
            .and_then(|rest| rest.strip_suffix("```"))
            .unwrap_or(text);
        // Through a value: if the program enables `serde_json`'s arbitrary precision, `untagged`,
        // `flatten` and tagged types read numbers from a value only.
        serde_json::from_str(inner.trim())
            .and_then(|value: Value| serde_json::from_value(value))
            .map_err(|error| RunError::Answer {
                run: Box::new(self.clone()),
                why: error.to_string(),
            })
    }
}

/// Why there is no result.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// This agent is not registered.
    #[error("there is no agent `{0}`")]
    UnknownAgent(String),
    /// A blocking pre-hook failed: the model was not called.
    #[error("the hook `{hook}` stopped the run: {error}")]
    PreHook {
        /// The hook.
        hook: String,
        /// Its error.
        error: HookError,
    },
    /// A blocking post-hook failed. The run is complete and included.
    #[error("the hook `{hook}` failed after the run: {error}")]
    PostHook {
        /// The hook.
        hook: String,
        /// Its error.
        error: HookError,
        /// The finished run.
        run: Box<Run>,
    },
    /// A HOOK.md hook or a function blocked the prompt.
    #[error("the prompt was blocked: {0}")]
    Blocked(String),
    /// The model gave no answer.
    #[error("{error}")]
    Model {
        /// The reason.
        error: ModelError,
        /// The run so far.
        run: Box<Run>,
    },
    /// A hook around a call of the model failed.
    #[error("the hook `{hook}` stopped the model: {error}")]
    ModelHook {
        /// The hook.
        hook: String,
        /// Its error.
        error: HookError,
        /// The run so far.
        run: Box<Run>,
    },
    /// A stream hook stopped the answer.
    #[error("the hook `{hook}` stopped the answer: {reason}")]
    Stopped {
        /// The hook.
        hook: String,
        /// The reason.
        reason: String,
        /// The run so far.
        run: Box<Run>,
    },
    /// The agent made more steps than allowed.
    #[error("the agent is not done after {limit} steps")]
    TooManySteps {
        /// The limit.
        limit: usize,
        /// The run so far.
        run: Box<Run>,
    },
    /// The answer is not what was asked for.
    #[error("the answer does not match the schema: {why}")]
    Answer {
        /// The finished run.
        run: Box<Run>,
        /// What is wrong.
        why: String,
    },
    /// It was cancelled.
    #[error("the run was cancelled")]
    Cancelled {
        /// The run so far.
        run: Box<Run>,
    },
    /// An MCP server that the agent names does not list its tools.
    #[error("the MCP server `{server}` cannot be used: {why}")]
    McpServer {
        /// The server.
        server: String,
        /// What is wrong.
        why: String,
    },
    /// The history cannot be read or stored.
    #[error("the history cannot be used: {0}")]
    History(HookError),
}

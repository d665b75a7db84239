//! The model trait: takes a conversation, and streams its answer piece by piece.

use std::pin::Pin;

use futures_core::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message::{Message, RequestedCall};
use super::tool::ToolDescription;
use crate::function::BoxFuture;

/// A request to a model.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The system prompt.
    pub instructions: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The tools it may call.
    pub tools: Vec<ToolDescription>,
    /// The JSON Schema that its answer must satisfy, if it must be JSON.
    pub answer_schema: Option<Value>,
}

/// A piece of a model's answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// A piece of text.
    Text(String),
    /// A complete call.
    Call(RequestedCall),
    /// The usage so far; the last one counts.
    Usage(Usage),
    /// The answer is complete.
    Done(StopReason),
}

/// A model's complete answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelAnswer {
    /// The text.
    pub text: String,
    /// The calls it requests.
    pub calls: Vec<RequestedCall>,
    /// The usage.
    pub usage: Usage,
    /// Why it stopped.
    pub stop_reason: StopReason,
}

impl ModelAnswer {
    /// Makes an answer without calls.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// It has finished its answer.
    #[default]
    Finished,
    /// It waits for the results of its calls.
    Calls,
    /// Its answer was truncated: too long.
    Length,
    /// Its provider refused to continue.
    Refused,
}

/// The usage of an answer, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the conversation.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
    }
}

/// Why a model gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// It could not be reached.
    #[error("the model cannot be reached: {0}")]
    Unreachable(String),
    /// It refused the request.
    #[error("the model's server answered {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// Its message.
        message: String,
    },
    /// Its answer is invalid.
    #[error("the model's answer cannot be read: {0}")]
    Garbage(String),
    /// Nothing came for too long.
    #[error("the model was silent for {0} ms")]
    Stalled(u64),
    /// Its answer ended before it was complete.
    #[error("the model's answer was cut off")]
    BrokenOff,
}

/// A model's answer, piece by piece.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>;

/// A model. Implement it for the provider that you use.
pub trait Model: Send + Sync {
    /// Asks the model. The stream ends with [`ModelEvent::Done`] or an error.
    fn ask(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>>;
}

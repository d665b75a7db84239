//! The messages of a conversation.

use serde::{Deserialize, Serialize};

/// A tool call that a model requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// The model's id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the model wrote them: normally JSON.
    pub arguments: String,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// The user's message.
    User {
        /// The text.
        text: String,
    },
    /// The model's text, and the calls it requests.
    Assistant {
        /// The text.
        text: String,
        /// The calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<RequestedCall>,
    },
    /// The result of a call.
    Tool {
        /// The model's id of the call.
        call_id: String,
        /// The tool.
        name: String,
        /// The text for the model.
        text: String,
    },
}

impl Message {
    /// Makes a user's message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }

    /// Makes a model's message without calls.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { text: text.into(), calls: Vec::new() }
    }
}

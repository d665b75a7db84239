//! What is said in a conversation.

use serde::{Deserialize, Serialize};

/// A tool call that a model asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// The model's id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the model wrote them: JSON, if all is well.
    pub arguments: String,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// What the person said.
    User {
        /// The text.
        text: String,
    },
    /// What the model said, and the calls it asks for.
    Assistant {
        /// The text.
        text: String,
        /// The calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<RequestedCall>,
    },
    /// What came of a call.
    Tool {
        /// The model's id of the call.
        call_id: String,
        /// The tool.
        name: String,
        /// What the model is told.
        text: String,
    },
}

impl Message {
    /// Makes a person's message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }

    /// Makes a model's message without calls.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { text: text.into(), calls: Vec::new() }
    }
}

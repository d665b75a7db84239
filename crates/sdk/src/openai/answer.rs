//! Assembles a server's answer: takes chunks, and emits the model's events.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::Value;

use crate::agent::{ModelError, ModelEvent, RequestedCall, StopReason, Usage};

/// More calls than this in one answer are nonsense.
const MOST_CALLS: usize = 1024;

/// One chunk of a streamed answer, or a whole answer: they differ only in `delta` and `message`.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk {
    id: Option<Value>,
    choices: Option<Vec<Choice>>,
    usage: Option<TokenCount>,
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    index: Option<u64>,
    delta: Option<Delta>,
    message: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Delta {
    content: Option<Content>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<TextPart>),
}

/// A part of a text; parts of other kinds (thoughts) have no `text`.
#[derive(Debug, Deserialize)]
struct TextPart {
    text: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CallDelta {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Debug, Default, Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    /// A text according to the specification; some servers send the object itself.
    arguments: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct TokenCount {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

/// An answer in progress.
#[derive(Debug)]
pub(super) struct AnswerBuilder {
    id: Option<String>,
    calls: Vec<PartialCall>,
    finish_reason: Option<String>,
    refused: bool,
    /// Whether there was any choice: an answer without one is empty.
    answered: bool,
    /// The length of the answer so far, in bytes.
    length: usize,
    limit: usize,
}

impl AnswerBuilder {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            id: None,
            calls: Vec::new(),
            finish_reason: None,
            refused: false,
            answered: false,
            length: 0,
            limit,
        }
    }

    /// Returns whether the model has given its stop reason: everything relevant has arrived.
    pub(super) fn has_ended(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// Takes the next chunk. The server's message in the error is not masked yet.
    pub(super) fn take(
        &mut self,
        chunk: Chunk,
        status: u16,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        if let Some(error) = chunk.error {
            let message = message_in(&error).unwrap_or_else(|| error.to_string());
            return Err(ModelError::Refused { status, message });
        }
        if chunk.choices.is_none() && chunk.usage.is_none() {
            return Err(ModelError::Garbage("it has no choices".to_owned()));
        }
        if let Some(Value::String(id)) = chunk.id {
            self.id.get_or_insert(id);
        }
        // Only one choice was requested.
        for choice in chunk.choices.into_iter().flatten().filter(|it| it.index.unwrap_or(0) == 0) {
            self.take_choice(choice, events)?;
        }
        let is_counted =
            |it: &TokenCount| it.prompt_tokens.is_some() || it.completion_tokens.is_some();
        if let Some(count) = chunk.usage.filter(is_counted) {
            events.push_back(ModelEvent::Usage(Usage {
                input_tokens: count.prompt_tokens.unwrap_or(0),
                output_tokens: count.completion_tokens.unwrap_or(0),
            }));
        }
        Ok(())
    }

    /// Takes the end: the calls are complete now.
    pub(super) fn complete(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if !self.answered {
            return Err(ModelError::Garbage("it has no answer".to_owned()));
        }
        let reason = match self.finish_reason.as_deref() {
            Some("length") => StopReason::Length,
            Some("content_filter") => StopReason::Refused,
            _ if self.refused => StopReason::Refused,
            // Servers disagree on the stop reason after calls; that there are calls is enough.
            _ if !self.calls.is_empty() => StopReason::Calls,
            _ => StopReason::Finished,
        };
        let mut calls = std::mem::take(&mut self.calls);
        if reason != StopReason::Calls {
            // If truncated, the last call is not complete: its arguments are not JSON.
            calls.retain(|call| {
                serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments).is_ok()
            });
        }
        for (position, call) in calls.into_iter().enumerate() {
            events.push_back(ModelEvent::Call(self.complete_call(position, call)?));
        }
        events.push_back(ModelEvent::Done(reason));
        Ok(())
    }

    fn take_choice(
        &mut self,
        choice: Choice,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.answered = true;
        match choice.delta.or(choice.message) {
            Some(delta) => self.take_delta(delta, events)?,
            None if choice.finish_reason.is_some() => {}
            None => return Err(ModelError::Garbage("it has no message".to_owned())),
        }
        // Some servers send an empty reason while there is none.
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish_reason = Some(reason);
        }
        Ok(())
    }

    fn take_delta(
        &mut self,
        delta: Delta,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let mut text = match delta.content {
            Some(Content::Text(text)) => text,
            Some(Content::Parts(parts)) => parts.into_iter().filter_map(|it| it.text).collect(),
            None => String::new(),
        };
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            text.push_str(&refusal);
        }
        if !text.is_empty() {
            self.count(text.len())?;
            events.push_back(ModelEvent::Text(text));
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.take_call(call)?;
        }
        Ok(())
    }

    fn take_call(&mut self, delta: CallDelta) -> Result<(), ModelError> {
        let id = delta.id.unwrap_or_default();
        let function = delta.function.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let arguments = match function.arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text,
            Some(object) => object.to_string(),
        };
        self.count(id.len() + name.len() + arguments.len())?;

        let known = match delta.index {
            Some(index) => self.calls.iter().rposition(|call| call.index == Some(index)),
            None => self.calls.len().checked_sub(1),
        };
        // Some servers index none of their calls, or all as the first: a new id distinguishes them.
        let known = known.filter(|&position| {
            let begins = !id.is_empty() && (!name.is_empty() || delta.index.is_none());
            !begins || self.calls[position].id.is_empty() || self.calls[position].id == id
        });
        let position = match known {
            Some(position) => position,
            None if self.calls.len() >= MOST_CALLS => {
                return Err(ModelError::Garbage(format!("more than {MOST_CALLS} calls")));
            }
            None => {
                self.calls.push(PartialCall { index: delta.index, ..PartialCall::default() });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[position];
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        call.arguments.push_str(&arguments);
        Ok(())
    }

    fn complete_call(
        &self,
        position: usize,
        mut call: PartialCall,
    ) -> Result<RequestedCall, ModelError> {
        if call.name.is_empty() {
            return Err(ModelError::Garbage("a call has no tool name".to_owned()));
        }
        if call.id.is_empty() {
            let answer = self.id.as_deref().unwrap_or("call");
            call.id = format!("{answer}-{position}");
        }
        // A tool without arguments is called with an empty text, which is not JSON.
        if call.arguments.trim().is_empty() {
            "{}".clone_into(&mut call.arguments);
        }
        Ok(RequestedCall { id: call.id, name: call.name, arguments: call.arguments })
    }

    fn count(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.length = self.length.saturating_add(bytes);
        if self.length > self.limit {
            return Err(ModelError::Garbage(format!("it is longer than {} bytes", self.limit)));
        }
        Ok(())
    }
}

/// Finds a server's error message, in one of the usual fields.
pub(super) fn message_in(body: &Value) -> Option<String> {
    if let Value::String(text) = body {
        return Some(text.clone());
    }
    ["error", "message", "detail"].iter().find_map(|&name| body.get(name).and_then(message_in))
}

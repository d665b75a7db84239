//! What a function is shown.

use std::ops::Deref;
use std::sync::Arc;

use anyhook_model::Event;
use serde_json::Value;

/// An event as a hook sees it, with the input changes of earlier hooks. Cheap to clone.
#[derive(Clone, Debug)]
pub struct SeenEvent(pub(crate) Arc<Event>);

impl Deref for SeenEvent {
    type Target = Event;

    fn deref(&self) -> &Event {
        &self.0
    }
}

impl SeenEvent {
    /// Returns a field of the tool's input that is a text.
    pub fn tool_text(&self, field: &str) -> Option<&str> {
        self.tool_input(field)?.as_str()
    }

    /// Returns a field of the tool's input.
    pub fn tool_input(&self, field: &str) -> Option<&Value> {
        self.tool.as_ref()?.input.get(field)
    }
}

/// A tool call of an agent that has the hooks built in.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The tool's name. The canonical ones (`Shell`, `WriteFile`, …) let hooks written for other
    /// agents match.
    pub name: String,
    /// The input, with canonical field names (`command`, `path`, …) where there are such.
    pub input: Value,
    /// The id of the call, if the agent has one: it joins `before_tool` and `after_tool`.
    pub id: Option<String>,
}

impl ToolCall {
    /// Makes a call without an id.
    pub fn named(name: impl Into<String>, input: Value) -> Self {
        Self { name: name.into(), input, id: None }
    }

    /// Gives the call its id.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    pub(crate) fn to_model(&self) -> anyhook_model::ToolCall {
        let call = anyhook_model::ToolCall::new(&self.name, self.input.clone());
        anyhook_model::ToolCall { use_id: self.id.clone(), ..call }
    }
}

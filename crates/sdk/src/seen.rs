//! The event as a function hook sees it.

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

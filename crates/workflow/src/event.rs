//! Maps a hook event to the workflow's agent that it is about.

use serde_json::Value;

use crate::definition::WorkflowDefinition;

/// The tool that starts a subagent.
pub const SUBAGENT_TOOL: &str = "Subagent";

/// An event of a hook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookEvent {
    /// Its kind, normalized.
    pub kind: Option<anyhook_model::EventKind>,
    /// The complete event.
    pub value: Value,
}

impl HookEvent {
    /// Makes an event from its JSON value.
    pub fn of(value: Value) -> Self {
        let name = value.get("event_type").and_then(Value::as_str);
        Self { kind: name.map(anyhook_model::EventKind::from_name), value }
    }

    /// Returns whether it is about a subagent as a whole.
    pub fn is_of_subagent(&self) -> bool {
        use anyhook_model::EventKind::{SubagentStart, SubagentStop};
        matches!(self.kind, Some(SubagentStart | SubagentStop))
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Returns the workflow's agent that it is about: a subagent by its type or name, otherwise the
    /// agent of the session.
    pub fn agent(
        &self,
        definition: &WorkflowDefinition,
        of_session: Option<&str>,
    ) -> Option<String> {
        let told = if self.is_of_subagent() {
            [self.text("/subagent_type"), self.text("/subagent_name")]
        } else {
            [of_session, None]
        };
        told.into_iter().flatten().find_map(|name| agent_named(definition, name))
    }

    /// Returns the workflow's agent that a tool call starts.
    pub fn called_agent(&self, definition: &WorkflowDefinition) -> Option<String> {
        if self.text("/tool_name") != Some(SUBAGENT_TOOL) {
            return None;
        }
        let told = ["subagent_type", "agent_type", "agent_name", "agent"];
        told.iter()
            .find_map(|name| agent_named(definition, self.text(&format!("/tool_input/{name}"))?))
    }
}

/// Finds an agent of a definition by the names that agents' files may have: `system-architect` is
/// `system_architect`.
pub fn agent_named(definition: &WorkflowDefinition, name: &str) -> Option<String> {
    let plain = |name: &str| name.trim().to_lowercase().replace(['-', ' '], "_");
    let wanted = plain(name);
    let stages = definition.stages.iter().map(|stage| &stage.agent.text);
    let mut agents = stages.chain(definition.reviews.iter().map(|review| &review.agent.text));
    agents.find(|agent| plain(agent) == wanted).cloned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::default;

    fn agent(event: Value, of_session: Option<&str>) -> Option<String> {
        HookEvent::of(event).agent(&default(), of_session)
    }

    #[test]
    fn a_subagent_is_known_by_its_type_or_its_name_in_any_spelling() {
        for (event, expected) in [
            (json!({"event_type": "subagent_start", "subagent_type": "product-manager"}), true),
            (json!({"event_type": "pre-subagent", "subagent_name": "Product Manager"}), true),
            (
                json!({"event_type": "subagent_stop", "subagent_type": "general", "subagent_name": "product_manager"}),
                true,
            ),
            (json!({"event_type": "subagent_stop", "subagent_type": "Explore"}), false),
            (json!({"event_type": "subagent_stop"}), false),
        ] {
            let found = agent(event.clone(), Some("qa_engineer"));
            assert_eq!(found.as_deref(), expected.then_some("product_manager"), "{event}");
        }
    }

    #[test]
    fn a_session_is_the_agent_it_was_started_as() {
        let event = json!({"event_type": "before_stop", "subagent_type": "product_manager"});
        assert_eq!(agent(event.clone(), Some("qa-engineer")).as_deref(), Some("qa_engineer"));
        assert_eq!(agent(event.clone(), Some("somebody")), None);
        assert_eq!(agent(event, None), None);
    }

    #[test]
    fn a_call_says_whom_it_starts() {
        let called = |event: Value| HookEvent::of(event).called_agent(&default());
        let input = json!({"subagent_type": "system-architect", "prompt": "begin"});
        let event =
            json!({"event_type": "before_tool", "tool_name": "Subagent", "tool_input": input});
        assert_eq!(called(event).as_deref(), Some("system_architect"));
        let shell = json!({"event_type": "before_tool", "tool_name": "Shell", "tool_input": {"subagent_type": "system_architect"}});
        assert_eq!(called(shell), None);
    }
}

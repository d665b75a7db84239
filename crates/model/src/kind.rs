//! Event kinds: the thirteen of the two specifications in both spellings, two of ours, and any
//! other name kept as it came.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What happened, or is about to happen, in an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The session starts.
    SessionStart,
    /// The session has ended.
    SessionEnd,
    /// The agent is about to process the user's prompt.
    BeforeAgent,
    /// The agent has finished its turn.
    AfterAgent,
    /// The agent wants to stop: the quality gate.
    BeforeStop,
    /// The agent has stopped.
    AfterStop,
    /// A tool is about to run.
    BeforeTool,
    /// A tool has succeeded.
    AfterTool,
    /// A tool has failed.
    AfterToolFailure,
    /// A subagent starts.
    SubagentStart,
    /// A subagent wants to stop.
    SubagentStop,
    /// The context is about to be compacted.
    PreCompact,
    /// The context has been compacted.
    PostCompact,
    /// The agent tells the person something (ours).
    Notification,
    /// The agent asks for a permission (ours).
    PermissionRequest,
    /// An event no specification names, kept as it came.
    Other(String),
}

/// Which specification's name of an event is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Spelling {
    /// The English specification's, such as `before_tool`.
    #[default]
    Canonical,
    /// The Chinese specification's, such as `pre-tool-call`.
    Alias,
}

/// One row a kind: kind, canonical name, alias.
const NAMES: [(EventKind, &str, Option<&str>); 15] = [
    (EventKind::SessionStart, "session_start", Some("pre-session")),
    (EventKind::SessionEnd, "session_end", Some("post-session")),
    (EventKind::BeforeAgent, "before_agent", Some("pre-agent-turn")),
    (EventKind::AfterAgent, "after_agent", Some("post-agent-turn")),
    (EventKind::BeforeStop, "before_stop", Some("pre-agent-turn-stop")),
    (EventKind::AfterStop, "after_stop", Some("post-agent-turn-stop")),
    (EventKind::BeforeTool, "before_tool", Some("pre-tool-call")),
    (EventKind::AfterTool, "after_tool", Some("post-tool-call")),
    (EventKind::AfterToolFailure, "after_tool_failure", Some("post-tool-call-failure")),
    (EventKind::SubagentStart, "subagent_start", Some("pre-subagent")),
    (EventKind::SubagentStop, "subagent_stop", Some("post-subagent")),
    (EventKind::PreCompact, "pre_compact", Some("pre-context-compact")),
    (EventKind::PostCompact, "post_compact", Some("post-context-compact")),
    (EventKind::Notification, "notification", None),
    (EventKind::PermissionRequest, "permission_request", None),
];

/// Names that agents give their own events, and the kind a hook author means by them.
///
/// Only for hints: a `trigger` speaks the open format.
const AGENT_NAMES: [(&str, EventKind); 31] = [
    ("PreToolUse", EventKind::BeforeTool),
    ("preToolUse", EventKind::BeforeTool),
    ("BeforeTool", EventKind::BeforeTool),
    ("tool.execute.before", EventKind::BeforeTool),
    ("beforeShellExecution", EventKind::BeforeTool),
    ("PostToolUse", EventKind::AfterTool),
    ("postToolUse", EventKind::AfterTool),
    ("AfterTool", EventKind::AfterTool),
    ("tool.execute.after", EventKind::AfterTool),
    ("PostToolUseFailure", EventKind::AfterToolFailure),
    ("postToolUseFailure", EventKind::AfterToolFailure),
    ("UserPromptSubmit", EventKind::BeforeAgent),
    ("userPromptSubmitted", EventKind::BeforeAgent),
    ("beforeSubmitPrompt", EventKind::BeforeAgent),
    ("BeforeAgent", EventKind::BeforeAgent),
    ("chat.message", EventKind::BeforeAgent),
    ("Stop", EventKind::BeforeStop),
    ("stop", EventKind::BeforeStop),
    ("agentStop", EventKind::BeforeStop),
    ("AfterAgent", EventKind::BeforeStop),
    ("session.idle", EventKind::BeforeStop),
    ("SessionStart", EventKind::SessionStart),
    ("sessionStart", EventKind::SessionStart),
    ("SessionEnd", EventKind::SessionEnd),
    ("SubagentStart", EventKind::SubagentStart),
    ("SubagentStop", EventKind::SubagentStop),
    ("PreCompact", EventKind::PreCompact),
    ("PreCompress", EventKind::PreCompact),
    ("PostCompact", EventKind::PostCompact),
    ("Notification", EventKind::Notification),
    ("PermissionRequest", EventKind::PermissionRequest),
];

impl EventKind {
    /// Every named kind, in the order of the reference.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(kind, _, _)| kind.clone())
    }

    /// Every name of every kind, in both spellings.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().flat_map(|(_, name, alias)| std::iter::once(*name).chain(*alias))
    }

    /// Reads a name in either spelling; an unknown name gives `None`.
    pub fn known(name: &str) -> Option<(Self, Spelling)> {
        NAMES.iter().find_map(|(kind, canonical, alias)| {
            if *canonical == name {
                Some((kind.clone(), Spelling::Canonical))
            } else if *alias == Some(name) {
                Some((kind.clone(), Spelling::Alias))
            } else {
                None
            }
        })
    }

    /// Reads a name in either spelling; an unknown name is kept as it came.
    pub fn from_name(name: &str) -> Self {
        Self::known(name).map_or_else(|| Self::Other(name.to_owned()), |(kind, _)| kind)
    }

    /// Returns the kind an agent's own event name stands for, to be used in hints.
    pub fn of_agent_name(name: &str) -> Option<Self> {
        AGENT_NAMES.iter().find(|(agent, _)| *agent == name).map(|(_, kind)| kind.clone())
    }

    /// Returns the name in the given spelling (canonical where there is no other).
    pub fn name(&self, spelling: Spelling) -> &str {
        if let Self::Other(name) = self {
            return name;
        }
        NAMES.iter().find(|(kind, _, _)| kind == self).map_or("", |(_, canonical, alias)| {
            match spelling {
                Spelling::Canonical => canonical,
                Spelling::Alias => alias.unwrap_or(canonical),
            }
        })
    }

    /// Tells whether the event is about a tool call, so that a `matcher` counts.
    pub fn has_matcher(&self) -> bool {
        matches!(
            self,
            Self::BeforeTool | Self::AfterTool | Self::AfterToolFailure | Self::PermissionRequest
        )
    }

    /// Tells whether a hook may change the tool's input at this event.
    pub fn takes_input_change(&self) -> bool {
        matches!(self, Self::BeforeTool | Self::PermissionRequest)
    }

    /// Returns the fields that belong to this kind, in the order a script sees them.
    pub fn own_fields(&self) -> &'static [&'static str] {
        match self {
            Self::SessionStart => &["model", "args"],
            Self::SessionEnd => &["duration_seconds", "total_steps", "exit_reason"],
            Self::BeforeAgent => &["prompt"],
            Self::AfterAgent => &["final_message"],
            Self::BeforeStop | Self::AfterStop => &["stop_reason", "step_count", "final_message"],
            Self::BeforeTool | Self::PermissionRequest => {
                &["tool_name", "tool_input", "tool_use_id", "files", "native"]
            }
            Self::AfterTool => &[
                "tool_name",
                "tool_input",
                "tool_use_id",
                "files",
                "native",
                "tool_output",
                "duration_ms",
            ],
            Self::AfterToolFailure => &[
                "tool_name",
                "tool_input",
                "tool_use_id",
                "files",
                "native",
                "tool_output",
                "duration_ms",
                "error",
            ],
            Self::SubagentStart => &["subagent_name", "subagent_type", "task_description"],
            Self::SubagentStop => {
                &["subagent_name", "subagent_type", "task_description", "final_message"]
            }
            Self::PreCompact | Self::PostCompact => &["trigger"],
            Self::Notification => &["kind", "message"],
            Self::Other(_) => &[],
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name(Spelling::Canonical))
    }
}

impl Serialize for EventKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name(Spelling::Canonical))
    }
}

impl<'de> Deserialize<'de> for EventKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_name(&String::deserialize(deserializer)?))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for EventKind {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EventKind".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "The event's name. Either spelling of the specifications is read; the canonical one is written. An unknown name is kept as it came.",
            "examples": Self::all_names().collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_name_the_same_kind() {
        assert_eq!(
            EventKind::known("before_tool"),
            Some((EventKind::BeforeTool, Spelling::Canonical))
        );
        assert_eq!(
            EventKind::known("pre-tool-call"),
            Some((EventKind::BeforeTool, Spelling::Alias))
        );
        assert_eq!(EventKind::BeforeStop.name(Spelling::Alias), "pre-agent-turn-stop");
        assert_eq!(EventKind::all_names().count(), 28);
    }

    #[test]
    fn every_name_survives_a_round_trip() {
        for kind in EventKind::all() {
            for spelling in [Spelling::Canonical, Spelling::Alias] {
                assert_eq!(EventKind::from_name(kind.name(spelling)), kind);
            }
        }
    }

    #[test]
    fn an_unknown_name_is_kept() {
        let kind = EventKind::from_name("worktree_create");
        assert_eq!(kind, EventKind::Other("worktree_create".to_owned()));
        assert_eq!(serde_json::to_string(&kind).unwrap(), "\"worktree_create\"");
    }

    #[test]
    fn agents_names_lead_to_canonical_ones() {
        assert_eq!(EventKind::of_agent_name("PreToolUse"), Some(EventKind::BeforeTool));
        assert_eq!(EventKind::known("PreToolUse"), None);
    }
}

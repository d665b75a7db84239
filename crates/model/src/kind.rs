//! Event kinds: the thirteen of the two specifications in both spellings, two of ours, and any
//! other name, unchanged.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::agent_names::EVENT_NAMES;

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
    /// The agent wants to stop: the stop gate.
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
    /// The agent notifies the user (ours).
    Notification,
    /// The agent asks for permission (ours).
    PermissionRequest,
    /// An event that no specification names, unchanged.
    Other(String),
}

/// Which specification's name of an event is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Spelling {
    /// The English specification's, such as `before_tool`.
    #[default]
    Canonical,
    /// The Chinese specification's, such as `pre-tool-call`.
    Alias,
}

/// One row per kind: kind, canonical name, alias.
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

/// Agents' own event names that no currently supported agent has: of agents that are not supported
/// yet, and of earlier versions.
const OTHER_AGENT_NAMES: [(&str, EventKind); 37] = [
    ("preToolUse", EventKind::BeforeTool),
    ("tool.call", EventKind::BeforeTool),
    ("beforeShellExecution", EventKind::BeforeTool),
    ("beforeMCPExecution", EventKind::BeforeTool),
    ("beforeReadFile", EventKind::BeforeTool),
    ("before_tool_call", EventKind::BeforeTool),
    ("pre_tool", EventKind::BeforeTool),
    ("pre_run_command", EventKind::BeforeTool),
    ("pre_read_code", EventKind::BeforeTool),
    ("pre_write_code", EventKind::BeforeTool),
    ("pre_mcp_tool_use", EventKind::BeforeTool),
    ("postToolUse", EventKind::AfterTool),
    ("tool.result", EventKind::AfterTool),
    ("after_tool_call", EventKind::AfterTool),
    ("post_tool", EventKind::AfterTool),
    ("afterShellExecution", EventKind::AfterTool),
    ("afterMCPExecution", EventKind::AfterTool),
    ("afterFileEdit", EventKind::AfterTool),
    ("postToolUseFailure", EventKind::AfterToolFailure),
    ("userPromptSubmit", EventKind::BeforeAgent),
    ("userPromptSubmitted", EventKind::BeforeAgent),
    ("beforeSubmitPrompt", EventKind::BeforeAgent),
    ("agent.start", EventKind::BeforeAgent),
    ("pre_user_prompt", EventKind::BeforeAgent),
    ("afterAgentResponse", EventKind::AfterAgent),
    ("stop", EventKind::BeforeStop),
    ("agentStop", EventKind::BeforeStop),
    ("agent.end", EventKind::BeforeStop),
    ("sessionStart", EventKind::SessionStart),
    ("agentSpawn", EventKind::SessionStart),
    ("session.start", EventKind::SessionStart),
    ("TaskStart", EventKind::SessionStart),
    ("sessionEnd", EventKind::SessionEnd),
    ("subagentStart", EventKind::SubagentStart),
    ("subagentStop", EventKind::SubagentStop),
    ("preCompact", EventKind::PreCompact),
    ("permissionRequest", EventKind::PermissionRequest),
];

/// Returns every agent's own event names, and the kinds they mean.
///
/// Gemini CLI's `AfterAgent` is its stop gate, not `after_agent`: with exactly this spelling it is
/// that agent's name, in any other case and form it is ours.
fn agent_names() -> impl Iterator<Item = &'static (&'static str, EventKind)> {
    EVENT_NAMES.iter().chain(&OTHER_AGENT_NAMES)
}

impl EventKind {
    /// Returns every named kind, in the order of the reference.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(kind, _, _)| kind.clone())
    }

    /// Returns every name of every kind, in both spellings.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().flat_map(|(_, name, alias)| std::iter::once(*name).chain(*alias))
    }

    /// Parses a name in either spelling; an unknown name gives `None`.
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

    /// Parses a name in either spelling; an unknown name is kept unchanged.
    pub fn from_name(name: &str) -> Self {
        Self::known(name).map_or_else(|| Self::Other(name.to_owned()), |(kind, _)| kind)
    }

    /// Parses a name as people and agents write it: either spelling in any case and with `_`, `-`,
    /// `.`, a space or nothing between its words, or an agent's own name for the event. Exact names
    /// are tried first, so that only an inexact one takes longer.
    pub fn in_any_spelling(name: &str) -> Option<(Self, Spelling)> {
        let exact = || {
            let kind = Self::of_agent_name(name)?;
            // Some agents' names are names of the open format, but for their separators.
            let ours = Self::all_names().find(|known| are_alike(known, name)).and_then(Self::known);
            Some(ours.filter(|(ours, _)| *ours == kind).unwrap_or((kind, Spelling::Canonical)))
        };
        Self::known(name).or_else(exact).or_else(|| Self::alike(name))
    }

    /// Parses a name that is not in its exact form.
    #[cold]
    fn alike(name: &str) -> Option<(Self, Spelling)> {
        let ours = Self::all_names().find(|known| are_alike(known, name)).and_then(Self::known);
        ours.or_else(|| {
            let (_, kind) = agent_names().find(|(agent, _)| are_alike(agent, name))?;
            Some((kind.clone(), Spelling::Canonical))
        })
    }

    /// Parses an agent's event name that is not in its exact form: first by the agent's own names,
    /// which `own` knows, then as [`Self::in_any_spelling`] does.
    #[cold]
    pub fn of_agent_alike(name: &str, own: impl Fn(&str) -> Option<Self>) -> Option<Self> {
        let alike = agent_names().filter(|(agent, _)| are_alike(agent, name));
        let by_agent = alike.into_iter().find_map(|(agent, _)| own(agent));
        by_agent.or_else(|| Some(Self::in_any_spelling(name)?.0))
    }

    /// Returns the event name that `name` is a misspelling of.
    pub fn slip_of(name: &str) -> Option<&'static str> {
        let names = Self::all_names().chain(agent_names().map(|(agent, _)| *agent));
        crate::nearest::slip_of(name.trim(), names)
    }

    /// Returns the kind that an agent's own event name stands for.
    pub fn of_agent_name(name: &str) -> Option<Self> {
        agent_names().find(|(agent, _)| *agent == name).map(|(_, kind)| kind.clone())
    }

    /// Returns the name in the given spelling (canonical if there is no other).
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

    /// Returns whether the event is about a tool call, so that a `matcher` applies.
    pub fn has_matcher(&self) -> bool {
        matches!(
            self,
            Self::BeforeTool | Self::AfterTool | Self::AfterToolFailure | Self::PermissionRequest
        )
    }

    /// Returns whether a hook may change the tool's input at this event.
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

/// Returns whether two names are equal except for case and the separators of their words, which may
/// be invisible characters.
pub fn are_alike(known: &str, name: &str) -> bool {
    fn letters(text: &str) -> impl Iterator<Item = char> {
        text.chars().filter(|letter| letter.is_alphanumeric()).map(|c| c.to_ascii_lowercase())
    }
    letters(known).eq(letters(name))
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
            "description": "The event's name. Either spelling of the specifications is accepted; the canonical one is written. An unknown name is kept as is.",
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

    #[test]
    fn names_are_read_in_any_spelling() {
        let read = EventKind::in_any_spelling;
        let canonical = |kind: EventKind| Some((kind, Spelling::Canonical));
        for name in [
            "before_tool",
            "Before_Tool",
            "BEFORE_TOOL",
            "before-tool",
            "beforeTool",
            " before tool ",
            "BeforeTool",
            "PreToolUse",
            "pretooluse",
            "pre_tool_use",
            "tool.execute.before",
            "beforeShellExecution",
            "before_tool_call",
            "BeforeToolCall",
            "pre_tool",
            "PreTool",
            "before_tool\u{200b}",
        ] {
            assert_eq!(read(name), canonical(EventKind::BeforeTool), "{name}");
        }
        for name in ["pre-tool-call", "pre_tool_call", "Pre-Tool-Call", "PreToolCall"] {
            assert_eq!(read(name), Some((EventKind::BeforeTool, Spelling::Alias)), "{name}");
        }
        assert_eq!(read("AfterAgent"), canonical(EventKind::BeforeStop));
        assert_eq!(read("After_Agent"), canonical(EventKind::AfterAgent));
        assert_eq!(read("afterAgent"), canonical(EventKind::AfterAgent));
        for name in ["", "before", "before_tol", "worktree_create"] {
            assert_eq!(read(name), None, "{name}");
        }
        assert_eq!(EventKind::slip_of("before_tol"), Some("before_tool"));
        assert_eq!(EventKind::slip_of("PreToolUsed"), Some("PreToolUse"));
        assert_eq!(EventKind::slip_of("worktree_create"), None);
    }

    #[test]
    fn every_name_of_a_specification_is_itself() {
        for name in EventKind::all_names() {
            assert_eq!(EventKind::in_any_spelling(name), EventKind::known(name), "{name}");
        }
    }
}

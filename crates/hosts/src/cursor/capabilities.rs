//! Cursor's capabilities, tools and quirks, according to its documentation.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "Shell",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "working_directory"],
        files: &[],
    },
    HostTool {
        native: "Read",
        canonical: "ReadFile",
        renamed: &[("file_path", "path")],
        known: &["offset", "limit"],
        files: &["path"],
    },
    HostTool {
        native: "Write",
        canonical: "WriteFile",
        renamed: &[("file_path", "path"), ("contents", "content")],
        known: &[],
        files: &["path"],
    },
    HostTool {
        native: "Delete",
        canonical: "DeleteFile",
        renamed: &[("file_path", "path")],
        known: &[],
        files: &["path"],
    },
    HostTool {
        native: "Grep",
        canonical: "Grep",
        renamed: &[],
        known: &["pattern", "path"],
        files: &["path"],
    },
    HostTool {
        native: "Task",
        canonical: "Subagent",
        renamed: &[],
        known: &["prompt", "description"],
        files: &[],
    },
];

/// Tools that are special forms of a canonical one.
pub const SPECIAL_TOOLS: &[&str] = &[];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[
    NativeTool { name: "TabRead", what: "reads a file for a completion" },
    NativeTool { name: "TabWrite", what: "edits a file for a completion" },
];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "sessionStart", "C"),
    can(Kind::SessionEnd, "sessionEnd", ""),
    can(Kind::BeforeAgent, "beforeSubmitPrompt", "B"),
    can(Kind::AfterAgent, "stop", ""),
    can(Kind::BeforeStop, "stop", "B"),
    can(Kind::AfterStop, "stop", ""),
    can(Kind::BeforeTool, "preToolUse", "BM"),
    can(Kind::AfterTool, "postToolUse", "C"),
    can(Kind::AfterToolFailure, "postToolUseFailure", ""),
    can(Kind::SubagentStart, "subagentStart", "B"),
    can(Kind::SubagentStop, "subagentStop", "B"),
    can(Kind::PreCompact, "preCompact", ""),
    lacks(Kind::PostCompact),
    lacks(Kind::Notification),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "cursor-ask-not-enforced",
        versions: "documentation of 2026-09",
        behaviour: "`ask` at preToolUse is accepted and not enforced",
        mitigation: "an ask becomes a deny that explains how to approve (ask_fallback)",
        evidence: "docs",
    },
    Quirk {
        id: "cursor-reply-schema",
        versions: "documentation of 2026-09",
        behaviour: "a reply that does not fit the schema of its event blocks",
        mitigation: "only the documented keys of the event are sent, and warnings are not",
        evidence: "docs",
    },
    Quirk {
        id: "cursor-reads-claude",
        versions: "documentation of 2026-09",
        behaviour: "it also runs the hooks in Claude Code's settings",
        mitigation: "it is recognised by CURSOR_VERSION and its payload; a double call is dropped",
        evidence: "docs",
    },
    Quirk {
        id: "cursor-stop-follow-up",
        versions: "documentation of 2026-09",
        behaviour: "a stop cannot be held: a follow-up message is sent as the next prompt, at most five times",
        mitigation: "the reason is that message; anyhook stops blocking at five",
        evidence: "docs",
    },
    Quirk {
        id: "cursor-fail-open",
        versions: "documentation of 2026-09",
        behaviour: "a hook that crashes or times out lets the call run, unless failClosed is set, which also blocks for an empty reply",
        mitigation: "failClosed is not set: the entry denies with exit code 2 if a guard is installed and anyhook did not answer",
        evidence: "docs",
    },
];

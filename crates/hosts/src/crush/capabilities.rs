//! Crush's capabilities, tools and quirks, according to its documentation.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "bash",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "description"],
        files: &[],
    },
    HostTool {
        native: "view",
        canonical: "ReadFile",
        renamed: &[("file_path", "path")],
        known: &["offset", "limit"],
        files: &["path"],
    },
    HostTool {
        native: "write",
        canonical: "WriteFile",
        renamed: &[("file_path", "path")],
        known: &["content"],
        files: &["path"],
    },
    HostTool {
        native: "edit",
        canonical: "EditFile",
        renamed: &[("file_path", "path"), ("old_string", "old"), ("new_string", "new")],
        known: &["replace_all"],
        files: &["path"],
    },
    HostTool {
        native: "multiedit",
        canonical: "EditFile",
        renamed: &[("file_path", "path")],
        known: &["edits"],
        files: &["path"],
    },
    HostTool {
        native: "glob",
        canonical: "Glob",
        renamed: &[],
        known: &["pattern", "path"],
        files: &["path"],
    },
    HostTool {
        native: "grep",
        canonical: "Grep",
        renamed: &[],
        known: &["pattern", "path"],
        files: &["path"],
    },
    HostTool {
        native: "fetch",
        canonical: "FetchURL",
        renamed: &[],
        known: &["url", "format", "timeout"],
        files: &[],
    },
    HostTool {
        native: "agent",
        canonical: "Subagent",
        renamed: &[],
        known: &["prompt"],
        files: &[],
    },
];

/// Tools that are special forms of a canonical one.
pub const SPECIAL_TOOLS: &[&str] = &["multiedit"];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[];

pub const CAPABILITIES: &[Capability] = &[
    lacks(Kind::SessionStart),
    lacks(Kind::SessionEnd),
    lacks(Kind::BeforeAgent),
    lacks(Kind::AfterAgent),
    lacks(Kind::BeforeStop),
    lacks(Kind::AfterStop),
    can(Kind::BeforeTool, "PreToolUse", "BMC"),
    lacks(Kind::AfterTool),
    lacks(Kind::AfterToolFailure),
    lacks(Kind::SubagentStart),
    lacks(Kind::SubagentStop),
    lacks(Kind::PreCompact),
    lacks(Kind::PostCompact),
    lacks(Kind::Notification),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "crush-one-event",
        versions: "source of 2026-08",
        behaviour: "PreToolUse is the only event, and only for calls of the main agent",
        mitigation: "what is missing is named by `install` and `hosts`",
        evidence: "docs",
    },
    Quirk {
        id: "crush-halt",
        versions: "source of 2026-08",
        behaviour: "exit code 49 ends the turn",
        mitigation: "it is never sent",
        evidence: "docs",
    },
    Quirk {
        id: "crush-fail-open",
        versions: "source of 2026-08",
        behaviour: "a hook that crashes or times out lets the call run",
        mitigation: "the entry denies with exit code 2 if a guard is installed and anyhook did not answer",
        evidence: "docs",
    },
];

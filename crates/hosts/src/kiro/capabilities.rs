//! Kiro's capabilities, tools and quirks, according to its documentation.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "execute_bash",
        canonical: "Shell",
        renamed: &[],
        known: &["command"],
        files: &[],
    },
    HostTool {
        native: "fs_read",
        canonical: "ReadFile",
        renamed: &[],
        known: &["path", "operations"],
        files: &["path"],
    },
    HostTool {
        native: "fs_write",
        canonical: "WriteFile",
        renamed: &[("file_text", "content")],
        known: &["command", "path", "old_str", "new_str"],
        files: &["path"],
    },
];

/// Tools that are special forms of a canonical one.
pub const SPECIAL_TOOLS: &[&str] = &[];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[
    NativeTool { name: "use_aws", what: "calls the AWS command line" },
    NativeTool { name: "aws", what: "calls the AWS command line" },
];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "SessionStart", "C"),
    lacks(Kind::SessionEnd),
    can(Kind::BeforeAgent, "UserPromptSubmit", "BC"),
    can(Kind::AfterAgent, "Stop", ""),
    can(Kind::BeforeStop, "Stop", ""),
    can(Kind::AfterStop, "Stop", ""),
    can(Kind::BeforeTool, "PreToolUse", "BC"),
    can(Kind::AfterTool, "PostToolUse", "C"),
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
        id: "kiro-any-exit-blocks",
        versions: "documentation of CLI 3",
        behaviour: "any exit code but 0 of a hook blocks",
        mitigation: "the entry ends with 0 unless a call is refused",
        evidence: "docs",
    },
    Quirk {
        id: "kiro-stdout-is-context",
        versions: "documentation of CLI 3",
        behaviour: "standard output is added to the context as it is",
        mitigation: "only context is written there",
        evidence: "docs",
    },
    Quirk {
        id: "kiro-stop",
        versions: "documentation of CLI 3",
        behaviour: "a stop cannot be held",
        mitigation: "the journal says that a block of a stop was lost",
        evidence: "docs",
    },
    Quirk {
        id: "kiro-2-not-enforced",
        versions: "2.19.2",
        behaviour: "exit code 2 at preToolUse was reported not to keep a write from being made",
        mitigation: "version 2 is not supported",
        evidence: "docs",
    },
];

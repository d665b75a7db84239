//! Windsurf's capabilities, tools and quirks, according to its documentation.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "run_command",
        canonical: "Shell",
        renamed: &[("command_line", "command")],
        known: &["cwd"],
        files: &[],
    },
    HostTool {
        native: "read_code",
        canonical: "ReadFile",
        renamed: &[("file_path", "path")],
        known: &[],
        files: &["path"],
    },
    HostTool {
        native: "write_code",
        canonical: "EditFile",
        renamed: &[("file_path", "path")],
        known: &["edits"],
        files: &["path"],
    },
];

/// Tools that are special forms of a canonical one.
pub const SPECIAL_TOOLS: &[&str] = &[];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[];

pub const CAPABILITIES: &[Capability] = &[
    lacks(Kind::SessionStart),
    lacks(Kind::SessionEnd),
    can(Kind::BeforeAgent, "pre_user_prompt", "B"),
    can(Kind::AfterAgent, "post_cascade_response", ""),
    lacks(Kind::BeforeStop),
    lacks(Kind::AfterStop),
    can(Kind::BeforeTool, "pre_run_command", "B"),
    can(Kind::AfterTool, "post_run_command", ""),
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
        id: "windsurf-tool-in-event",
        versions: "documentation of 2026-10",
        behaviour: "events are named after what is done; there is no name of a tool",
        mitigation: "the event is the tool: run_command, read_code, write_code, or the MCP tool",
        evidence: "docs",
    },
    Quirk {
        id: "windsurf-exit-codes-alone",
        versions: "documentation of 2026-10",
        behaviour: "only exit code 2 of a pre_ event blocks, and its standard error is told to the agent; JSON is ignored",
        mitigation: "everything is said with exit code 2",
        evidence: "docs",
    },
    Quirk {
        id: "windsurf-no-time-limit",
        versions: "documentation of 2026-10",
        behaviour: "no time limit of hooks is documented",
        mitigation: "anyhook answers within 54 s",
        evidence: "docs",
    },
];

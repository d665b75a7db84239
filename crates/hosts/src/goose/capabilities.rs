//! Goose's capabilities, tools and quirks, according to its documentation.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[HostTool {
    native: "developer__shell",
    canonical: "Shell",
    renamed: &[],
    known: &["command"],
    files: &[],
}];

/// Tools that are special forms of a canonical one.
pub const SPECIAL_TOOLS: &[&str] = &[];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] =
    &[NativeTool { name: "developer__text_editor", what: "views and edits a file" }];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "SessionStart", ""),
    can(Kind::SessionEnd, "SessionEnd", ""),
    can(Kind::BeforeAgent, "UserPromptSubmit", ""),
    can(Kind::AfterAgent, "Stop", ""),
    can(Kind::BeforeStop, "Stop", "B"),
    can(Kind::AfterStop, "Stop", ""),
    can(Kind::BeforeTool, "PreToolUse", "B"),
    can(Kind::AfterTool, "PostToolUse", ""),
    can(Kind::AfterToolFailure, "PostToolUseFailure", ""),
    lacks(Kind::SubagentStart),
    lacks(Kind::SubagentStop),
    lacks(Kind::PreCompact),
    lacks(Kind::PostCompact),
    lacks(Kind::Notification),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "goose-plugin",
        versions: "documentation of 2026-09",
        behaviour: "hooks belong to plugins, in hooks/hooks.json",
        mitigation: "anyhook is a plugin of its own in ~/.agents/plugins",
        evidence: "docs",
    },
    Quirk {
        id: "goose-observes",
        versions: "documentation of 2026-09",
        behaviour: "only PreToolUse and Stop can block; what other hooks print is discarded",
        mitigation: "the journal says what was lost",
        evidence: "docs",
    },
    Quirk {
        id: "goose-no-output",
        versions: "1.48.0",
        behaviour: "tool_output is documented and never sent",
        mitigation: "hooks of after_tool see no output",
        evidence: "docs",
    },
    Quirk {
        id: "goose-on-failure",
        versions: "1.48.0",
        behaviour: "a hook of PreToolUse may have on_failure: block",
        mitigation: "the entry sets it: no answer in time is a denial, and without a guard the entry ends with 0",
        evidence: "docs",
    },
];

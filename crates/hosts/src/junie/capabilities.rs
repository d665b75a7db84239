//! Junie's capabilities, tools and quirks, according to its documentation.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::HostTool;

/// The names of its other tools are not documented: what they do is told from their inputs.
pub const TOOLS: &[HostTool] = &[HostTool {
    native: "Bash",
    canonical: "Shell",
    renamed: &[],
    known: &["command"],
    files: &[],
}];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "SessionStart", ""),
    can(Kind::SessionEnd, "SessionEnd", ""),
    can(Kind::BeforeAgent, "UserPromptSubmit", "B"),
    can(Kind::AfterAgent, "Stop", ""),
    can(Kind::BeforeStop, "Stop", "B"),
    can(Kind::AfterStop, "Stop", ""),
    can(Kind::BeforeTool, "PreToolUse", "B"),
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
        id: "junie-early-access",
        versions: "documentation of 2026-11-17",
        behaviour: "only its early access program documents hooks that can block; the stable version documents SessionStart alone, with a limit of 10 seconds, where nothing can be blocked",
        mitigation: "doctor shows when the last event was seen: without a before_tool event no guard works",
        evidence: "docs",
    },
    Quirk {
        id: "junie-unknown-layout",
        versions: "documentation of 2026-11-17",
        behaviour: "how entries are nested and what payloads contain is documented in part",
        mitigation: "what is not documented is taken to be as in Claude Code",
        evidence: "docs",
    },
    Quirk {
        id: "junie-user-only",
        versions: "documentation of 2026-11-17",
        behaviour: "it ignores hooks in a project's settings",
        mitigation: "anyhook is installed for the user, also with `--project`",
        evidence: "docs",
    },
    Quirk {
        id: "junie-bare-stop",
        versions: "documentation of 2026-11-17",
        behaviour: "the payload of a stop has neither a session nor a folder",
        mitigation: "the folder of the hook's process counts",
        evidence: "docs",
    },
    Quirk {
        id: "junie-error-blocks",
        versions: "documentation of 2026-11-17",
        behaviour: "with `blockOnError` any error of a hook blocks",
        mitigation: "the entry ends with 0 unless a call is refused",
        evidence: "docs",
    },
];

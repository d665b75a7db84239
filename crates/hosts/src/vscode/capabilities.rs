//! VS Code's capabilities, tools and quirks, according to its documentation.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "run_in_terminal",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "explanation", "isBackground"],
        files: &[],
    },
    HostTool {
        native: "create_file",
        canonical: "WriteFile",
        renamed: &[("filePath", "path")],
        known: &["content"],
        files: &["path"],
    },
    HostTool {
        native: "replace_string_in_file",
        canonical: "EditFile",
        renamed: &[("filePath", "path"), ("oldString", "old"), ("newString", "new")],
        known: &["explanation"],
        files: &["path"],
    },
];

/// Tools that are special forms of a canonical one.
pub const SPECIAL_TOOLS: &[&str] = &[];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "SessionStart", "C"),
    lacks(Kind::SessionEnd),
    can(Kind::BeforeAgent, "UserPromptSubmit", "B"),
    can(Kind::AfterAgent, "Stop", ""),
    can(Kind::BeforeStop, "Stop", "B"),
    can(Kind::AfterStop, "Stop", ""),
    can(Kind::BeforeTool, "PreToolUse", "BMCA"),
    can(Kind::AfterTool, "PostToolUse", "BC"),
    lacks(Kind::AfterToolFailure),
    can(Kind::SubagentStart, "SubagentStart", "C"),
    can(Kind::SubagentStop, "SubagentStop", "B"),
    can(Kind::PreCompact, "PreCompact", ""),
    lacks(Kind::PostCompact),
    lacks(Kind::Notification),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "vscode-matchers-ignored",
        versions: "documentation of 2026-08",
        behaviour: "matchers of hooks are ignored",
        mitigation: "none is set: anyhook matches itself",
        evidence: "docs",
    },
    Quirk {
        id: "vscode-stop-nested",
        versions: "documentation of 2026-08",
        behaviour: "a block of Stop is nested in hookSpecificOutput, that of SubagentStop is not",
        mitigation: "each is sent as documented",
        evidence: "docs",
    },
    Quirk {
        id: "vscode-shares-folders",
        versions: "documentation of 2026-08",
        behaviour: "it runs the hook files of Copilot CLI and the hooks in Claude Code's settings, too",
        mitigation: "install one of them: nothing tells anyhook that VS Code runs an entry of another agent, so events may be handled twice",
        evidence: "docs",
    },
    Quirk {
        id: "vscode-fail-open",
        versions: "documentation of 2026-08",
        behaviour: "a hook that crashes or times out lets the call run",
        mitigation: "the entry denies with exit code 2 if a guard is installed and anyhook did not answer",
        evidence: "docs",
    },
];

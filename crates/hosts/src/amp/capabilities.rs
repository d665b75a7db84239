//! Amp's capabilities, tools and quirks, according to its documentation.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "Bash",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "cmd", "cwd"],
        files: &[],
    },
    HostTool {
        native: "shell_command",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "cmd", "cwd"],
        files: &[],
    },
    HostTool {
        native: "Read",
        canonical: "ReadFile",
        renamed: &[],
        known: &["path"],
        files: &["path"],
    },
    HostTool {
        native: "create_file",
        canonical: "WriteFile",
        renamed: &[],
        known: &["path", "content"],
        files: &["path"],
    },
    HostTool {
        native: "edit_file",
        canonical: "EditFile",
        renamed: &[("old_str", "old"), ("new_str", "new")],
        known: &["path"],
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
        native: "glob",
        canonical: "Glob",
        renamed: &[],
        known: &["pattern", "path"],
        files: &["path"],
    },
    HostTool {
        native: "read_web_page",
        canonical: "FetchURL",
        renamed: &[],
        known: &["url"],
        files: &[],
    },
    HostTool {
        native: "web_search",
        canonical: "SearchWeb",
        renamed: &[],
        known: &["query"],
        files: &[],
    },
    HostTool {
        native: "Task",
        canonical: "Subagent",
        renamed: &[],
        known: &["prompt", "description"],
        files: &[],
    },
];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[NativeTool { name: "oracle", what: "asks another model" }];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "session.start", ""),
    lacks(Kind::SessionEnd),
    can(Kind::BeforeAgent, "agent.start", "C"),
    can(Kind::AfterAgent, "agent.end", ""),
    can(Kind::BeforeStop, "agent.end", "B"),
    can(Kind::AfterStop, "agent.end", ""),
    can(Kind::BeforeTool, "tool.call", "BMA"),
    can(Kind::AfterTool, "tool.result", "BC"),
    can(Kind::AfterToolFailure, "tool.result", "BC"),
    lacks(Kind::SubagentStart),
    lacks(Kind::SubagentStop),
    lacks(Kind::PreCompact),
    lacks(Kind::PostCompact),
    lacks(Kind::Notification),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "amp-plugins-only",
        versions: "documentation of 2026-09-19",
        behaviour: "there are no hook commands, only plugins in TypeScript",
        mitigation: "install writes a small plugin that calls anyhook",
        evidence: "docs",
    },
    Quirk {
        id: "amp-late-plugins",
        versions: "0.0.1790712063",
        behaviour: "`amp --execute` may start before its plugins are ready, and then works without them",
        mitigation: "start it with `--plugin-ready-timeout 30`; doctor shows when the last event was seen",
        evidence: "docs",
    },
    Quirk {
        id: "amp-allow",
        versions: "documentation of 2026-09-19",
        behaviour: "a plugin has to answer every call, and `allow` is the only word for no opinion; whether its own permission rules still apply then is not documented",
        mitigation: "none: `allow` is said where no hook has an opinion",
        evidence: "docs",
    },
    Quirk {
        id: "amp-no-prompt-block",
        versions: "documentation of 2026-09-19",
        behaviour: "a prompt cannot be blocked",
        mitigation: "the model is told the reason with the prompt, and the journal records that the block was lost",
        evidence: "docs",
    },
    Quirk {
        id: "amp-confirm",
        versions: "documentation of 2026-09-19",
        behaviour: "a plugin may have a person asked, which is an error where there is no screen",
        mitigation: "the call is rejected then",
        evidence: "docs",
    },
    Quirk {
        id: "amp-five-continuations",
        versions: "documentation of 2026-09-19",
        behaviour: "after five continuations in a row a stop is not held any more",
        mitigation: "anyhook lets it stop then, and the journal says so",
        evidence: "docs",
    },
];

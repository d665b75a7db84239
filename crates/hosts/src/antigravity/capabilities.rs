//! Antigravity CLI's capabilities, tools and quirks, according to its documentation.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "run_command",
        canonical: "Shell",
        renamed: &[("CommandLine", "command")],
        known: &["Cwd", "WaitMsBeforeAsync"],
        files: &[],
    },
    HostTool {
        native: "view_file",
        canonical: "ReadFile",
        renamed: &[("AbsolutePath", "path")],
        known: &[],
        files: &["path"],
    },
    HostTool {
        native: "write_to_file",
        canonical: "WriteFile",
        renamed: &[("TargetFile", "path"), ("CodeContent", "content")],
        known: &["Overwrite"],
        files: &["path"],
    },
    HostTool {
        native: "replace_file_content",
        canonical: "EditFile",
        renamed: &[("TargetFile", "path"), ("TargetContent", "old"), ("ReplacementContent", "new")],
        known: &["StartLine", "EndLine", "AllowMultiple"],
        files: &["path"],
    },
    HostTool {
        native: "multi_replace_file_content",
        canonical: "EditFile",
        renamed: &[("TargetFile", "path")],
        known: &["ReplacementChunks"],
        files: &["path"],
    },
    HostTool {
        native: "search_web",
        canonical: "SearchWeb",
        renamed: &[],
        known: &["query"],
        files: &[],
    },
    HostTool {
        native: "read_url_content",
        canonical: "FetchURL",
        renamed: &[("Url", "url")],
        known: &[],
        files: &[],
    },
];

/// Tools that are special forms of a canonical one.
pub const SPECIAL_TOOLS: &[&str] = &["multi_replace_file_content"];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[NativeTool { name: "list_dir", what: "lists a folder" }];

pub const CAPABILITIES: &[Capability] = &[
    lacks(Kind::SessionStart),
    lacks(Kind::SessionEnd),
    lacks(Kind::BeforeAgent),
    can(Kind::AfterAgent, "Stop", ""),
    can(Kind::BeforeStop, "Stop", "B"),
    can(Kind::AfterStop, "Stop", ""),
    can(Kind::BeforeTool, "PreToolUse", "BA"),
    can(Kind::AfterTool, "PostToolUse", ""),
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
        id: "antigravity-no-event-name",
        versions: "documentation of 1.1",
        behaviour: "payloads do not name their event",
        mitigation: "it is told from their fields",
        evidence: "docs",
    },
    Quirk {
        id: "antigravity-neutral",
        versions: "documentation of 1.1",
        behaviour: "a reply without a decision may block",
        mitigation: "no opinion is an empty decision",
        evidence: "docs",
    },
    Quirk {
        id: "antigravity-allow",
        versions: "1.1.2",
        behaviour: "allow does not keep it from asking the user",
        mitigation: "anyhook sends it, and the journal has the verdict",
        evidence: "docs",
    },
    Quirk {
        id: "antigravity-ask",
        versions: "1.1.2",
        behaviour: "ask is skipped where the user has always allowed a command; force_ask is not",
        mitigation: "an ask is force_ask",
        evidence: "docs",
    },
    Quirk {
        id: "antigravity-strict-file",
        versions: "1.1.25",
        behaviour: "one mistake in hooks.json, such as a comment, drops the whole file without a word",
        mitigation: "the entries are plain JSON with documented keys",
        evidence: "docs",
    },
];

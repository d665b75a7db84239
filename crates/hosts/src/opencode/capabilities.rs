//! OpenCode's capabilities, tools and quirks.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "bash",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "timeout", "workdir", "description"],
        files: &[],
    },
    HostTool {
        native: "read",
        canonical: "ReadFile",
        renamed: &[("filePath", "path")],
        known: &["offset", "limit"],
        files: &["path"],
    },
    HostTool {
        native: "write",
        canonical: "WriteFile",
        renamed: &[("filePath", "path")],
        known: &["content"],
        files: &["path"],
    },
    HostTool {
        native: "edit",
        canonical: "EditFile",
        renamed: &[("filePath", "path"), ("oldString", "old"), ("newString", "new")],
        known: &["replaceAll"],
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
        known: &["pattern", "path", "include"],
        files: &["path"],
    },
    HostTool {
        native: "webfetch",
        canonical: "FetchURL",
        renamed: &[],
        known: &["url", "format", "timeout"],
        files: &[],
    },
    HostTool {
        native: "websearch",
        canonical: "SearchWeb",
        renamed: &[],
        known: &["query"],
        files: &[],
    },
    HostTool {
        native: "task",
        canonical: "Subagent",
        renamed: &[],
        known: &["description", "prompt", "subagent_type"],
        files: &[],
    },
    HostTool {
        native: "todowrite",
        canonical: "Todo",
        renamed: &[],
        known: &["todos"],
        files: &[],
    },
];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[
    NativeTool { name: "apply_patch", what: "changes files; one event per file" },
    NativeTool { name: "invalid", what: "answers a call to a tool that does not exist" },
    NativeTool { name: "lsp", what: "queries a language server" },
    NativeTool { name: "plan_exit", what: "leaves plan mode" },
    NativeTool { name: "question", what: "asks the user a question" },
    NativeTool { name: "skill", what: "loads a skill" },
];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "session.created", ""),
    can(Kind::SessionEnd, "session.deleted", ""),
    can(Kind::BeforeAgent, "chat.message", "BC"),
    can(Kind::AfterAgent, "session.idle", ""),
    can(Kind::BeforeStop, "session.idle", "B"),
    can(Kind::AfterStop, "session.idle", ""),
    can(Kind::BeforeTool, "tool.execute.before", "BM"),
    can(Kind::AfterTool, "tool.execute.after", "BC"),
    can(Kind::AfterToolFailure, "message.part.updated", ""),
    can(Kind::SubagentStart, "session.created", ""),
    can(Kind::SubagentStop, "session.idle", ""),
    can(Kind::PreCompact, "experimental.session.compacting", "C"),
    can(Kind::PostCompact, "session.compacted", ""),
    can(Kind::Notification, "permission.asked", ""),
    can(Kind::PermissionRequest, "permission.asked", "BA"),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "opencode-plugin-only",
        versions: "1.18.33",
        behaviour: "there are no hook commands, only plugins in its own process",
        mitigation: "install writes a small plugin that calls anyhook",
        evidence: "run",
    },
    Quirk {
        id: "opencode-no-time-limit",
        versions: "1.18.33",
        behaviour: "a hook that hangs also hangs the agent",
        mitigation: "the plugin has a timeout, and anyhook answers before it",
        evidence: "run",
    },
    Quirk {
        id: "opencode-no-stop-gate",
        versions: "1.18.33",
        behaviour: "the end of a turn is only reported, and `opencode run` exits there",
        mitigation: "anyhook sends the agent a follow-up prompt with the reason; the plugin keeps `opencode run` alive until that is done, although its output does not show it",
        evidence: "run",
    },
    Quirk {
        id: "opencode-no-ask",
        versions: "1.18.33",
        behaviour: "permission.ask exists in the types but is never called",
        mitigation: "an ask becomes a deny that explains how to approve (ask_fallback in anyhook.toml)",
        evidence: "run",
    },
    Quirk {
        id: "opencode-dialog-beside-hook",
        versions: "1.18.33",
        behaviour: "permission and question dialogs stay open while the plugin waits for an answer from elsewhere, and the first answer wins; `opencode run` rejects permissions immediately",
        mitigation: "the plugin answers through OpenCode's own API, and stops waiting once the user answers on the screen",
        evidence: "run",
    },
    Quirk {
        id: "opencode-failure-is-success",
        versions: "1.18.33",
        behaviour: "a shell command that exits with 3 counts as a success",
        mitigation: "anyhook turns it into after_tool_failure by its exit code",
        evidence: "run",
    },
    Quirk {
        id: "opencode-no-after-on-error",
        versions: "1.18.33",
        behaviour: "tool.execute.after is not called when a tool fails",
        mitigation: "anyhook takes the failure from message.part.updated, unless it denied the call",
        evidence: "run",
    },
    Quirk {
        id: "opencode-pure",
        versions: "1.18.33",
        behaviour: "`--pure` and OPENCODE_DISABLE_PROJECT_CONFIG=1 disable plugins silently",
        mitigation: "none: doctor shows when the last event was seen",
        evidence: "run",
    },
    Quirk {
        id: "opencode-no-injection",
        versions: "1.18.33",
        behaviour: "it has no command hooks, only plugins",
        mitigation: "anyhook injects no notification hooks; `anyhook install` adds them",
        evidence: "docs",
    },
];

//! What Claude Code can do, its tools and its quirks.

use anyhook_model::EventKind;

use crate::facts::{Capability, Quirk, can};
use crate::tool::Tool;

pub const TOOLS: &[Tool] = &[
    Tool {
        native: "Bash",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "timeout", "description", "run_in_background"],
        files: &[],
    },
    Tool {
        native: "Read",
        canonical: "ReadFile",
        renamed: &[("file_path", "path")],
        known: &["offset", "limit", "pages"],
        files: &["path"],
    },
    Tool {
        native: "Write",
        canonical: "WriteFile",
        renamed: &[("file_path", "path")],
        known: &["content"],
        files: &["path"],
    },
    Tool {
        native: "Edit",
        canonical: "EditFile",
        renamed: &[("file_path", "path"), ("old_string", "old"), ("new_string", "new")],
        known: &["replace_all"],
        files: &["path"],
    },
    Tool {
        native: "MultiEdit",
        canonical: "EditFile",
        renamed: &[("file_path", "path")],
        known: &["edits"],
        files: &["path"],
    },
    Tool {
        native: "NotebookEdit",
        canonical: "EditFile",
        renamed: &[("notebook_path", "path"), ("new_source", "new")],
        known: &["cell_id", "cell_type", "edit_mode"],
        files: &["path"],
    },
    Tool {
        native: "Glob",
        canonical: "Glob",
        renamed: &[],
        known: &["pattern", "path"],
        files: &[],
    },
    Tool {
        native: "Grep",
        canonical: "Grep",
        renamed: &[],
        known: &[
            "pattern",
            "path",
            "glob",
            "type",
            "output_mode",
            "-A",
            "-B",
            "-C",
            "-i",
            "-n",
            "multiline",
            "head_limit",
        ],
        files: &[],
    },
    Tool {
        native: "WebFetch",
        canonical: "FetchURL",
        renamed: &[],
        known: &["url", "prompt"],
        files: &[],
    },
    Tool {
        native: "WebSearch",
        canonical: "SearchWeb",
        renamed: &[],
        known: &["query", "allowed_domains", "blocked_domains"],
        files: &[],
    },
    Tool {
        native: "Agent",
        canonical: "Subagent",
        renamed: &[],
        known: &["description", "prompt", "subagent_type", "model", "run_in_background"],
        files: &[],
    },
    Tool {
        native: "Task",
        canonical: "Subagent",
        renamed: &[],
        known: &["description", "prompt", "subagent_type"],
        files: &[],
    },
    Tool { native: "TodoWrite", canonical: "Todo", renamed: &[], known: &["todos"], files: &[] },
    Tool {
        native: "TaskCreate",
        canonical: "Todo",
        renamed: &[],
        known: &["subject", "description"],
        files: &[],
    },
    Tool {
        native: "TaskUpdate",
        canonical: "Todo",
        renamed: &[],
        known: &["taskId", "status"],
        files: &[],
    },
];

pub fn capabilities() -> Vec<Capability> {
    use EventKind as Kind;
    vec![
        can(Kind::SessionStart, "SessionStart", "C"),
        can(Kind::SessionEnd, "SessionEnd", ""),
        can(Kind::BeforeAgent, "UserPromptSubmit", "BC"),
        can(Kind::AfterAgent, "Stop", ""),
        can(Kind::BeforeStop, "Stop", "B"),
        can(Kind::AfterStop, "Stop", ""),
        can(Kind::BeforeTool, "PreToolUse", "BMCA"),
        can(Kind::AfterTool, "PostToolUse", "BC"),
        can(Kind::AfterToolFailure, "PostToolUseFailure", "BC"),
        can(Kind::SubagentStart, "SubagentStart", "C"),
        can(Kind::SubagentStop, "SubagentStop", "B"),
        can(Kind::PreCompact, "PreCompact", "B"),
        can(Kind::PostCompact, "PostCompact", ""),
        can(Kind::Notification, "Notification", ""),
        can(Kind::PermissionRequest, "PermissionRequest", "BMA"),
    ]
}

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "claude-fail-open",
        versions: "2.1.325",
        behaviour: "a hook that cannot start, times out, exits 1 or prints broken JSON lets the tool run",
        mitigation: "the entry says onFailure: block, and anyhook answers before the host's own time limit",
        evidence: "run",
    },
    Quirk {
        id: "claude-text-before-json",
        versions: "2.1.325",
        behaviour: "a log line before the JSON makes it plain text, and a deny in it is lost",
        mitigation: "anyhook prints one JSON object or nothing, never a hook's raw output",
        evidence: "run",
    },
    Quirk {
        id: "claude-last-rewrite-wins",
        versions: "2.1.325",
        behaviour: "hooks run side by side, and of two changed inputs the last to finish wins",
        mitigation: "one entry an event; anyhook runs hooks in order and chains their changes",
        evidence: "run",
    },
    Quirk {
        id: "claude-continue-false",
        versions: "2.1.325",
        behaviour: "continue: false at PreToolUse lets the tool run and then ends the turn",
        mitigation: "never sent",
        evidence: "run",
    },
    Quirk {
        id: "claude-stop-context",
        versions: "2.1.325",
        behaviour: "additionalContext at Stop keeps the agent from stopping",
        mitigation: "context at a stop goes to the person as a message",
        evidence: "run",
    },
    Quirk {
        id: "claude-stop-cap",
        versions: "2.1.325",
        behaviour: "after eight or nine blocked stops in a row the host ends the turn itself",
        mitigation: "anyhook stops blocking at eight and says so in the journal",
        evidence: "run",
    },
    Quirk {
        id: "claude-cwd-moves",
        versions: "2.1.325",
        behaviour: "hooks run in the folder the shell has changed to",
        mitigation: "the project root is CLAUDE_PROJECT_DIR, pinned for the session",
        evidence: "run",
    },
    Quirk {
        id: "claude-ask-headless",
        versions: "2.1.325",
        behaviour: "in print mode `ask` is a denial with the reason",
        mitigation: "the reason says what was asked for",
        evidence: "run",
    },
];

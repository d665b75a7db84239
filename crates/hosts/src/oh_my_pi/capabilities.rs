//! oh-my-pi's capabilities, tools and quirks.
//!
//! Any tool's input may also have a field `i`: a sentence about what the model intends.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "bash",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "cwd", "env", "timeout", "pty", "async", "i"],
        files: &[],
    },
    HostTool {
        native: "eval",
        canonical: "Shell",
        renamed: &[("code", "command")],
        known: &["language", "title", "timeout", "reset", "i"],
        files: &[],
    },
    HostTool {
        native: "read",
        canonical: "ReadFile",
        renamed: &[],
        known: &["path", "i"],
        files: &["path"],
    },
    HostTool {
        native: "write",
        canonical: "WriteFile",
        renamed: &[],
        known: &["path", "content", "i"],
        files: &["path"],
    },
    // Its usual form is a patch; with some models it has fields.
    HostTool {
        native: "edit",
        canonical: "EditFile",
        renamed: &[("old_string", "old"), ("new_string", "new")],
        known: &["path", "replace_all", "edits", "input", "i"],
        files: &["path"],
    },
    HostTool {
        native: "glob",
        canonical: "Glob",
        renamed: &[],
        known: &["path", "hidden", "gitignore", "limit", "i"],
        files: &["path"],
    },
    HostTool {
        native: "grep",
        canonical: "Grep",
        renamed: &[],
        known: &["pattern", "path", "case", "gitignore", "skip", "i"],
        files: &["path"],
    },
    HostTool {
        native: "web_search",
        canonical: "SearchWeb",
        renamed: &[],
        known: &["query", "recency", "limit", "max_tokens", "i"],
        files: &[],
    },
    HostTool {
        native: "task",
        canonical: "Subagent",
        renamed: &[],
        known: &["context", "tasks", "i"],
        files: &[],
    },
    HostTool {
        native: "todo",
        canonical: "Todo",
        renamed: &[],
        known: &["op", "list", "task", "phase", "items", "reason", "i"],
        files: &[],
    },
];

/// Tools that are special forms of a canonical one.
pub const SPECIAL_TOOLS: &[&str] = &["eval"];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[
    NativeTool { name: "ask", what: "asks the user a question" },
    NativeTool {
        name: "hub",
        what: "messages agents and starts processes, which are also `Shell`",
    },
    NativeTool { name: "yield", what: "ends a subagent with its result" },
];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "session_start", "C"),
    can(Kind::SessionEnd, "session_shutdown", ""),
    can(Kind::BeforeAgent, "before_agent_start", "BC"),
    can(Kind::AfterAgent, "session_stop", ""),
    can(Kind::BeforeStop, "session_stop", "B"),
    can(Kind::AfterStop, "session_stop", ""),
    can(Kind::BeforeTool, "tool_call", "BMC"),
    can(Kind::AfterTool, "tool_result", "BC"),
    can(Kind::AfterToolFailure, "tool_result", "BC"),
    can(Kind::SubagentStart, "session_start", ""),
    can(Kind::SubagentStop, "session_shutdown", ""),
    can(Kind::PreCompact, "session_before_compact", ""),
    can(Kind::PostCompact, "session_compact", ""),
    can(Kind::Notification, "tool_approval_requested", ""),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "omp-extension-only",
        versions: "18.2.3",
        behaviour: "there are no hook commands, only extensions in its own process",
        mitigation: "install writes a small extension that calls anyhook",
        evidence: "run",
    },
    Quirk {
        id: "omp-project-replaces-user",
        versions: "18.2.3",
        behaviour: "a project's extension replaces the user's extension of the same name, without asking for trust",
        mitigation: "the name of the user's extension contains a hash of the home folder, which a project cannot know in advance; doctor, hosts and install report a project's extension of that name",
        evidence: "run",
    },
    Quirk {
        id: "omp-disabled-extensions",
        versions: "18.2.3",
        behaviour: "`disabledExtensions` in its settings disables an extension by its name",
        mitigation: "doctor, hosts and install report it if it names our extension",
        evidence: "source",
    },
    Quirk {
        id: "omp-time-limit",
        versions: "18.2.3",
        behaviour: "it waits for an extension for 30 seconds, then blocks a tool call and ignores any other answer; at the end of a session it waits for 2 seconds",
        mitigation: "anyhook answers before that: hooks that take longer fail, and on_failure decides",
        evidence: "run",
    },
    Quirk {
        id: "omp-fail-open",
        versions: "18.2.3",
        behaviour: "an extension that cannot be loaded leaves one line on standard error, and the agent continues without it",
        mitigation: "our extension does nothing while it is loaded but register for events; doctor shows when the last event was seen",
        evidence: "run",
    },
    Quirk {
        id: "omp-claudecode",
        versions: "18.2.3",
        behaviour: "it sets CLAUDECODE=1 for the commands that it runs",
        mitigation: "CLAUDECODE means Claude Code only if no other agent's variable is set",
        evidence: "run",
    },
    Quirk {
        id: "omp-input-on-screen",
        versions: "18.2.3",
        behaviour: "input is reported on its screen only; a prompt on the command line is reported when the agent starts",
        mitigation: "our extension uses both, and asks once for each prompt; a blocked prompt on the command line aborts the run with exit code 0",
        evidence: "run",
    },
    Quirk {
        id: "omp-own-patches",
        versions: "18.2.3",
        behaviour: "edit takes a patch in a format of its own, which may touch several files",
        mitigation: "anyhook makes one event for each file; such a patch can be denied but not rewritten",
        evidence: "run",
    },
    Quirk {
        id: "omp-hub-starts-programs",
        versions: "18.2.3",
        behaviour: "hub starts programs without a shell",
        mitigation: "such a call is also `Shell`, with the program and its arguments as the command",
        evidence: "source",
    },
    Quirk {
        id: "omp-eval",
        versions: "18.2.3",
        behaviour: "eval runs JavaScript and Python code",
        mitigation: "it is `Shell`, with the code as the command; what the code does is visible only in its text",
        evidence: "run",
    },
    Quirk {
        id: "omp-no-ask",
        versions: "18.2.3",
        behaviour: "an extension cannot have its own approval dialog shown",
        mitigation: "an ask becomes a deny that explains how to approve (ask_fallback in anyhook.toml)",
        evidence: "run",
    },
    Quirk {
        id: "omp-no-context-before-tool",
        versions: "18.2.3",
        behaviour: "tool_call has no way to tell the model something without blocking the call",
        mitigation: "context is told with the call's result",
        evidence: "run",
    },
    Quirk {
        id: "omp-mcp-names",
        versions: "18.2.3",
        behaviour: "an MCP tool is called mcp__SERVER_TOOL, with a single underscore between server and tool",
        mitigation: "the server's name is taken to end at the first underscore",
        evidence: "run",
    },
    Quirk {
        id: "omp-no-extensions",
        versions: "18.2.3",
        behaviour: "`--no-extensions` disables our extension silently",
        mitigation: "none: doctor shows when the last event was seen",
        evidence: "run",
    },
];

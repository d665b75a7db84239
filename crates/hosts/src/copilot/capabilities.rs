//! Copilot CLI's capabilities, tools and quirks.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

const SHELL_FIELDS: &[&str] =
    &["command", "description", "shellId", "mode", "detach", "initial_wait"];
const READ_FIELDS: &[&str] = &["path", "view_range", "forceReadLargeFiles"];
const GREP_FIELDS: &[&str] = &[
    "pattern",
    "paths",
    "path",
    "output_mode",
    "glob",
    "type",
    "-i",
    "-A",
    "-B",
    "-C",
    "-n",
    "head_limit",
    "multiline",
];
const FETCH_FIELDS: &[&str] = &["url", "max_length", "start_index", "raw"];
const AGENT_FIELDS: &[&str] = &[
    "description",
    "prompt",
    "agent_type",
    "name",
    "model",
    "reasoning_effort",
    "context_tier",
    "mode",
];

const fn tool(
    native: &'static str,
    canonical: &'static str,
    renamed: &'static [(&'static str, &'static str)],
    known: &'static [&'static str],
    files: &'static [&'static str],
) -> HostTool {
    HostTool { native, canonical, renamed, known, files }
}

const EDIT: &[(&str, &str)] = &[("old_str", "old"), ("new_str", "new")];
const WRITE: &[(&str, &str)] = &[("file_text", "content")];

/// Each tool has a name in both dialects.
pub const TOOLS: &[HostTool] = &[
    tool("Bash", "Shell", &[], SHELL_FIELDS, &[]),
    tool("bash", "Shell", &[], SHELL_FIELDS, &[]),
    tool("PowerShell", "Shell", &[], SHELL_FIELDS, &[]),
    tool("powershell", "Shell", &[], SHELL_FIELDS, &[]),
    tool("Read", "ReadFile", &[], READ_FIELDS, &["path"]),
    tool("view", "ReadFile", &[], READ_FIELDS, &["path"]),
    tool("Write", "WriteFile", WRITE, &["path"], &["path"]),
    tool("create", "WriteFile", WRITE, &["path"], &["path"]),
    tool("Edit", "EditFile", EDIT, &["path"], &["path"]),
    tool("edit", "EditFile", EDIT, &["path"], &["path"]),
    tool("Grep", "Grep", &[], GREP_FIELDS, &["path"]),
    tool("grep", "Grep", &[], GREP_FIELDS, &["path"]),
    tool("rg", "Grep", &[], GREP_FIELDS, &["path"]),
    tool("Glob", "Glob", &[], &["pattern", "paths", "path"], &["path"]),
    tool("glob", "Glob", &[], &["pattern", "paths", "path"], &["path"]),
    tool("WebFetch", "FetchURL", &[], FETCH_FIELDS, &[]),
    tool("web_fetch", "FetchURL", &[], FETCH_FIELDS, &[]),
    tool("WebSearch", "SearchWeb", &[], &["query"], &[]),
    tool("web_search", "SearchWeb", &[], &["query"], &[]),
    tool("Agent", "Subagent", &[], AGENT_FIELDS, &[]),
    tool("task", "Subagent", &[], AGENT_FIELDS, &[]),
    tool("TodoWrite", "Todo", &[], &["todos"], &[]),
    tool("update_todo", "Todo", &[], &["todos"], &[]),
];

/// Tools that are special forms of a canonical one.
pub const SPECIAL_TOOLS: &[&str] = &["PowerShell", "powershell", "rg"];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[
    NativeTool { name: "AskUserQuestion", what: "asks the user a question" },
    NativeTool { name: "apply_patch", what: "changes files; one event per file" },
    NativeTool { name: "ask_user", what: "asks the user a question" },
    NativeTool { name: "fetch_copilot_cli_documentation", what: "reads its own documentation" },
    NativeTool { name: "list_agents", what: "lists subagents" },
    NativeTool { name: "list_bash", what: "lists background commands" },
    NativeTool { name: "read_agent", what: "reads a subagent's result" },
    NativeTool { name: "read_bash", what: "reads a background command's output" },
    NativeTool { name: "session_store_sql", what: "queries its record of sessions" },
    NativeTool { name: "skill", what: "loads a skill" },
    NativeTool { name: "sql", what: "queries the session's own database" },
    NativeTool { name: "stop_bash", what: "stops a background command" },
    NativeTool { name: "write_agent", what: "messages a subagent" },
];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "SessionStart", "C"),
    can(Kind::SessionEnd, "SessionEnd", ""),
    can(Kind::BeforeAgent, "UserPromptSubmit", "BC"),
    can(Kind::AfterAgent, "Stop", ""),
    can(Kind::BeforeStop, "Stop", "B"),
    can(Kind::AfterStop, "Stop", ""),
    can(Kind::BeforeTool, "PreToolUse", "BMCA"),
    can(Kind::AfterTool, "PostToolUse", "BC"),
    can(Kind::AfterToolFailure, "PostToolUseFailure", "C"),
    can(Kind::SubagentStart, "SubagentStart", "C"),
    can(Kind::SubagentStop, "SubagentStop", "B"),
    can(Kind::PreCompact, "PreCompact", ""),
    lacks(Kind::PostCompact),
    can(Kind::Notification, "Notification", ""),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "copilot-two-dialects",
        versions: "1.0.102",
        behaviour: "an event named `preToolUse` in its settings has payloads in camelCase that do not name their event and reads only fields at the top of a reply; one named `PreToolUse` has payloads as Claude Code has them and also reads `hookSpecificOutput`",
        mitigation: "entries have the second spelling, replies have fields at the top, and both payloads are decoded",
        evidence: "run",
    },
    Quirk {
        id: "copilot-exit-codes",
        versions: "1.0.102",
        behaviour: "before a tool, every exit code but 0 denies the call, and standard error is not passed on; at every other event, exit 2 blocks nothing",
        mitigation: "a deny is JSON with exit 2; other blocks are JSON; without a guard, a call that anyhook did not answer ends with exit 0",
        evidence: "run",
    },
    Quirk {
        id: "copilot-timeout-fails-open",
        versions: "1.0.102",
        behaviour: "a hook that exceeds its time limit is ended with SIGTERM, and the tool runs",
        mitigation: "anyhook answers before the host's own limit",
        evidence: "run",
    },
    Quirk {
        id: "copilot-edit-is-patch",
        versions: "1.0.102",
        behaviour: "with models such as gpt-5-codex, `apply_patch` is called `Edit`, and its input is a text",
        mitigation: "an `Edit` with a text is decoded as `apply_patch`: one event per file",
        evidence: "run",
    },
    Quirk {
        id: "copilot-runs-claude-hooks",
        versions: "1.0.102",
        behaviour: "in a trusted folder it also runs the hooks in the project's .claude/settings.json and .claude/settings.local.json, but not those in the user's",
        mitigation: "it sets COPILOT_PROJECT_DIR for them, by which they are recognised",
        evidence: "run",
    },
    Quirk {
        id: "copilot-permission-always",
        versions: "1.0.102",
        behaviour: "PermissionRequest fires before every shell command, also with --allow-all-tools",
        mitigation: "anyhook is not installed there; a hook at before_tool can allow and deny the same calls, and the notification permission_prompt says that the user is asked",
        evidence: "run",
    },
    Quirk {
        id: "copilot-subagent-events",
        versions: "1.0.102",
        behaviour: "a subagent has a session of its own, UserPromptSubmit fires for its task, and Stop for its end, where a block has no effect",
        mitigation: "its events belong to the parent's session; its task is not before_agent, and its end is subagent_stop alone",
        evidence: "run",
    },
    Quirk {
        id: "copilot-retry-is-a-prompt",
        versions: "1.0.102",
        behaviour: "a blocked stop comes back as a new prompt containing anyhook's reason",
        mitigation: "a prompt that ends with anyhook's marker is a continuation, not before_agent",
        evidence: "run",
    },
    Quirk {
        id: "copilot-stop-cap",
        versions: "1.0.102",
        behaviour: "after eight blocked stops in a row the host ends the turn itself",
        mitigation: "anyhook stops blocking at eight and notes it in the journal",
        evidence: "docs",
    },
    Quirk {
        id: "copilot-failed-command",
        versions: "1.0.102",
        behaviour: "a failed shell command is reported as PostToolUse with the exit code in the last line of the result",
        mitigation: "it becomes after_tool_failure",
        evidence: "run",
    },
    Quirk {
        id: "copilot-block-without-context",
        versions: "1.0.102",
        behaviour: "of a block after a tool with context, only the block is read",
        mitigation: "the context is part of the reason",
        evidence: "run",
    },
    Quirk {
        id: "copilot-ask-headless",
        versions: "1.0.102",
        behaviour: "with -p, `ask` is a denial with the reason",
        mitigation: "the reason says what was asked for",
        evidence: "run",
    },
    Quirk {
        id: "copilot-no-message",
        versions: "1.0.102",
        behaviour: "systemMessage of a hook is shown to nobody",
        mitigation: "warnings go to the model",
        evidence: "run",
    },
    Quirk {
        id: "copilot-mcp-names",
        versions: "1.0.102",
        behaviour: "an MCP tool is called SERVER-TOOL, and both may contain a dash",
        mitigation: "except for its own github-mcp-server, the server is taken to end at the first dash: with others, match `mcp.tool` with a wildcard",
        evidence: "run",
    },
    Quirk {
        id: "copilot-plain-json",
        versions: "1.0.102",
        behaviour: "a file of hooks with comments is ignored; only the log says so",
        mitigation: "doctor, hosts and install report it",
        evidence: "run",
    },
    Quirk {
        id: "copilot-project-switch",
        versions: "1.0.102",
        behaviour: "disableAllHooks in a trusted project's settings, also in .claude/settings.json, also disables the user's hooks",
        mitigation: "doctor, hosts and install read the project's settings and report it",
        evidence: "run",
    },
    Quirk {
        id: "copilot-project-trust",
        versions: "1.0.102",
        behaviour: "hooks in .github/hooks run only in a folder that the user trusts, with -p only if it was trusted before or with --trust-folder",
        mitigation: "doctor, hosts and install read trustedFolders and report it",
        evidence: "run",
    },
];

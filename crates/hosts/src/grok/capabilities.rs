//! Grok's capabilities, tools and quirks.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "run_terminal_command",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "description", "timeout", "background"],
        files: &[],
    },
    HostTool {
        native: "monitor",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "description", "timeout_ms", "persistent"],
        files: &[],
    },
    HostTool {
        native: "read_file",
        canonical: "ReadFile",
        renamed: &[("target_file", "path")],
        known: &["offset", "limit", "pages", "format"],
        files: &["path"],
    },
    HostTool {
        native: "write",
        canonical: "WriteFile",
        renamed: &[("file_path", "path")],
        known: &["content"],
        files: &["path"],
    },
    HostTool {
        native: "search_replace",
        canonical: "EditFile",
        renamed: &[("file_path", "path"), ("old_string", "old"), ("new_string", "new")],
        known: &["replace_all"],
        files: &["path"],
    },
    HostTool {
        native: "grep",
        canonical: "Grep",
        renamed: &[],
        known: &["pattern", "path", "glob", "type", "-A", "-B", "-C", "-i", "head_limit"],
        files: &["path"],
    },
    HostTool {
        native: "web_search",
        canonical: "SearchWeb",
        renamed: &[],
        known: &["query"],
        files: &[],
    },
    HostTool {
        native: "web_fetch",
        canonical: "FetchURL",
        renamed: &[],
        known: &["url"],
        files: &[],
    },
    HostTool {
        native: "spawn_subagent",
        canonical: "Subagent",
        renamed: &[],
        known: &["prompt", "description", "background", "isolation", "resume_from", "cwd", "model"],
        files: &[],
    },
    HostTool {
        native: "todo_write",
        canonical: "Todo",
        renamed: &[],
        known: &["todos", "merge"],
        files: &[],
    },
];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[
    NativeTool { name: "ask_user_question", what: "asks the user a question" },
    NativeTool { name: "enter_plan_mode", what: "enters plan mode" },
    NativeTool { name: "exit_plan_mode", what: "presents the plan for approval" },
    NativeTool {
        name: "get_command_or_subagent_output",
        what: "reads what a background command or subagent wrote",
    },
    NativeTool { name: "image_edit", what: "edits an image" },
    NativeTool { name: "image_gen", what: "makes an image" },
    NativeTool { name: "image_to_video", what: "makes a video of an image" },
    NativeTool { name: "kill_command_or_subagent", what: "stops a background command or subagent" },
    NativeTool { name: "list_dir", what: "lists a folder" },
    NativeTool { name: "reference_to_video", what: "makes a video of reference images" },
    NativeTool { name: "scheduler_create", what: "schedules a prompt" },
    NativeTool { name: "scheduler_delete", what: "cancels a scheduled prompt" },
    NativeTool { name: "scheduler_list", what: "lists scheduled prompts" },
    NativeTool { name: "search_tool", what: "searches the tools of MCP servers" },
    NativeTool { name: "send_feedback", what: "sends feedback to the vendor" },
    NativeTool {
        name: "use_tool",
        what: "calls a tool of an MCP server; hooks see that tool's name",
    },
    NativeTool { name: "workflow", what: "runs subagents from a script; hooks see their calls" },
];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "SessionStart", ""),
    can(Kind::SessionEnd, "SessionEnd", ""),
    can(Kind::BeforeAgent, "UserPromptSubmit", "B"),
    can(Kind::AfterAgent, "Stop", ""),
    can(Kind::BeforeStop, "Stop", "B"),
    can(Kind::AfterStop, "Stop", ""),
    can(Kind::BeforeTool, "PreToolUse", "BMC"),
    can(Kind::AfterTool, "PostToolUse", "BC"),
    can(Kind::AfterToolFailure, "PostToolUseFailure", "C"),
    can(Kind::SubagentStart, "SubagentStart", ""),
    can(Kind::SubagentStop, "SubagentStop", "B"),
    can(Kind::PreCompact, "PreCompact", ""),
    can(Kind::PostCompact, "PostCompact", ""),
    can(Kind::Notification, "Notification", ""),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "grok-fail-open",
        versions: "1.0.41",
        behaviour: "a hook that cannot start, times out (after five seconds at most events, unless its entry says otherwise), exits 1 or prints broken JSON lets the tool run",
        mitigation: "the entries name a limit of ten minutes, anyhook answers before it, and at tool calls the entry blocks a call that was not answered if a guard that blocks on failure is installed",
        evidence: "run",
    },
    Quirk {
        id: "grok-runs-claude-hooks",
        versions: "1.0.41",
        behaviour: "it also runs the hooks in Claude Code's settings, with payloads and tool names of its own; GROK_CLAUDE_HOOKS_ENABLED=0 disables that",
        mitigation: "recognised by GROK_HOOK_EVENT and hookEventName: handled as a call of Grok, and dropped if its own entry calls as well",
        evidence: "run",
    },
    Quirk {
        id: "grok-expands-variables",
        versions: "1.0.41",
        behaviour: "names after a dollar sign in a hook's command are replaced when it is loaded, and a hook with one that is not set does not run",
        mitigation: "anyhook's entries in every agent's settings contain no named variable",
        evidence: "run",
    },
    Quirk {
        id: "grok-project-trust",
        versions: "1.0.41",
        behaviour: "hooks in a project's settings are skipped silently until the folder is trusted (--trust, /hooks-trust)",
        mitigation: "install in the user's settings, which is the default",
        evidence: "run",
    },
    Quirk {
        id: "grok-ask-is-approved",
        versions: "1.0.41",
        behaviour: "with --always-approve an `ask` is approved without a question, and without it, in print mode, the turn ends silently",
        mitigation: "an ask becomes a denial with instructions, or waits for a person (anyhook decision)",
        evidence: "run",
    },
    Quirk {
        id: "grok-changed-input-checked",
        versions: "1.0.41",
        behaviour: "a changed input that does not fit the tool's schema is a denial; it replaces the whole input",
        mitigation: "a change is merged into the input that the agent sent",
        evidence: "run",
    },
    Quirk {
        id: "grok-no-context-at-start",
        versions: "1.0.41",
        behaviour: "output and context at SessionStart and UserPromptSubmit are dropped",
        mitigation: "recorded as lost",
        evidence: "run",
    },
    Quirk {
        id: "grok-second-stop",
        versions: "1.0.41",
        behaviour: "a second Stop fires at the end of the session, and nothing can be held back there",
        mitigation: "it is not a before_stop event",
        evidence: "run",
    },
    Quirk {
        id: "grok-stop-cap",
        versions: "1.0.41",
        behaviour: "after eight blocked stops in a turn the host ends the turn itself; context at a stop keeps it going, too",
        mitigation: "anyhook stops blocking at eight and notes it in the journal; context at a stop is recorded as lost",
        evidence: "run",
    },
    Quirk {
        id: "grok-mcp-is-wrapped",
        versions: "1.0.41",
        behaviour: "a call of an MCP tool has the name SERVER__TOOL, and its arguments are one level down",
        mitigation: "decoded as any MCP call; a changed input is wrapped again",
        evidence: "run",
    },
    Quirk {
        id: "grok-invalid-call-untold",
        versions: "1.0.41",
        behaviour: "a call with invalid arguments or of an unknown tool fires no hook",
        mitigation: "none needed: it does not run",
        evidence: "run",
    },
    Quirk {
        id: "grok-subagent-session",
        versions: "1.0.41",
        behaviour: "a subagent has a session of its own without a SessionStart, and its prompt fires UserPromptSubmit, where it cannot be blocked",
        mitigation: "the prompt of a subagent is not a before_agent event",
        evidence: "run",
    },
];

//! The names that agents have for themselves, for their tools and for their events.
//!
//! Made by `cargo xtask generate` from the folders in `crates/hosts`; changes here are lost.

use crate::kind::EventKind;

/// Agents' own names of a tool, and whose they are.
pub(crate) struct ToolNames {
    /// Of the whole tool.
    pub whole: &'static [(&'static str, &'static str)],
    /// Of special forms of it.
    pub special: &'static [(&'static str, &'static str)],
}

/// Names of hosts that a hook's `hosts` may list.
pub const HOST_IDS: [&str; 16] = [
    "agent-hooks",
    "amp",
    "claude-code",
    "cline",
    "codex",
    "copilot",
    "crush",
    "cursor",
    "droid",
    "gemini-cli",
    "kimi-cli",
    "kimi-code",
    "kiro",
    "opencode",
    "qwen-code",
    "vscode",
];

/// Other names of hosts, and the ids they stand for.
pub(crate) const HOST_NAMES: [(&str, &[&str]); 12] = [
    ("claude", &["claude-code"]),
    ("codex-cli", &["codex"]),
    ("gemini", &["gemini-cli"]),
    ("kiro-cli", &["kiro"]),
    ("code", &["vscode"]),
    ("cursor-agent", &["cursor"]),
    ("copilot-cli", &["copilot"]),
    ("github-copilot", &["copilot"]),
    ("github-copilot-cli", &["copilot"]),
    ("qwen", &["qwen-code"]),
    ("kimi", &["kimi-cli", "kimi-code"]),
    ("factory-droid", &["droid"]),
];

/// `Shell`.
pub(crate) const SHELL: ToolNames = ToolNames {
    whole: &[
        ("Bash", "Claude Code and Codex"),
        ("exec_command", "Codex"),
        ("shell_command", "Codex"),
        ("shell", "Codex"),
        ("local_shell", "Codex"),
        ("run_shell_command", "Gemini CLI"),
        ("bash", "OpenCode"),
    ],
    special: &[("Monitor", "Claude Code"), ("PowerShell", "Claude Code"), ("REPL", "Claude Code")],
};

/// `ReadFile`.
pub(crate) const READ_FILE: ToolNames = ToolNames {
    whole: &[("Read", "Claude Code"), ("read_file", "Gemini CLI"), ("read", "OpenCode")],
    special: &[("view_image", "Codex")],
};

/// `WriteFile`.
pub(crate) const WRITE_FILE: ToolNames = ToolNames {
    whole: &[("Write", "Claude Code"), ("write_file", "Gemini CLI"), ("write", "OpenCode")],
    special: &[],
};

/// `EditFile`.
pub(crate) const EDIT_FILE: ToolNames = ToolNames {
    whole: &[("Edit", "Claude Code"), ("replace", "Gemini CLI"), ("edit", "OpenCode")],
    special: &[("MultiEdit", "Claude Code"), ("NotebookEdit", "Claude Code")],
};

/// `Glob`.
pub(crate) const GLOB: ToolNames = ToolNames {
    whole: &[("Glob", "Claude Code"), ("glob", "Gemini CLI and OpenCode")],
    special: &[],
};

/// `Grep`.
pub(crate) const GREP: ToolNames = ToolNames {
    whole: &[("Grep", "Claude Code"), ("grep_search", "Gemini CLI"), ("grep", "OpenCode")],
    special: &[],
};

/// `FetchURL`.
pub(crate) const FETCH_URL: ToolNames = ToolNames {
    whole: &[("WebFetch", "Claude Code"), ("web_fetch", "Gemini CLI"), ("webfetch", "OpenCode")],
    special: &[],
};

/// `SearchWeb`.
pub(crate) const SEARCH_WEB: ToolNames = ToolNames {
    whole: &[
        ("WebSearch", "Claude Code"),
        ("web_search", "Codex"),
        ("google_web_search", "Gemini CLI"),
        ("websearch", "OpenCode"),
    ],
    special: &[],
};

/// `Subagent`.
pub(crate) const SUBAGENT: ToolNames = ToolNames {
    whole: &[
        ("Agent", "Claude Code"),
        ("Task", "Claude Code"),
        ("spawn_agent", "Codex"),
        ("invoke_agent", "Gemini CLI"),
        ("task", "OpenCode"),
    ],
    special: &[],
};

/// `Todo`.
pub(crate) const TODO: ToolNames = ToolNames {
    whole: &[
        ("TodoWrite", "Claude Code"),
        ("update_plan", "Codex"),
        ("write_todos", "Gemini CLI"),
        ("todowrite", "OpenCode"),
    ],
    special: &[("TaskCreate", "Claude Code"), ("TaskUpdate", "Claude Code")],
};

/// Every spelling of the field that names a tool's file, the canonical one first.
pub(crate) const FILE_FIELDS: &[&str] = &["path", "file_path", "filePath", "notebook_path"];

/// The same for a folder that is searched.
pub(crate) const FOLDER_FIELDS: &[&str] = &["path", "dir_path"];

/// Tools that are none of the canonical ones.
pub const OTHER_TOOLS: &[&str] = &[
    "AskUserQuestion",
    "CronCreate",
    "CronDelete",
    "CronList",
    "DeferredToolPlaceholder",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "KillShell",
    "LSP",
    "ListAgents",
    "ListMcpResourcesTool",
    "PushNotification",
    "ReadMcpResourceTool",
    "RemoteTrigger",
    "ReportFindings",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "SlashCommand",
    "StructuredOutput",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "ToolSearch",
    "Workflow",
    "activate_skill",
    "apply_patch",
    "ask_user",
    "close_agent",
    "complete_task",
    "create_goal",
    "enter_plan_mode",
    "exec",
    "exit_plan_mode",
    "get_goal",
    "get_internal_docs",
    "invalid",
    "list_agents",
    "list_background_processes",
    "list_directory",
    "lsp",
    "plan_exit",
    "question",
    "read_background_output",
    "read_many_files",
    "request_user_input",
    "save_memory",
    "send_input",
    "send_message",
    "skill",
    "tool_search",
    "update_goal",
    "update_topic",
    "wait",
    "wait_agent",
    "write_stdin",
];

/// Fields of these tools that look as if they held a command and do not: tool, field.
pub(crate) const OTHER_TOOL_TEXTS: &[(&str, &str)] = &[
    ("SlashCommand", "command"),
    ("Workflow", "script"),
    ("apply_patch", "command"),
    ("exec", "code"),
];

/// The names of agents' events, and the kind that is meant by them.
pub(crate) const EVENT_NAMES: [(&str, EventKind); 28] = [
    ("SessionStart", EventKind::SessionStart),
    ("SessionEnd", EventKind::SessionEnd),
    ("UserPromptSubmit", EventKind::BeforeAgent),
    ("Stop", EventKind::BeforeStop),
    ("PreToolUse", EventKind::BeforeTool),
    ("PostToolUse", EventKind::AfterTool),
    ("PostToolUseFailure", EventKind::AfterToolFailure),
    ("SubagentStart", EventKind::SubagentStart),
    ("SubagentStop", EventKind::SubagentStop),
    ("PreCompact", EventKind::PreCompact),
    ("PostCompact", EventKind::PostCompact),
    ("Notification", EventKind::Notification),
    ("PermissionRequest", EventKind::PermissionRequest),
    ("BeforeAgent", EventKind::BeforeAgent),
    ("AfterAgent", EventKind::BeforeStop),
    ("BeforeTool", EventKind::BeforeTool),
    ("AfterTool", EventKind::AfterTool),
    ("PreCompress", EventKind::PreCompact),
    ("session.created", EventKind::SessionStart),
    ("session.deleted", EventKind::SessionEnd),
    ("chat.message", EventKind::BeforeAgent),
    ("session.idle", EventKind::BeforeStop),
    ("tool.execute.before", EventKind::BeforeTool),
    ("tool.execute.after", EventKind::AfterTool),
    ("message.part.updated", EventKind::AfterToolFailure),
    ("experimental.session.compacting", EventKind::PreCompact),
    ("session.compacted", EventKind::PostCompact),
    ("permission.asked", EventKind::PermissionRequest),
];

//! Letta Code's capabilities, tools and quirks.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

/// A shell that takes a command.
const SHELL: HostTool = HostTool {
    native: "",
    canonical: "Shell",
    renamed: &[],
    known: &["command", "timeout", "timeout_ms", "description", "run_in_background", "workdir"],
    files: &[],
};
const READ: HostTool = HostTool {
    native: "",
    canonical: "ReadFile",
    renamed: &[("file_path", "path")],
    known: &["offset", "limit"],
    files: &["path"],
};
const WRITE: HostTool = HostTool {
    native: "",
    canonical: "WriteFile",
    renamed: &[("file_path", "path")],
    known: &["content"],
    files: &["path"],
};
const EDIT: HostTool = HostTool {
    native: "",
    canonical: "EditFile",
    renamed: &[("file_path", "path"), ("old_string", "old"), ("new_string", "new")],
    known: &["replace_all", "edits", "expected_replacements", "instruction"],
    files: &["path"],
};

/// Its tools, in the forms that it offers to models of Anthropic, `OpenAI` and Google.
pub const TOOLS: &[HostTool] = &[
    HostTool { native: "Bash", ..SHELL },
    HostTool { native: "ShellCommand", ..SHELL },
    HostTool { native: "RunShellCommand", ..SHELL },
    HostTool { native: "Read", ..READ },
    HostTool { native: "ReadFileGemini", ..READ },
    HostTool { native: "Write", ..WRITE },
    HostTool { native: "WriteFileGemini", ..WRITE },
    HostTool { native: "Edit", ..EDIT },
    HostTool { native: "MultiEdit", ..EDIT },
    HostTool { native: "Replace", ..EDIT },
    HostTool {
        native: "Glob",
        canonical: "Glob",
        renamed: &[],
        known: &["pattern", "path"],
        files: &["path"],
    },
    HostTool {
        native: "Grep",
        canonical: "Grep",
        renamed: &[],
        known: &["pattern", "path", "glob", "output_mode"],
        files: &["path"],
    },
    HostTool {
        native: "Agent",
        canonical: "Subagent",
        renamed: &[],
        known: &[
            "prompt",
            "description",
            "subagent_type",
            "model",
            "run_in_background",
            "agent_id",
            "conversation_id",
        ],
        files: &[],
    },
    HostTool {
        native: "Task",
        canonical: "Subagent",
        renamed: &[],
        known: &["prompt", "description", "subagent_type", "model", "run_in_background"],
        files: &[],
    },
    HostTool {
        native: "TodoWrite",
        canonical: "Todo",
        renamed: &[],
        known: &["todos"],
        files: &[],
    },
];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[
    NativeTool { name: "ApplyPatch", what: "changes files; one event per file" },
    NativeTool { name: "AskUserQuestion", what: "asks the user a question" },
    NativeTool { name: "EnterPlanMode", what: "enters plan mode" },
    NativeTool { name: "ExitPlanMode", what: "presents the plan for approval" },
    NativeTool { name: "Skill", what: "loads a skill" },
    NativeTool { name: "TaskOutput", what: "reads a background task's output" },
    NativeTool { name: "TaskStop", what: "stops a background task" },
    NativeTool { name: "memory", what: "writes, renames and deletes its own memory files" },
];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "SessionStart", "C"),
    can(Kind::SessionEnd, "SessionEnd", ""),
    can(Kind::BeforeAgent, "UserPromptSubmit", "BC"),
    can(Kind::AfterAgent, "Stop", ""),
    can(Kind::BeforeStop, "Stop", "B"),
    can(Kind::AfterStop, "Stop", ""),
    can(Kind::BeforeTool, "PreToolUse", "B"),
    can(Kind::AfterTool, "PostToolUse", "BC"),
    can(Kind::AfterToolFailure, "PostToolUse", "BC"),
    lacks(Kind::SubagentStart),
    can(Kind::SubagentStop, "SubagentStop", ""),
    can(Kind::PreCompact, "PreCompact", ""),
    lacks(Kind::PostCompact),
    can(Kind::Notification, "Notification", ""),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "letta-fail-open",
        versions: "0.25.9",
        behaviour: "a hook that cannot start, is killed, times out or ends with anything but exit 2 lets the tool run",
        mitigation: "anyhook answers before its own timeout; an entry that gets no answer denies the call if a guard that blocks on failure is installed",
        evidence: "run",
    },
    Quirk {
        id: "letta-shows-command",
        versions: "0.25.9",
        behaviour: "a denial shows the model the whole command line of the hook, and every hook prints its command line on standard output",
        mitigation: "the entry of a tool call is the name of a script beside the settings, and nothing else",
        evidence: "run",
    },
    Quirk {
        id: "letta-headless-events",
        versions: "0.25.9",
        behaviour: "with `-p` it tells hooks only of tool calls and of the end of a subagent",
        mitigation: "none: session_start, before_agent, before_stop and session_end happen on its screen only",
        evidence: "run",
    },
    Quirk {
        id: "letta-screen-events",
        versions: "0.25.9",
        behaviour: "on its screen, exit 2 at UserPromptSubmit drops the prompt, exit 2 at Stop sends the reason back, and what a hook prints at SessionStart and UserPromptSubmit becomes context as it is",
        mitigation: "anyhook prints a context as plain text there",
        evidence: "source",
    },
    Quirk {
        id: "letta-permission-hook-allows",
        versions: "0.25.9",
        behaviour: "a PermissionRequest hook that ends with exit 0 approves the call without asking the user",
        mitigation: "anyhook is not called there: no opinion is not an approval",
        evidence: "source",
    },
    Quirk {
        id: "letta-no-session",
        versions: "0.25.9",
        behaviour: "a tool call names its agent, which lasts over many sessions and projects, and no session; Stop names neither",
        mitigation: "a session is an agent in a folder; a stop has none, so its hooks do not know how many tool calls there were",
        evidence: "run",
    },
    Quirk {
        id: "letta-failure-twice",
        versions: "0.25.9",
        behaviour: "a failed tool is reported as PostToolUse with the status `error`, and again as PostToolUseFailure",
        mitigation: "anyhook is called at the first, which becomes after_tool_failure",
        evidence: "run",
    },
    Quirk {
        id: "letta-checks-before-hook",
        versions: "0.25.9",
        behaviour: "a call with wrong arguments or of an unknown tool fires no hook, and does not run",
        mitigation: "none needed",
        evidence: "run",
    },
    Quirk {
        id: "letta-no-input-change",
        versions: "0.25.9",
        behaviour: "a hook cannot change the input of a tool, have the user asked, or add context before a tool",
        mitigation: "a hook that tries to change it has failed, and `on_failure` decides; an `ask` becomes a deny that explains how to approve",
        evidence: "run",
    },
    Quirk {
        id: "letta-project-unasked",
        versions: "0.25.9",
        behaviour: "hooks in a project's `.letta` run without any trust step",
        mitigation: "anyhook's own trust decides about the hooks that it runs",
        evidence: "run",
    },
    Quirk {
        id: "letta-project-switch",
        versions: "0.25.9",
        behaviour: "hooks.disabled in a project's settings.local.json also disables the user's hooks, unless the user's settings have it as false; in its settings.json it makes every call of a tool fail",
        mitigation: "doctor, hosts and install read the project's settings and report it",
        evidence: "run",
    },
    Quirk {
        id: "letta-milliseconds",
        versions: "0.25.9",
        behaviour: "timeouts are in milliseconds",
        mitigation: "install writes them so",
        evidence: "run",
    },
];

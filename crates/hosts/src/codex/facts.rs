//! What Codex can do, its tools and its quirks.

use anyhook_model::EventKind as Kind;

use crate::facts::{Capability, Quirk, can, lacks};
use crate::tool::{OtherTool, Tool};

pub const TOOLS: &[Tool] = &[
    Tool { native: "Bash", canonical: "Shell", renamed: &[], known: &["command"], files: &[] },
    Tool {
        native: "exec_command",
        canonical: "Shell",
        renamed: &[("cmd", "command")],
        known: &["workdir", "shell", "login", "tty", "yield_time_ms", "max_output_tokens"],
        files: &[],
    },
    Tool {
        native: "shell_command",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "workdir", "login", "timeout_ms"],
        files: &[],
    },
    Tool {
        native: "shell",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "workdir", "timeout_ms"],
        files: &[],
    },
    Tool {
        native: "local_shell",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "workdir", "timeout_ms"],
        files: &[],
    },
    Tool {
        native: "web_search",
        canonical: "SearchWeb",
        renamed: &[],
        known: &["query"],
        files: &[],
    },
    Tool {
        native: "spawn_agent",
        canonical: "Subagent",
        renamed: &[("message", "prompt")],
        known: &["agent_type"],
        files: &[],
    },
    Tool {
        native: "update_plan",
        canonical: "Todo",
        renamed: &[("plan", "todos")],
        known: &["explanation"],
        files: &[],
    },
    Tool {
        native: "view_image",
        canonical: "ReadFile",
        renamed: &[],
        known: &["path"],
        files: &["path"],
    },
];

/// Tools that are none of the canonical ones.
pub const OTHER_TOOLS: &[OtherTool] = &[
    OtherTool { name: "apply_patch", what: "changes files; an event for each of them" },
    OtherTool { name: "close_agent", what: "ends a subagent" },
    OtherTool { name: "create_goal", what: "sets a goal" },
    OtherTool {
        name: "exec",
        what: "runs JavaScript that calls the other tools; their calls are seen",
    },
    OtherTool { name: "get_goal", what: "shows the goal" },
    OtherTool { name: "list_agents", what: "lists subagents" },
    OtherTool { name: "request_user_input", what: "asks the person questions" },
    OtherTool { name: "send_input", what: "writes to a subagent" },
    OtherTool { name: "send_message", what: "writes to a subagent" },
    OtherTool { name: "tool_search", what: "loads further tools" },
    OtherTool { name: "update_goal", what: "ends the goal" },
    OtherTool { name: "wait", what: "waits for a running script" },
    OtherTool { name: "wait_agent", what: "waits for a subagent" },
    OtherTool { name: "write_stdin", what: "types into a running command; Codex calls no hook" },
];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "SessionStart", "BC"),
    can(Kind::SessionEnd, "SessionEnd", ""),
    can(Kind::BeforeAgent, "UserPromptSubmit", "BC"),
    can(Kind::AfterAgent, "Stop", ""),
    can(Kind::BeforeStop, "Stop", "B"),
    can(Kind::AfterStop, "Stop", ""),
    can(Kind::BeforeTool, "PreToolUse", "BMC"),
    can(Kind::AfterTool, "PostToolUse", "BC"),
    lacks(Kind::AfterToolFailure),
    can(Kind::SubagentStart, "SubagentStart", "C"),
    can(Kind::SubagentStop, "SubagentStop", "B"),
    can(Kind::PreCompact, "PreCompact", "B"),
    can(Kind::PostCompact, "PostCompact", ""),
    lacks(Kind::Notification),
    can(Kind::PermissionRequest, "PermissionRequest", "BA"),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "codex-strict-json",
        versions: "0.166.0",
        behaviour: "one unknown key in the JSON answer, or exit 2 without text, and the tool runs",
        mitigation: "a deny is exit 2 with a reason on standard error, which is never empty",
        evidence: "run",
    },
    Quirk {
        id: "codex-silent-trust",
        versions: "0.166.0",
        behaviour: "hooks that are not trusted in its settings are skipped without a word",
        mitigation: "install writes the trust state, and doctor compares it",
        evidence: "run",
    },
    Quirk {
        id: "codex-no-stop-cap",
        versions: "0.166.0",
        behaviour: "a stop can be blocked without end",
        mitigation: "anyhook lets it pass after stop_cap blocks in a turn",
        evidence: "run",
    },
    Quirk {
        id: "codex-no-ask",
        versions: "0.166.0",
        behaviour: "`ask` is unknown, and the tool runs",
        mitigation: "an ask becomes a deny that says how to approve (ask_fallback in anyhook.toml)",
        evidence: "run",
    },
    Quirk {
        id: "codex-no-plain-allow",
        versions: "0.166.0",
        behaviour: "`allow` without a changed input is an error",
        mitigation: "allow is said by silence",
        evidence: "run",
    },
    Quirk {
        id: "codex-failure-is-success",
        versions: "0.166.0",
        behaviour: "a failing shell command is reported as a success, without its exit code",
        mitigation: "it stays after_tool: nothing in the payload tells it from a success",
        evidence: "run",
    },
    Quirk {
        id: "codex-replaced-output",
        versions: "0.166.0",
        behaviour: "a block at PostToolUse replaces the tool's output",
        mitigation: "the reason is what the model sees",
        evidence: "run",
    },
    Quirk {
        id: "codex-compaction-abort",
        versions: "0.166.0",
        behaviour: "stopping a compaction ends the turn",
        mitigation: "said only when a hook blocks pre_compact",
        evidence: "run",
    },
    Quirk {
        id: "codex-one-notify",
        versions: "0.166.0",
        behaviour: "`notify` is one program, told of the end of a turn alone; given for one start it takes the place of the user's",
        mitigation: "ours calls the user's after it; permission prompts come by the hook alone",
        evidence: "run",
    },
    Quirk {
        id: "codex-dialog-after-hook",
        versions: "0.166.0",
        behaviour: "its permission dialog comes only after a PermissionRequest hook that has no answer: while a decision waits, its screen shows none, and Escape ends the turn",
        mitigation: "the decision is answered from elsewhere, or `attach` has the dialog shown; Escape dismisses it",
        evidence: "run",
    },
    Quirk {
        id: "codex-question-by-keys",
        versions: "0.166.0",
        behaviour: "request_user_input calls PreToolUse, and takes its answer on the screen alone",
        mitigation: "in a pipeline the answer to one question is typed there; several questions and other words need `attach`",
        evidence: "run",
    },
    Quirk {
        id: "codex-write-stdin",
        versions: "0.166.0",
        behaviour: "write_stdin types into a command that is still running, such as `bash -i`, and calls no hook: what is typed there is never shown to a guard",
        mitigation: "deny the start of bare interpreters in Codex: examples/hooks/no-bare-interpreters",
        evidence: "run",
    },
    Quirk {
        id: "codex-hidden-workdir",
        versions: "0.166.0",
        behaviour: "exec_command takes a working folder that hooks are not told: relative paths in such a command are taken from the session's folder",
        mitigation: "none: guard absolute and relative paths alike",
        evidence: "run",
    },
    Quirk {
        id: "codex-project-switch",
        versions: "0.166.0",
        behaviour: "[features] hooks = false, or its older name codex_hooks = false, in a trusted project's config.toml switches the user's hooks off, too",
        mitigation: "doctor, hosts and install read the project's settings and say so",
        evidence: "run",
    },
];

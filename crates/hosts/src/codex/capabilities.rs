//! Codex's capabilities, tools and quirks.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool { native: "Bash", canonical: "Shell", renamed: &[], known: &["command"], files: &[] },
    HostTool {
        native: "exec_command",
        canonical: "Shell",
        renamed: &[("cmd", "command")],
        known: &["workdir", "shell", "login", "tty", "yield_time_ms", "max_output_tokens"],
        files: &[],
    },
    HostTool {
        native: "shell_command",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "workdir", "login", "timeout_ms"],
        files: &[],
    },
    HostTool {
        native: "shell",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "workdir", "timeout_ms"],
        files: &[],
    },
    HostTool {
        native: "local_shell",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "workdir", "timeout_ms"],
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
        native: "spawn_agent",
        canonical: "Subagent",
        renamed: &[("message", "prompt")],
        known: &["agent_type"],
        files: &[],
    },
    HostTool {
        native: "update_plan",
        canonical: "Todo",
        renamed: &[("plan", "todos")],
        known: &["explanation"],
        files: &[],
    },
    HostTool {
        native: "view_image",
        canonical: "ReadFile",
        renamed: &[],
        known: &["path"],
        files: &["path"],
    },
];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[
    NativeTool { name: "apply_patch", what: "changes files; one event per file" },
    NativeTool { name: "close_agent", what: "ends a subagent" },
    NativeTool { name: "create_goal", what: "sets a goal" },
    NativeTool {
        name: "exec",
        what: "runs JavaScript that calls the other tools; hooks see those calls",
    },
    NativeTool { name: "get_goal", what: "shows the goal" },
    NativeTool { name: "list_agents", what: "lists subagents" },
    NativeTool { name: "request_user_input", what: "asks the user questions" },
    NativeTool { name: "send_input", what: "messages a subagent" },
    NativeTool { name: "send_message", what: "messages a subagent" },
    NativeTool { name: "tool_search", what: "loads more tools" },
    NativeTool { name: "update_goal", what: "ends the goal" },
    NativeTool { name: "wait", what: "waits for a running script" },
    NativeTool { name: "wait_agent", what: "waits for a subagent" },
    NativeTool {
        name: "write_stdin",
        what: "types into a running command; Codex runs no hook for it",
    },
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
        behaviour: "a single unknown key in the JSON answer, or exit 2 without text, lets the tool run",
        mitigation: "a deny is exit 2 with a reason on stderr that is never empty",
        evidence: "run",
    },
    Quirk {
        id: "codex-silent-trust",
        versions: "0.166.0",
        behaviour: "hooks that are not trusted in its settings are skipped silently",
        mitigation: "install writes the trust state, and doctor checks it",
        evidence: "run",
    },
    Quirk {
        id: "codex-no-stop-cap",
        versions: "0.166.0",
        behaviour: "a stop can be blocked indefinitely",
        mitigation: "anyhook allows the stop after stop_cap blocks in a turn",
        evidence: "run",
    },
    Quirk {
        id: "codex-no-ask",
        versions: "0.166.0",
        behaviour: "`ask` is unknown, and the tool runs",
        mitigation: "an ask becomes a deny that explains how to approve (ask_fallback in anyhook.toml)",
        evidence: "run",
    },
    Quirk {
        id: "codex-no-plain-allow",
        versions: "0.166.0",
        behaviour: "`allow` without a changed input is an error",
        mitigation: "anyhook allows by staying silent",
        evidence: "run",
    },
    Quirk {
        id: "codex-failure-is-success",
        versions: "0.166.0",
        behaviour: "a failing shell command is reported as a success, without its exit code",
        mitigation: "it is reported as after_tool: nothing in the payload distinguishes it from a success",
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
        behaviour: "blocking a compaction ends the turn",
        mitigation: "sent only when a hook blocks pre_compact",
        evidence: "run",
    },
    Quirk {
        id: "codex-one-notify",
        versions: "0.166.0",
        behaviour: "`notify` is a single program that only hears about the end of a turn; setting it for one run replaces the user's",
        mitigation: "anyhook's notify program calls the user's afterwards; permission prompts arrive only through the hook",
        evidence: "run",
    },
    Quirk {
        id: "codex-dialog-after-hook",
        versions: "0.166.0",
        behaviour: "its permission dialog opens only if the PermissionRequest hook gives no answer: while a decision is pending, the screen shows no dialog, and Escape ends the turn",
        mitigation: "answer the decision from elsewhere, or use `attach` to show the dialog; Escape dismisses it",
        evidence: "run",
    },
    Quirk {
        id: "codex-question-by-keys",
        versions: "0.166.0",
        behaviour: "request_user_input calls PreToolUse, and only accepts its answer on the screen",
        mitigation: "in a pipeline, anyhook types the answer to a single question; several questions or free text need `attach`",
        evidence: "run",
    },
    Quirk {
        id: "codex-write-stdin",
        versions: "0.166.0",
        behaviour: "write_stdin types into a command that is still running, such as `bash -i`, and runs no hook: no guard ever sees what is typed there",
        mitigation: "deny bare interpreters in Codex: examples/hooks/no-bare-interpreters",
        evidence: "run",
    },
    Quirk {
        id: "codex-hidden-workdir",
        versions: "0.166.0",
        behaviour: "exec_command accepts a working folder that hooks don't see: relative paths in such a command are resolved against the session's folder",
        mitigation: "none: guard absolute and relative paths alike",
        evidence: "run",
    },
    Quirk {
        id: "codex-project-switch",
        versions: "0.166.0",
        behaviour: "[features] hooks = false, or its older name codex_hooks = false, in a trusted project's config.toml also disables the user's hooks",
        mitigation: "doctor, hosts and install read the project's settings and report it",
        evidence: "run",
    },
];

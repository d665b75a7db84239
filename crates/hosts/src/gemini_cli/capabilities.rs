//! Gemini CLI's capabilities, tools and quirks.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "run_shell_command",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "description", "dir_path", "is_background", "delay_ms"],
        files: &[],
    },
    HostTool {
        native: "read_file",
        canonical: "ReadFile",
        renamed: &[("file_path", "path")],
        known: &["start_line", "end_line", "offset", "limit"],
        files: &["path"],
    },
    HostTool {
        native: "write_file",
        canonical: "WriteFile",
        renamed: &[("file_path", "path")],
        known: &["content"],
        files: &["path"],
    },
    HostTool {
        native: "replace",
        canonical: "EditFile",
        renamed: &[("file_path", "path"), ("old_string", "old"), ("new_string", "new")],
        known: &["instruction", "allow_multiple", "expected_replacements"],
        files: &["path"],
    },
    HostTool {
        native: "glob",
        canonical: "Glob",
        renamed: &[("dir_path", "path")],
        known: &["pattern"],
        files: &["path"],
    },
    HostTool {
        native: "grep_search",
        canonical: "Grep",
        renamed: &[("dir_path", "path")],
        known: &["pattern", "include_pattern"],
        files: &["path"],
    },
    HostTool {
        native: "web_fetch",
        canonical: "FetchURL",
        renamed: &[],
        known: &["prompt"],
        files: &[],
    },
    HostTool {
        native: "google_web_search",
        canonical: "SearchWeb",
        renamed: &[],
        known: &["query"],
        files: &[],
    },
    HostTool {
        native: "invoke_agent",
        canonical: "Subagent",
        renamed: &[],
        known: &["prompt", "agent_name"],
        files: &[],
    },
    HostTool {
        native: "write_todos",
        canonical: "Todo",
        renamed: &[],
        known: &["todos"],
        files: &[],
    },
];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[
    NativeTool { name: "activate_skill", what: "loads a skill" },
    NativeTool { name: "ask_user", what: "asks the user a question" },
    NativeTool { name: "complete_task", what: "ends a subagent's work" },
    NativeTool { name: "enter_plan_mode", what: "enters plan mode" },
    NativeTool { name: "exit_plan_mode", what: "presents the plan for approval" },
    NativeTool { name: "get_internal_docs", what: "reads its own documentation" },
    NativeTool { name: "list_background_processes", what: "lists background commands" },
    NativeTool { name: "list_directory", what: "lists a folder" },
    NativeTool { name: "read_background_output", what: "reads a background command's output" },
    NativeTool { name: "read_many_files", what: "reads files by glob" },
    NativeTool { name: "save_memory", what: "adds to its memory file" },
    NativeTool { name: "update_topic", what: "sets the topic" },
];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "SessionStart", "C"),
    can(Kind::SessionEnd, "SessionEnd", ""),
    can(Kind::BeforeAgent, "BeforeAgent", "BC"),
    can(Kind::AfterAgent, "AfterAgent", ""),
    can(Kind::BeforeStop, "AfterAgent", "B"),
    can(Kind::AfterStop, "AfterAgent", ""),
    can(Kind::BeforeTool, "BeforeTool", "BMA"),
    can(Kind::AfterTool, "AfterTool", "BC"),
    can(Kind::AfterToolFailure, "AfterTool", "BC"),
    lacks(Kind::SubagentStart),
    lacks(Kind::SubagentStop),
    can(Kind::PreCompact, "PreCompress", ""),
    lacks(Kind::PostCompact),
    can(Kind::Notification, "Notification", ""),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "gemini-exit-codes",
        versions: "0.61.0",
        behaviour: "any exit code above 1 with text blocks; exit 2 without text does not",
        mitigation: "always exit 0; a deny is JSON with a reason",
        evidence: "run",
    },
    Quirk {
        id: "gemini-retry-is-a-prompt",
        versions: "0.61.0",
        behaviour: "a blocked stop comes back as a new prompt containing anyhook's reason",
        mitigation: "a prompt that ends with anyhook's marker is a continuation, not before_agent",
        evidence: "run",
    },
    Quirk {
        id: "gemini-precompress-always",
        versions: "0.61.0",
        behaviour: "PreCompress fires before every model call, even if nothing is compressed",
        mitigation: "only a manual one becomes pre_compact",
        evidence: "run",
    },
    Quirk {
        id: "gemini-failure-is-after-tool",
        versions: "0.61.0",
        behaviour: "a failed tool is reported as AfterTool with an error in its response, a failed shell command as one with an `Exit Code` line",
        mitigation: "it becomes after_tool_failure",
        evidence: "run",
    },
    Quirk {
        id: "gemini-context-in-prompt",
        versions: "0.61.0",
        behaviour: "SessionStart context is prepended to the first prompt, also in what BeforeAgent receives",
        mitigation: "anyhook removes it: prompt is what the user wrote",
        evidence: "run",
    },
    Quirk {
        id: "gemini-input-replaced",
        versions: "0.61.0",
        behaviour: "a changed input replaces the whole input, although the docs say it is merged",
        mitigation: "anyhook always sends the whole input",
        evidence: "run",
    },
    Quirk {
        id: "gemini-no-tool-context",
        versions: "0.61.0",
        behaviour: "context before a tool is ignored",
        mitigation: "the journal records that it was lost",
        evidence: "run",
    },
    Quirk {
        id: "gemini-ask-headless",
        versions: "0.61.0",
        behaviour: "`ask` without a user at the terminal ends the program without an answer",
        mitigation: "none: the call does not run",
        evidence: "run",
    },
    Quirk {
        id: "gemini-answers-by-keys",
        versions: "0.61.0",
        behaviour: "permissions, plans (exit_plan_mode) and questions (ask_user) are reported to hooks, but only accept an answer on the screen",
        mitigation: "in a pipeline, anyhook types the answer: it approves a plan with edits accepted one by one; several questions, several answers or free text need `attach`",
        evidence: "run",
    },
    Quirk {
        id: "gemini-fetch-without-url",
        versions: "0.61.0",
        behaviour: "web_fetch has no url field; addresses are inside its prompt",
        mitigation: "use a pattern to match them in the prompt",
        evidence: "source",
    },
    Quirk {
        id: "gemini-no-injection",
        versions: "0.61.0",
        behaviour: "settings for a single run can only replace the machine's own",
        mitigation: "anyhook injects no notification hooks; `anyhook install` adds them",
        evidence: "source",
    },
    Quirk {
        id: "gemini-project-switch",
        versions: "0.61.0",
        behaviour: "hooksConfig.enabled = false in a project's settings also disables the user's hooks",
        mitigation: "doctor, hosts and install read the project's settings and report it",
        evidence: "run",
    },
];

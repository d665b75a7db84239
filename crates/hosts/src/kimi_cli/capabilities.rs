//! Kimi CLI's capabilities, tools and quirks.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "Shell",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "timeout", "run_in_background", "description"],
        files: &[],
    },
    HostTool {
        native: "ReadFile",
        canonical: "ReadFile",
        renamed: &[],
        known: &["path", "line_offset", "n_lines"],
        files: &["path"],
    },
    HostTool {
        native: "ReadMediaFile",
        canonical: "ReadFile",
        renamed: &[],
        known: &["path"],
        files: &["path"],
    },
    HostTool {
        native: "WriteFile",
        canonical: "WriteFile",
        renamed: &[],
        known: &["path", "content", "mode"],
        files: &["path"],
    },
    HostTool {
        native: "StrReplaceFile",
        canonical: "EditFile",
        renamed: &[],
        known: &["path", "edit"],
        files: &["path"],
    },
    HostTool {
        native: "Glob",
        canonical: "Glob",
        renamed: &[("directory", "path")],
        known: &["pattern", "include_dirs"],
        files: &["path"],
    },
    HostTool {
        native: "Grep",
        canonical: "Grep",
        renamed: &[],
        known: &[
            "pattern",
            "path",
            "glob",
            "output_mode",
            "-B",
            "-A",
            "-C",
            "-n",
            "-i",
            "type",
            "head_limit",
            "offset",
            "multiline",
            "include_ignored",
        ],
        files: &["path"],
    },
    HostTool {
        native: "FetchURL",
        canonical: "FetchURL",
        renamed: &[],
        known: &["url"],
        files: &[],
    },
    HostTool {
        native: "SearchWeb",
        canonical: "SearchWeb",
        renamed: &[],
        known: &["query", "limit", "include_content"],
        files: &[],
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
            "resume",
            "run_in_background",
            "timeout",
        ],
        files: &[],
    },
    HostTool {
        native: "SetTodoList",
        canonical: "Todo",
        renamed: &[],
        known: &["todos"],
        files: &[],
    },
];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[
    NativeTool { name: "AskUserQuestion", what: "asks the user a question" },
    NativeTool { name: "EnterPlanMode", what: "enters plan mode" },
    NativeTool { name: "ExitPlanMode", what: "presents the plan for approval" },
    NativeTool { name: "TaskList", what: "lists background tasks" },
    NativeTool { name: "TaskOutput", what: "reads a background task's output" },
    NativeTool { name: "TaskStop", what: "stops a background task" },
    NativeTool { name: "Think", what: "writes down a thought" },
];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "SessionStart", ""),
    can(Kind::SessionEnd, "SessionEnd", ""),
    can(Kind::BeforeAgent, "UserPromptSubmit", "B"),
    can(Kind::AfterAgent, "Stop", ""),
    can(Kind::BeforeStop, "Stop", "B"),
    can(Kind::AfterStop, "Stop", ""),
    can(Kind::BeforeTool, "PreToolUse", "B"),
    can(Kind::AfterTool, "PostToolUse", ""),
    can(Kind::AfterToolFailure, "PostToolUseFailure", ""),
    can(Kind::SubagentStart, "SubagentStart", ""),
    can(Kind::SubagentStop, "SubagentStop", ""),
    can(Kind::PreCompact, "PreCompact", ""),
    can(Kind::PostCompact, "PostCompact", ""),
    can(Kind::Notification, "Notification", ""),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "kimi-cli-fail-open",
        versions: "1.51.0",
        behaviour: "a hook that cannot start, is killed, times out (30 seconds by default, 600 at most) or ends with anything but exit 2 lets the tool run",
        mitigation: "anyhook answers before its own timeout, which install sets to the maximum; an entry that gets no answer denies the call if a guard that blocks on failure is installed",
        evidence: "run",
    },
    Quirk {
        id: "kimi-cli-no-output",
        versions: "1.51.0",
        behaviour: "nothing that a hook prints reaches the model or the user unless it blocks, although its documentation says that standard output becomes context",
        mitigation: "the journal records that context was lost",
        evidence: "run",
    },
    Quirk {
        id: "kimi-cli-no-input-change",
        versions: "1.51.0",
        behaviour: "a hook cannot change the input of a tool or have the user asked",
        mitigation: "a hook that tries to change it has failed, and `on_failure` decides; an `ask` becomes a deny that explains how to approve",
        evidence: "run",
    },
    Quirk {
        id: "kimi-cli-one-stop",
        versions: "1.51.0",
        behaviour: "a stop is blocked once in a turn: the next stop fires no hook",
        mitigation: "the reason is given at that one time",
        evidence: "run",
    },
    Quirk {
        id: "kimi-cli-failure-is-after-tool",
        versions: "1.51.0",
        behaviour: "a failed tool is reported as PostToolUse with `is_error=True` in a text that is cut at 2000 characters; PostToolUseFailure is only for an exception in the tool",
        mitigation: "it becomes after_tool_failure",
        evidence: "run",
    },
    Quirk {
        id: "kimi-cli-mcp-names",
        versions: "1.51.0",
        behaviour: "an MCP tool has its bare name, without its server",
        mitigation: "a tool that is none of its own is taken for an MCP tool, of a server without a name: match it by `mcp.tool` or by its bare name",
        evidence: "run",
    },
    Quirk {
        id: "kimi-cli-checks-after-hook",
        versions: "1.51.0",
        behaviour: "a call with wrong arguments fires its hooks and then fails",
        mitigation: "none needed: it is checked like any other",
        evidence: "run",
    },
    Quirk {
        id: "kimi-cli-strict-settings",
        versions: "1.51.0",
        behaviour: "an unknown event or a timeout above 600 in config.toml keeps the program from starting, as does a second list of hooks in another form",
        mitigation: "anyhook writes known events only, in the form of the list that is there",
        evidence: "run",
    },
    Quirk {
        id: "kimi-cli-own-config",
        versions: "1.51.0",
        behaviour: "with --config or --config-file it does not read the file in which anyhook is installed, and there are no hooks of a project",
        mitigation: "anyhook is installed for the user, also with `--project`; do not start it with another configuration",
        evidence: "source",
    },
    Quirk {
        id: "kimi-cli-session-end",
        versions: "1.51.0",
        behaviour: "at the end of a session it waits at most five seconds",
        mitigation: "hooks at session_end have four and a half",
        evidence: "source",
    },
];

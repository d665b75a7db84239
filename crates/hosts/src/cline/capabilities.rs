//! Cline's capabilities, tools and quirks.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

/// Its tools; of those that take a list, the fields of a single item.
pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "run_commands",
        canonical: "Shell",
        renamed: &[("commands", "command")],
        known: &[],
        files: &[],
    },
    HostTool {
        native: "read_files",
        canonical: "ReadFile",
        renamed: &[],
        known: &["end_line", "path", "start_line"],
        files: &["path"],
    },
    HostTool {
        native: "editor",
        canonical: "EditFile",
        renamed: &[("old_text", "old"), ("new_text", "new")],
        known: &["content", "insert_line", "path"],
        files: &["path"],
    },
    HostTool {
        native: "search_codebase",
        canonical: "Grep",
        renamed: &[("queries", "pattern")],
        known: &[],
        files: &[],
    },
    HostTool {
        native: "fetch_web_content",
        canonical: "FetchURL",
        renamed: &[],
        known: &["prompt", "url"],
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
        renamed: &[("systemPrompt", "description"), ("task", "prompt")],
        known: &[],
        files: &[],
    },
    HostTool {
        native: "team_run_task",
        canonical: "Subagent",
        renamed: &[("agentId", "subagent_type"), ("task", "prompt")],
        known: &["continueConversation", "runMode", "taskId"],
        files: &[],
    },
];

/// Tools that are special forms of a canonical one.
pub const SPECIAL_TOOLS: &[&str] = &["editor", "team_run_task"];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[
    NativeTool { name: "apply_patch", what: "changes files; one event per file" },
    NativeTool { name: "ask_question", what: "asks the user a question" },
    NativeTool { name: "skills", what: "loads a skill" },
    NativeTool { name: "submit_and_exit", what: "submits the result and ends" },
    NativeTool { name: "tasks", what: "schedules prompts" },
    NativeTool {
        name: "team_attach_outcome_fragment",
        what: "adds to a common result of several agents",
    },
    NativeTool { name: "team_await_runs", what: "waits for other agents" },
    NativeTool { name: "team_broadcast", what: "messages all other agents" },
    NativeTool { name: "team_cancel_run", what: "stops another agent" },
    NativeTool { name: "team_cleanup", what: "ends the team of agents" },
    NativeTool { name: "team_create_outcome", what: "starts a common result of several agents" },
    NativeTool { name: "team_finalize_outcome", what: "ends a common result of several agents" },
    NativeTool { name: "team_list_outcomes", what: "lists common results of several agents" },
    NativeTool { name: "team_list_runs", what: "lists what other agents do" },
    NativeTool { name: "team_mission_log", what: "writes to the team's log" },
    NativeTool { name: "team_read_mailbox", what: "reads messages of other agents" },
    NativeTool {
        name: "team_review_outcome_fragment",
        what: "reviews a part of a common result of several agents",
    },
    NativeTool { name: "team_send_message", what: "messages another agent" },
    NativeTool { name: "team_shutdown_teammate", what: "ends another agent" },
    NativeTool { name: "team_spawn_teammate", what: "defines another agent" },
    NativeTool { name: "team_status", what: "tells what the team does" },
    NativeTool { name: "team_task", what: "manages the team's list of tasks" },
];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "TaskStart", ""),
    lacks(Kind::SessionEnd),
    can(Kind::BeforeAgent, "UserPromptSubmit", ""),
    can(Kind::AfterAgent, "TaskComplete", ""),
    lacks(Kind::BeforeStop),
    lacks(Kind::AfterStop),
    can(Kind::BeforeTool, "PreToolUse", "BMC"),
    can(Kind::AfterTool, "PostToolUse", "BC"),
    can(Kind::AfterToolFailure, "PostToolUse", "BC"),
    can(Kind::SubagentStart, "TaskStart", ""),
    can(Kind::SubagentStop, "TaskComplete", ""),
    lacks(Kind::PreCompact),
    lacks(Kind::PostCompact),
    lacks(Kind::Notification),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "cline-exit-codes",
        versions: "3.0.65",
        behaviour: "exit codes mean nothing: a hook that fails, is killed, prints something else than JSON or takes more than two minutes lets the tool run",
        mitigation: "anyhook answers before that; an entry that gets no answer prints what ends the run if a guard that blocks on failure is installed",
        evidence: "run",
    },
    Quirk {
        id: "cline-cancel-ends-run",
        versions: "3.0.65",
        behaviour: "a hook cannot deny one call: `cancel` ends the whole run, and its message reaches neither the model nor the user",
        mitigation: "a denied call gets an input with which its tool fails without doing anything, and the reason is told with that failure; a tool of an MCP server, of which no such input is known, is denied by `cancel`, and the journal says that the reason was lost",
        evidence: "run",
    },
    Quirk {
        id: "cline-unanswered-ends-run",
        versions: "3.0.65",
        behaviour: "a call that anyhook does not answer can only be refused by `cancel`",
        mitigation: "the run ends without a reason: doctor tells what is wrong",
        evidence: "run",
    },
    Quirk {
        id: "cline-refused-result",
        versions: "3.0.65",
        behaviour: "PostToolUse also fires for a call that was denied, with the input that it got",
        mitigation: "such an event is called refused_call, and is neither after_tool nor after_tool_failure",
        evidence: "run",
    },
    Quirk {
        id: "cline-last-input",
        versions: "3.0.65",
        behaviour: "of several hooks at one event, which run in the order of their paths, the last changed input counts, and so it can undo a denial",
        mitigation: "anyhook's files have the ending that comes last in their folder; doctor reports other hooks at the same events, and a denied call that ran is an alarm",
        evidence: "run",
    },
    Quirk {
        id: "cline-mistake-limit",
        versions: "3.0.65",
        behaviour: "six turns in a row in which every tool raised an error end the run, and so do five equal calls in a row",
        mitigation: "denied calls of commands, files, searches, patches and web pages fail without an error, and each in its own way",
        evidence: "source",
    },
    Quirk {
        id: "cline-lists",
        versions: "3.0.65",
        behaviour: "one call runs several commands, or reads several files, pages or patterns",
        mitigation: "each is an event of its own; such a call can be denied as a whole and not be rewritten",
        evidence: "run",
    },
    Quirk {
        id: "cline-observers",
        versions: "3.0.65",
        behaviour: "hooks at the start and end of a turn and at a prompt run detached: what they answer is ignored, and a stop cannot be held back",
        mitigation: "the journal records what was lost; there is no before_stop",
        evidence: "run",
    },
    Quirk {
        id: "cline-turn-start",
        versions: "3.0.65",
        behaviour: "TaskStart fires at the beginning of every turn, and nothing fires at the end of a session",
        mitigation: "session_start may happen several times in a session",
        evidence: "source",
    },
    Quirk {
        id: "cline-no-prompt",
        versions: "3.0.65",
        behaviour: "UserPromptSubmit does not fire for a prompt, neither on the command line nor on the screen",
        mitigation: "none",
        evidence: "run",
    },
    Quirk {
        id: "cline-shutdown-event",
        versions: "3.0.65",
        behaviour: "SessionShutdown fires when a turn is interrupted, and not when a session ends",
        mitigation: "anyhook is not called there",
        evidence: "source",
    },
    Quirk {
        id: "cline-one-word-prompt",
        versions: "3.0.65",
        behaviour: "a prompt of a single word is taken for a command",
        mitigation: "anyhook adds a space to it",
        evidence: "run",
    },
    Quirk {
        id: "cline-project-unasked",
        versions: "3.0.65",
        behaviour: "hooks in a project's .cline and .clinerules run without any trust step",
        mitigation: "anyhook's own trust decides about the hooks that it runs",
        evidence: "run",
    },
    Quirk {
        id: "cline-hooks-dir",
        versions: "3.0.65",
        behaviour: "the option --hooks-dir has no effect",
        mitigation: "anyhook injects no hooks for one start; `anyhook install` adds them",
        evidence: "source",
    },
];

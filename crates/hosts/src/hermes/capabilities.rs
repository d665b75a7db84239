//! Hermes Agent's capabilities, tools and quirks.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "terminal",
        canonical: "Shell",
        renamed: &[],
        known: &[
            "command",
            "background",
            "timeout",
            "workdir",
            "pty",
            "notify_on_complete",
            "watch_patterns",
        ],
        files: &[],
    },
    HostTool {
        native: "execute_code",
        canonical: "Shell",
        renamed: &[("code", "command")],
        known: &[],
        files: &[],
    },
    HostTool {
        native: "read_file",
        canonical: "ReadFile",
        renamed: &[],
        known: &["path", "offset", "limit"],
        files: &["path"],
    },
    HostTool {
        native: "write_file",
        canonical: "WriteFile",
        renamed: &[],
        known: &["path", "content", "cross_profile"],
        files: &["path"],
    },
    // In another mode it takes a patch of several files.
    HostTool {
        native: "patch",
        canonical: "EditFile",
        renamed: &[("old_string", "old"), ("new_string", "new")],
        known: &["mode", "path", "replace_all", "patch", "cross_profile"],
        files: &["path"],
    },
    HostTool {
        native: "search_files",
        canonical: "Grep",
        renamed: &[],
        known: &[
            "pattern",
            "target",
            "path",
            "file_glob",
            "limit",
            "offset",
            "output_mode",
            "context",
        ],
        files: &["path"],
    },
    HostTool {
        native: "web_extract",
        canonical: "FetchURL",
        renamed: &[],
        known: &["urls"],
        files: &[],
    },
    HostTool {
        native: "web_search",
        canonical: "SearchWeb",
        renamed: &[],
        known: &["query", "limit"],
        files: &[],
    },
    HostTool {
        native: "delegate_task",
        canonical: "Subagent",
        renamed: &[("goal", "prompt")],
        known: &["context", "tasks", "role", "background"],
        files: &[],
    },
    HostTool {
        native: "todo",
        canonical: "Todo",
        renamed: &[],
        known: &["todos", "merge"],
        files: &[],
    },
];

/// Tools that are special forms of a canonical one.
pub const SPECIAL_TOOLS: &[&str] = &["execute_code"];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[
    NativeTool { name: "clarify", what: "asks the user a question" },
    NativeTool { name: "cronjob", what: "schedules prompts for later" },
    NativeTool { name: "memory", what: "remembers something" },
    NativeTool { name: "process", what: "looks after programs in the background" },
    NativeTool { name: "session_search", what: "searches in earlier sessions" },
    NativeTool { name: "skill_manage", what: "writes a skill" },
    NativeTool { name: "skill_view", what: "reads a skill" },
    NativeTool { name: "skills_list", what: "lists the skills" },
    NativeTool { name: "vision_analyze", what: "looks at an image" },
];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "on_session_start", "C"),
    can(Kind::SessionEnd, "on_session_finalize", ""),
    can(Kind::BeforeAgent, "pre_llm_call", "C"),
    can(Kind::AfterAgent, "post_llm_call", ""),
    can(Kind::BeforeStop, "pre_verify", "B"),
    can(Kind::AfterStop, "post_llm_call", ""),
    can(Kind::BeforeTool, "pre_tool_call", "BMCA"),
    can(Kind::AfterTool, "post_tool_call", "BC"),
    can(Kind::AfterToolFailure, "post_tool_call", "BC"),
    can(Kind::SubagentStart, "subagent_start", ""),
    can(Kind::SubagentStop, "subagent_stop", ""),
    lacks(Kind::PreCompact),
    lacks(Kind::PostCompact),
    can(Kind::Notification, "pre_approval_request", ""),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "hermes-weak-hook-commands",
        versions: "0.19.0",
        behaviour: "a hook command is skipped without a word until a person agrees to it, its exit code means nothing, and it can neither change a call nor ask nor tell the model something after it",
        mitigation: "install writes a small plugin that calls anyhook, and enables it in config.yaml",
        evidence: "run",
    },
    Quirk {
        id: "hermes-plugins-enabled",
        versions: "0.19.0",
        behaviour: "a plugin that is not in `plugins.enabled` of config.yaml, or is in `plugins.disabled`, is not loaded, and nothing says so",
        mitigation: "install adds a line to config.yaml; doctor and hosts report it if the line is missing, or the plugin is disabled",
        evidence: "run",
    },
    Quirk {
        id: "hermes-fail-open",
        versions: "0.19.0",
        behaviour: "an exception in a plugin lets the call run",
        mitigation: "our plugin catches every exception before a tool; a call without an answer is refused if a guard that blocks on failure is installed",
        evidence: "run",
    },
    Quirk {
        id: "hermes-no-time-limit",
        versions: "0.19.0",
        behaviour: "a plugin that hangs also hangs the agent",
        mitigation: "our plugin has a timeout, and anyhook answers before it",
        evidence: "source",
    },
    Quirk {
        id: "hermes-changes-first",
        versions: "0.19.0",
        behaviour: "arguments can be changed before plugins may deny the call, and if several plugins change them, the last one wins",
        mitigation: "our plugin asks anyhook where they can be changed, and again if the call is not the one that was decided about",
        evidence: "source",
    },
    Quirk {
        id: "hermes-yolo",
        versions: "0.19.0",
        behaviour: "with --yolo it approves whatever a plugin wants a person to be asked about",
        mitigation: "an ask becomes a deny then",
        evidence: "source",
    },
    Quirk {
        id: "hermes-approval-wait",
        versions: "0.19.0",
        behaviour: "with no person there, `hermes chat -q` waits 60 seconds for an approval (`approvals.timeout`) before it denies",
        mitigation: "none needed: the call does not run",
        evidence: "run",
    },
    Quirk {
        id: "hermes-stop-after-edits",
        versions: "0.19.0",
        behaviour: "pre_verify comes only in a turn that changed files with its tools, up to three times (`agent.max_verify_nudges`), and after its own requests to verify (`agent.verify_on_stop`)",
        mitigation: "a stop of another turn is after_agent and after_stop only",
        evidence: "run",
    },
    Quirk {
        id: "hermes-no-prompt-block",
        versions: "0.19.0",
        behaviour: "a prompt cannot be blocked",
        mitigation: "the model is told the reason with the prompt, and the journal records that the block was lost",
        evidence: "run",
    },
    Quirk {
        id: "hermes-resumed-session",
        versions: "0.19.0",
        behaviour: "a session that is resumed fires no on_session_start",
        mitigation: "hooks at before_agent see its first prompt",
        evidence: "run",
    },
    Quirk {
        id: "hermes-context-later",
        versions: "0.19.0",
        behaviour: "on_session_start and pre_tool_call cannot tell the model anything, and the results of some tools (todo, memory, delegate_task) cannot be added to",
        mitigation: "it is told with the next prompt or the next result",
        evidence: "run",
    },
    Quirk {
        id: "hermes-execute-code",
        versions: "0.19.0",
        behaviour: "execute_code runs Python code, which may also call its tools: those calls run hooks, what else the code does runs none",
        mitigation: "it is `Shell`, with the code as the command; what the code does is visible only in its text",
        evidence: "run",
    },
    Quirk {
        id: "hermes-process",
        versions: "0.19.0",
        behaviour: "process types into a program that is running in the background, such as a shell",
        mitigation: "such a call is also `Shell`, with what is typed as the command",
        evidence: "source",
    },
    Quirk {
        id: "hermes-tool-folder",
        versions: "0.19.0",
        behaviour: "`cd` in a terminal call changes the folder in which its file tools work, but not that of its process",
        mitigation: "our plugin reports the folder of the tools",
        evidence: "run",
    },
    Quirk {
        id: "hermes-own-review",
        versions: "0.19.0",
        behaviour: "after some turns it reviews its work by itself, in a conversation of its own in the same session",
        mitigation: "the tools that it calls there are checked; its prompt and its answer are no events",
        evidence: "run",
    },
    Quirk {
        id: "hermes-safe-mode",
        versions: "0.19.0",
        behaviour: "--safe-mode, --ignore-user-config and HERMES_SAFE_MODE disable all plugins silently",
        mitigation: "none: doctor shows when the last event was seen",
        evidence: "run",
    },
    Quirk {
        id: "hermes-project-plugins",
        versions: "0.19.0",
        behaviour: "with HERMES_ENABLE_PROJECT_PLUGINS a project's plugin replaces the user's plugin of the same name; otherwise it reads nothing of a project",
        mitigation: "doctor, hosts and install report a project's plugin of our name; anyhook is installed for the user, also with `--project`",
        evidence: "run",
    },
];

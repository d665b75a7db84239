//! pi's capabilities, tools and quirks.

use anyhook_model::EventKind as Kind;

use crate::capabilities::{Capability, Quirk, can, lacks};
use crate::tool::{HostTool, NativeTool};

pub const TOOLS: &[HostTool] = &[
    HostTool {
        native: "bash",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "timeout"],
        files: &[],
    },
    HostTool {
        native: "powershell",
        canonical: "Shell",
        renamed: &[],
        known: &["command", "timeout"],
        files: &[],
    },
    HostTool {
        native: "read",
        canonical: "ReadFile",
        renamed: &[],
        known: &["path", "offset", "limit"],
        files: &["path"],
    },
    HostTool {
        native: "write",
        canonical: "WriteFile",
        renamed: &[],
        known: &["path", "content"],
        files: &["path"],
    },
    HostTool {
        native: "edit",
        canonical: "EditFile",
        renamed: &[],
        known: &["path", "edits"],
        files: &["path"],
    },
    HostTool {
        native: "find",
        canonical: "Glob",
        renamed: &[],
        known: &["pattern", "path", "limit"],
        files: &["path"],
    },
    HostTool {
        native: "grep",
        canonical: "Grep",
        renamed: &[],
        known: &["pattern", "path", "glob", "ignoreCase", "literal", "context", "limit"],
        files: &["path"],
    },
];

/// Tools that are special forms of a canonical one.
pub const SPECIAL_TOOLS: &[&str] = &["powershell"];

/// Tools that are not canonical.
pub const OTHER_TOOLS: &[NativeTool] = &[
    NativeTool { name: "codemode", what: "runs a script; hooks see the calls that it makes" },
    NativeTool { name: "ls", what: "lists a folder" },
    NativeTool { name: "tool_search", what: "loads more tools" },
];

pub const CAPABILITIES: &[Capability] = &[
    can(Kind::SessionStart, "session_start", "C"),
    can(Kind::SessionEnd, "session_shutdown", ""),
    can(Kind::BeforeAgent, "input", "BC"),
    can(Kind::AfterAgent, "agent_before_settle", ""),
    can(Kind::BeforeStop, "agent_before_settle", "B"),
    can(Kind::AfterStop, "agent_before_settle", ""),
    can(Kind::BeforeTool, "tool_call", "BMC"),
    can(Kind::AfterTool, "tool_result", "BC"),
    can(Kind::AfterToolFailure, "tool_result", "BC"),
    lacks(Kind::SubagentStart),
    lacks(Kind::SubagentStop),
    can(Kind::PreCompact, "session_before_compact", ""),
    can(Kind::PostCompact, "session_compact", ""),
    lacks(Kind::Notification),
    lacks(Kind::PermissionRequest),
];

pub const QUIRKS: &[Quirk] = &[
    Quirk {
        id: "pi-extension-only",
        versions: "1.5.0",
        behaviour: "there are no hook commands, only extensions in its own process",
        mitigation: "install writes a small extension that calls anyhook",
        evidence: "run",
    },
    Quirk {
        id: "pi-project-trust",
        versions: "1.5.0",
        behaviour: "a project's extensions are ignored until the project is trusted, and without a screen nothing says so",
        mitigation: "doctor, hosts and install report it for an extension that was installed in a project; the user's extension needs no trust",
        evidence: "run",
    },
    Quirk {
        id: "pi-no-permissions",
        versions: "1.5.0",
        behaviour: "it has no permission system: every tool call runs unless an extension blocks it",
        mitigation: "an ask becomes a deny that explains how to approve (ask_fallback in anyhook.toml)",
        evidence: "run",
    },
    Quirk {
        id: "pi-no-time-limit",
        versions: "1.5.0",
        behaviour: "an extension that hangs also hangs the agent",
        mitigation: "our extension has a timeout, and anyhook answers before it",
        evidence: "run",
    },
    Quirk {
        id: "pi-broken-extension",
        versions: "1.5.0",
        behaviour: "it does not start if an extension cannot be loaded",
        mitigation: "our extension does nothing while it is loaded but register for events",
        evidence: "run",
    },
    Quirk {
        id: "pi-fail-open",
        versions: "1.5.0",
        behaviour: "an exception in an extension blocks a tool call, but neither a prompt nor a stop",
        mitigation: "our extension reports failures instead of throwing; a tool call without an answer is refused if a guard that blocks on failure is installed",
        evidence: "run",
    },
    Quirk {
        id: "pi-silent-input",
        versions: "1.5.0",
        behaviour: "a prompt that an extension handles ends the run without any output and with exit code 0",
        mitigation: "our extension shows the reason, on standard error if there is no screen",
        evidence: "run",
    },
    Quirk {
        id: "pi-settles-on-error",
        versions: "1.5.0",
        behaviour: "agent_before_settle also comes after a failed request, and holding the agent there repeats the request without end",
        mitigation: "only a completed turn is reported as a stop",
        evidence: "run",
    },
    Quirk {
        id: "pi-no-context-before-tool",
        versions: "1.5.0",
        behaviour: "tool_call has no way to tell the model something without blocking the call",
        mitigation: "context is told with the call's result",
        evidence: "run",
    },
    Quirk {
        id: "pi-no-extensions",
        versions: "1.5.0",
        behaviour: "`--no-extensions` disables our extension silently",
        mitigation: "none: doctor shows when the last event was seen",
        evidence: "run",
    },
];

//! A payload of Codex as events.

use anyhook_model::json::{PassedOn, Role};
use anyhook_model::{Caller, DecodeError, Event, EventKind};

use super::facts::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource};

/// What is in a payload only for hooks.
pub const PASSED_ON: &[PassedOn] = &[
    PassedOn { path: &["tool_input"], role: Role::Input },
    PassedOn { path: &["tool_response"], role: Role::Other },
];

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    Common { host: "codex", tools: TOOLS, others: OTHER_TOOLS, prompt: PromptSource::Anybody }
        .decode(bytes, caller, |native| {
            Some(match native {
                "SessionStart" => EventKind::SessionStart,
                "SessionEnd" => EventKind::SessionEnd,
                "UserPromptSubmit" => EventKind::BeforeAgent,
                "PreToolUse" => EventKind::BeforeTool,
                "PermissionRequest" => EventKind::PermissionRequest,
                "PostToolUse" => EventKind::AfterTool,
                "PreCompact" => EventKind::PreCompact,
                "PostCompact" => EventKind::PostCompact,
                "SubagentStart" => EventKind::SubagentStart,
                "SubagentStop" => EventKind::SubagentStop,
                "Stop" => EventKind::BeforeStop,
                _ => return None,
            })
        })
}

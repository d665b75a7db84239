//! A payload of Codex as events.

use anyhook_model::json::{PassedOn, Role};
use anyhook_model::{Caller, DecodeError, Event, EventKind};

use super::facts::{OTHER_TOOLS, TOOLS};
use crate::common::{Common, PromptSource};
use crate::patch_events;

/// What is in a payload only for hooks.
pub const PASSED_ON: &[PassedOn] = &[
    PassedOn { path: &["tool_input"], role: Role::Input },
    PassedOn { path: &["tool_response"], role: Role::Other },
];

pub fn decode(bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let events =
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
            })?;
    Ok(events
        .into_iter()
        .flat_map(|event| {
            if is_patch(&event) { patch_events::split(event, "command") } else { vec![event] }
        })
        .collect())
}

fn is_patch(event: &Event) -> bool {
    let native = event.tool.as_ref().and_then(|tool| tool.native.as_ref());
    native.is_some_and(|native| native.tool_name == "apply_patch")
}

//! Hooks of Cursor: from its documentation, not found out by running it.

use std::path::PathBuf;

use anyhook_model::json::Object;
use anyhook_model::{Effect, EventKind as Kind};

use super::answer::{Members, NativeAnswer, NativeOutcome};
use super::matching::is_every;
use super::{
    Layout, MatcherForm, NativeCommand, NativeEvent, NativeFormat, StartFolder, command_text,
    event, milliseconds, no_folders, number, refuse_others, same_payload,
};
use crate::wiring::SettingsScope;

pub(super) static FORMAT: NativeFormat = NativeFormat {
    host: "cursor",
    title: "Cursor",
    files,
    folders: no_folders,
    layout: Layout::Flat,
    other_keys: &[],
    switches: &[],
    events: EVENTS,
    command,
    matcher,
    tool_names: &[],
    same_command_once: false,
    counts_positions: false,
    starts_in: StartFolder::OfSettings(".cursor"),
    only_native: &[
        ("updated_mcp_tool_output", "replaces a tool's output"),
        ("env", "sets variables of the session"),
    ],
    payload: same_payload,
    answer,
};

const EVENTS: &[NativeEvent] = &[
    event("sessionStart", Kind::SessionStart, "", 60_000),
    event("sessionEnd", Kind::SessionEnd, "", 60_000),
    event("beforeSubmitPrompt", Kind::BeforeAgent, "", 60_000),
    event("preToolUse", Kind::BeforeTool, "tool_name", 60_000),
    event("postToolUse", Kind::AfterTool, "tool_name", 60_000),
    event("postToolUseFailure", Kind::AfterToolFailure, "tool_name", 60_000),
    event("stop", Kind::BeforeStop, "", 60_000),
    event("subagentStart", Kind::SubagentStart, "subagent_type", 60_000),
    event("subagentStop", Kind::SubagentStop, "subagent_type", 60_000),
    event("preCompact", Kind::PreCompact, "", 60_000),
];

/// The events at which exit code 2 has an effect.
const BLOCKED: &[&str] = &["preToolUse", "beforeSubmitPrompt", "subagentStart"];

fn files(scope: &SettingsScope) -> Vec<PathBuf> {
    vec![scope.project.as_ref().unwrap_or(&scope.home).join(".cursor/hooks.json")]
}

fn command(event: &NativeEvent, handler: &Object) -> Result<NativeCommand, String> {
    refuse_others(handler)?;
    let line = command_text(handler, "command")?;
    let timeout_ms = number(handler, "timeout").map_or(event.default_ms, milliseconds);
    let mut command = NativeCommand::by_shell(Some("/bin/sh"), &line, timeout_ms);
    command.blocks_on_failure = handler.get("failClosed").is_some_and(|value| *value == true)
        && BLOCKED.contains(&event.name);
    Ok(command)
}

fn matcher(_event: &NativeEvent, matcher: &str) -> MatcherForm {
    if is_every(matcher) { MatcherForm::Every } else { MatcherForm::Search(matcher.to_owned()) }
}

fn answer(event: &NativeEvent, outcome: &NativeOutcome<'_>) -> NativeAnswer {
    let mut answer = NativeAnswer::default();
    match outcome.code {
        Some(0) => {}
        Some(2) => {
            if BLOCKED.contains(&event.name) {
                answer.decide(Effect::Deny, outcome.error_text());
            }
            return answer;
        }
        _ => return NativeAnswer::failed(outcome.failure()),
    }
    let Some(object) = outcome.object() else {
        // A hook that blocks on failure does so if its output is no object.
        return match outcome.stdout.trim() {
            "" => answer,
            _ => NativeAnswer::failed("its output is no object"),
        };
    };
    let all = Members(&object);
    let told = all.text("user_message");
    match event.name {
        "preToolUse" | "subagentStart" => match all.word("permission") {
            Some("deny") => answer.decide(Effect::Deny, all.text("agent_message").or(told)),
            // At this event `ask` is a refusal, and nothing before a tool.
            Some("ask") if event.name == "subagentStart" => answer.decide(Effect::Deny, told),
            Some("allow") if event.name == "preToolUse" => answer.decide(Effect::Allow, None),
            _ => {}
        },
        "beforeSubmitPrompt" if all.is("continue", false) => answer.decide(Effect::Deny, told),
        "stop" | "subagentStop" => {
            if let Some(message) = all.text("followup_message") {
                answer.decide(Effect::Deny, Some(message));
            }
        }
        "sessionStart" | "postToolUse" => answer.context = all.text("additional_context"),
        "preCompact" => answer.told = told,
        _ => {}
    }
    if event.name == "preToolUse" && answer.effect != Some(Effect::Deny) {
        answer.input = all.object("updated_input").cloned();
    }
    for (key, what) in [
        ("updated_mcp_tool_output", "replace the tool's output (`updated_mcp_tool_output`)"),
        ("env", "set variables of the session (`env`)"),
    ] {
        if all.has(key) {
            answer.lost.push(what);
        }
    }
    answer
}

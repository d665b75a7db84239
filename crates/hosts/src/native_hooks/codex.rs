//! Hooks of Codex.

use std::path::PathBuf;

use anyhook_model::json::Object;
use anyhook_model::{Effect, EventKind as Kind};

use super::answer::{Members, NativeAnswer, NativeOutcome, told};
use super::{
    Layout, MatcherForm, NativeCommand, NativeEvent, NativeFormat, StartFolder, command_text,
    event, milliseconds, no_folders, number, refuse_others, same_payload,
};
use crate::wiring::SettingsScope;

pub(super) static FORMAT: NativeFormat = NativeFormat {
    host: "codex",
    title: "Codex",
    files,
    folders: no_folders,
    layout: Layout::Groups,
    other_keys: &[],
    switches: &[],
    events: EVENTS,
    command,
    matcher,
    tool_names: &[("apply_patch", &["Write", "Edit"])],
    same_command_once: false,
    counts_positions: true,
    starts_in: StartFolder::Session,
    only_native: &[("stopReason", "ends the run")],
    payload: same_payload,
    answer,
};

const EVENTS: &[NativeEvent] = &[
    event("SessionStart", Kind::SessionStart, "source", 600_000),
    event("SessionEnd", Kind::SessionEnd, "reason", 1_000),
    event("UserPromptSubmit", Kind::BeforeAgent, "", 600_000),
    event("PreToolUse", Kind::BeforeTool, "tool_name", 600_000),
    event("PermissionRequest", Kind::PermissionRequest, "tool_name", 600_000),
    event("PostToolUse", Kind::AfterTool, "tool_name", 600_000).with_failures(),
    event("PreCompact", Kind::PreCompact, "trigger", 600_000),
    event("PostCompact", Kind::PostCompact, "trigger", 600_000),
    event("SubagentStart", Kind::SubagentStart, "agent_type", 600_000),
    event("SubagentStop", Kind::SubagentStop, "agent_type", 600_000),
    event("Stop", Kind::BeforeStop, "", 600_000),
];

/// The events at which exit code 2 has an effect.
const BLOCKED: &[&str] =
    &["PreToolUse", "PermissionRequest", "PostToolUse", "UserPromptSubmit", "Stop", "SubagentStop"];

/// The events at which the model gets a context.
const INFORMED: &[&str] =
    &["PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "SubagentStart"];

/// The members of an object; with any other one, the whole object does not count.
const KNOWN: &[&str] = &[
    "continue",
    "stopReason",
    "suppressOutput",
    "systemMessage",
    "decision",
    "reason",
    "hookSpecificOutput",
];

fn files(scope: &SettingsScope) -> Vec<PathBuf> {
    let folder = match &scope.project {
        Some(project) => project.join(".codex"),
        None => scope.folder("CODEX_HOME", ".codex"),
    };
    vec![folder.join("hooks.json")]
}

fn command(event: &NativeEvent, handler: &Object) -> Result<NativeCommand, String> {
    refuse_others(handler)?;
    let line = command_text(handler, "command")?;
    let timeout_ms = number(handler, "timeout").map_or(event.default_ms, milliseconds);
    let most = if event.kind == Kind::SessionEnd { 3_000 } else { u64::MAX };
    Ok(NativeCommand::by_shell(None, &line, timeout_ms.min(most)))
}

fn matcher(_event: &NativeEvent, matcher: &str) -> MatcherForm {
    MatcherForm::names_or_search(matcher, &['|'], &[])
}

fn answer(event: &NativeEvent, outcome: &NativeOutcome<'_>) -> NativeAnswer {
    match outcome.code {
        Some(0) => {}
        // Without a text it is no block.
        Some(2) => {
            let mut answer = NativeAnswer::default();
            match outcome.error_text() {
                Some(reason) if BLOCKED.contains(&event.name) => {
                    answer.decide(Effect::Deny, Some(reason));
                }
                Some(_) => {}
                None => answer.failure = Some("exit code 2 without a reason".to_owned()),
            }
            return answer;
        }
        _ => return NativeAnswer::failed(outcome.failure()),
    }
    let Some(text) = told(outcome.stdout) else { return NativeAnswer::default() };
    if let Some(object) = outcome.object() {
        return of_object(event, &object).unwrap_or_else(NativeAnswer::failed);
    }
    if text.starts_with(['{', '[']) {
        return NativeAnswer::failed("its output is no valid object");
    }
    let is_context = matches!(event.name, "SessionStart" | "UserPromptSubmit" | "SubagentStart");
    NativeAnswer { context: is_context.then_some(text), ..NativeAnswer::default() }
}

fn of_object(event: &NativeEvent, object: &Object) -> Result<NativeAnswer, String> {
    if let Some(key) = object.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(format!("`{key}` is not a known key"));
    }
    let all = Members(object);
    let mut answer = NativeAnswer { told: all.text("systemMessage"), ..NativeAnswer::default() };
    if event.name == "PreToolUse" {
        for (key, value) in [("suppressOutput", true), ("continue", false)] {
            if all.is(key, value) {
                return Err(format!("`{key}: {value}` is not supported here"));
            }
        }
    }
    match all.word("decision") {
        None => {}
        Some("block") if matches!(event.name, "PermissionRequest") => {}
        Some("block") => {
            let reason = all.text("reason").ok_or("`decision` without a `reason`")?;
            if BLOCKED.contains(&event.name) {
                answer.decide(Effect::Deny, Some(reason));
            }
        }
        Some(other) => return Err(format!("`decision` is `{other}`")),
    }
    if let Some(own) = all.object("hookSpecificOutput") {
        specific(event, &Members(own), &mut answer)?;
    }
    if all.is("continue", false) {
        let why = all.text("stopReason");
        match event.name {
            "UserPromptSubmit" | "PostToolUse" => answer.decide(Effect::Deny, why),
            "Stop" | "SubagentStop" => {
                answer.effect = None;
                answer.reason = None;
            }
            "SessionStart" | "PreCompact" | "PostCompact" => {
                answer.stop("end the run (`continue: false`)", why);
            }
            _ => {}
        }
    }
    Ok(answer)
}

fn specific(
    event: &NativeEvent,
    own: &Members<'_>,
    answer: &mut NativeAnswer,
) -> Result<(), String> {
    if own.word("hookEventName") != Some(event.name) {
        return Err(format!("`hookEventName` is not `{}`", event.name));
    }
    match event.name {
        "PreToolUse" => {
            let input = own.object("updatedInput");
            match (own.word("permissionDecision"), input) {
                (None, None) => {}
                (Some("deny"), _) => {
                    let why = own.text("permissionDecisionReason");
                    answer.decide(Effect::Deny, Some(why.ok_or("a deny without a reason")?));
                }
                (Some("allow"), Some(input)) => answer.input = Some(input.clone()),
                (Some(word), _) => return Err(format!("`{word}` is not supported")),
                (None, Some(_)) => return Err("`updatedInput` without `allow`".to_owned()),
            }
        }
        "PermissionRequest" => {
            let Some(decision) = own.object("decision").map(Members) else { return Ok(()) };
            if decision.has("updatedInput") {
                return Err("`updatedInput` is not supported here".to_owned());
            }
            match decision.word("behavior") {
                Some("allow") => answer.decide(Effect::Allow, None),
                Some("deny") => answer.decide(Effect::Deny, decision.text("message")),
                _ => return Err("`decision` has no `behavior`".to_owned()),
            }
        }
        _ => {}
    }
    if INFORMED.contains(&event.name) {
        answer.context = own.text("additionalContext");
    }
    Ok(())
}

//! Hooks of Qwen Code.

use std::path::PathBuf;

use anyhook_model::json::Object;
use anyhook_model::{Effect, EventKind as Kind};
use serde_json::Value;

use super::answer::{Members, NativeAnswer, NativeOutcome, object, told};
use super::{
    Layout, MatcherForm, NativeCommand, NativeEvent, NativeFormat, StartFolder, command_text,
    event, milliseconds, no_folders, number, refuse_others, same_payload, variables,
};
use crate::wiring::SettingsScope;

pub(super) static FORMAT: NativeFormat = NativeFormat {
    host: "qwen-code",
    title: "Qwen Code",
    files,
    folders: no_folders,
    layout: Layout::Groups,
    other_keys: &["disabled", "enabled"],
    switches: &[(&["disableAllHooks"], true)],
    events: EVENTS,
    command,
    matcher,
    tool_names: &[
        ("run_shell_command", &["Shell"]),
        ("read_file", &["ReadFile"]),
        ("write_file", &["WriteFile"]),
        ("edit", &["Edit"]),
    ],
    same_command_once: false,
    counts_positions: false,
    starts_in: StartFolder::Session,
    only_native: &[("stopReason", "ends the turn, or replaces a tool's output")],
    payload: same_payload,
    answer,
};

const EVENTS: &[NativeEvent] = &[
    event("SessionStart", Kind::SessionStart, "source", 60_000),
    event("SessionEnd", Kind::SessionEnd, "reason", 60_000),
    event("UserPromptSubmit", Kind::BeforeAgent, "", 60_000)
        .unasked("what the agent is told instead of stopping is no prompt"),
    event("PreToolUse", Kind::BeforeTool, "tool_name", 60_000),
    event("PostToolUse", Kind::AfterTool, "tool_name", 60_000),
    event("PostToolUseFailure", Kind::AfterToolFailure, "tool_name", 60_000),
    event("Stop", Kind::BeforeStop, "", 60_000),
    event("SubagentStart", Kind::SubagentStart, "agent_type", 60_000),
    event("PreCompact", Kind::PreCompact, "trigger", 60_000),
    event("Notification", Kind::Notification, "notification_type", 60_000),
];

/// The events at which a block has an effect.
const BLOCKED: &[&str] = &["PreToolUse", "UserPromptSubmit", "Stop"];

/// The events at which the model gets a context.
const INFORMED: &[&str] =
    &["SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "SubagentStart"];

/// A timeout of at least this many seconds is one in milliseconds.
const MILLISECONDS: f64 = 1000.0;

fn files(scope: &SettingsScope) -> Vec<PathBuf> {
    let folder = scope.project.as_ref().unwrap_or(&scope.home).join(".qwen");
    vec![folder.join("settings.json")]
}

fn command(event: &NativeEvent, handler: &Object) -> Result<NativeCommand, String> {
    refuse_others(handler)?;
    match handler.get("shell").and_then(Value::as_str) {
        None | Some("bash") => {}
        Some(other) => return Err(format!("it needs the shell `{other}`")),
    }
    let line = command_text(handler, "command")?;
    let timeout_ms = number(handler, "timeout").map_or(event.default_ms, |number| {
        milliseconds(if number >= MILLISECONDS { number / 1000.0 } else { number })
    });
    let variables = variables(handler);
    Ok(NativeCommand { variables, ..NativeCommand::by_shell(Some("bash"), &line, timeout_ms) })
}

fn matcher(event: &NativeEvent, matcher: &str) -> MatcherForm {
    match event.target {
        Some("trigger" | "notification_type") => MatcherForm::exactly(matcher),
        _ => MatcherForm::names_or_search(matcher, &['|'], &[]),
    }
}

fn answer(event: &NativeEvent, outcome: &NativeOutcome<'_>) -> NativeAnswer {
    let can_block = BLOCKED.contains(&event.name);
    if outcome.code == Some(2) {
        // An object on standard error is read, as on standard output with another exit code.
        if let Some(object) = object(outcome.stderr) {
            return of_object(event, &object);
        }
        let mut answer = NativeAnswer::default();
        match outcome.error_text() {
            Some(reason) if can_block => answer.decide(Effect::Deny, Some(reason)),
            Some(_) => {}
            None => answer.failure = Some("exit code 2 without a reason".to_owned()),
        }
        return answer;
    }
    let text = told(outcome.stdout).or_else(|| told(outcome.stderr));
    let Some(code) = outcome.code else { return NativeAnswer::failed(outcome.failure()) };
    match text.as_deref().map(|text| (text, object(text))) {
        Some((_, Some(object))) => of_object(event, &object),
        _ if code != 0 => NativeAnswer::failed(outcome.failure()),
        Some((text, None)) if event.name == "SessionStart" => {
            NativeAnswer { context: Some(text.to_owned()), ..NativeAnswer::default() }
        }
        Some((text, None)) => {
            let is_object = text.starts_with('{');
            NativeAnswer {
                told: (!is_object).then(|| text.to_owned()),
                failure: is_object.then(|| "its output is no valid object".to_owned()),
                ..NativeAnswer::default()
            }
        }
        None => NativeAnswer::default(),
    }
}

fn of_object(event: &NativeEvent, object: &Object) -> NativeAnswer {
    let all = Members(object);
    let mut answer = NativeAnswer { told: all.text("systemMessage"), ..NativeAnswer::default() };
    if BLOCKED.contains(&event.name) {
        match all.word("decision") {
            Some("deny" | "block") => answer.decide(Effect::Deny, all.text("reason")),
            Some("ask") if event.name == "PreToolUse" => {
                answer.decide(Effect::Ask, all.text("reason"));
            }
            _ => {}
        }
        if all.is("continue", false) {
            answer.decide(Effect::Deny, all.text("stopReason").or_else(|| all.text("reason")));
        }
    } else if all.is("continue", false) && event.name == "PostToolUse" {
        answer.lost.push("replace the tool's output (`continue: false`)");
    }
    if let Some(own) = all.object("hookSpecificOutput").map(Members) {
        if event.name == "PreToolUse" {
            let why = own.text("permissionDecisionReason");
            // The last to say it is right, also about `decision`.
            match own.word("permissionDecision") {
                Some("allow") => {
                    answer.effect = Some(Effect::Allow);
                    answer.reason = why;
                }
                Some("ask") => {
                    answer.effect = Some(Effect::Ask);
                    answer.reason = why;
                }
                Some("deny") => answer.decide(Effect::Deny, why),
                _ => {}
            }
        }
        if INFORMED.contains(&event.name) {
            answer.context = own.text("additionalContext");
        }
    }
    answer
}

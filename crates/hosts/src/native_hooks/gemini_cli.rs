//! Hooks of Gemini CLI.

use std::path::PathBuf;

use anyhook_model::json::Object;
use anyhook_model::{Effect, EventKind as Kind};

use super::answer::{Members, NativeAnswer, NativeOutcome, object, told};
use super::matching::is_every;
use super::{
    Layout, MatcherForm, NativeCommand, NativeEvent, NativeFormat, StartFolder, command_text,
    event, no_folders, number, refuse_others, same_payload, variables,
};
use crate::wiring::SettingsScope;

pub(super) static FORMAT: NativeFormat = NativeFormat {
    host: "gemini-cli",
    title: "Gemini CLI",
    files,
    folders: no_folders,
    layout: Layout::Groups,
    other_keys: &["disabled", "enabled", "notifications"],
    switches: &[(&["hooksConfig", "enabled"], false)],
    events: EVENTS,
    command,
    matcher,
    tool_names: &[],
    same_command_once: true,
    counts_positions: false,
    starts_in: StartFolder::Session,
    only_native: &[
        ("tailToolCallRequest", "calls another tool"),
        ("clearContext", "clears the conversation"),
        ("stopReason", "ends the run"),
    ],
    payload: same_payload,
    answer,
};

const EVENTS: &[NativeEvent] = &[
    event("SessionStart", Kind::SessionStart, "source", 60_000),
    event("SessionEnd", Kind::SessionEnd, "reason", 60_000),
    event("BeforeAgent", Kind::BeforeAgent, "", 60_000),
    event("AfterAgent", Kind::BeforeStop, "", 60_000),
    event("BeforeTool", Kind::BeforeTool, "tool_name", 60_000),
    event("AfterTool", Kind::AfterTool, "tool_name", 60_000).with_failures(),
    event("PreCompress", Kind::PreCompact, "trigger", 60_000)
        .unasked("before each turn it only looks whether to compress"),
    event("Notification", Kind::Notification, "notification_type", 60_000),
];

/// The events at which a block has an effect.
const BLOCKED: &[&str] = &["BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool"];

/// The events at which the model gets a context.
const INFORMED: &[&str] = &["SessionStart", "BeforeAgent", "AfterTool"];

fn files(scope: &SettingsScope) -> Vec<PathBuf> {
    let home = || scope.folder("GEMINI_CLI_HOME", "");
    vec![scope.project.clone().unwrap_or_else(home).join(".gemini/settings.json")]
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion of floating-point numbers saturates"
)]
fn command(event: &NativeEvent, handler: &Object) -> Result<NativeCommand, String> {
    refuse_others(handler)?;
    let line = command_text(handler, "command")?;
    // In milliseconds, unlike the other agents.
    let timeout_ms = number(handler, "timeout").map_or(event.default_ms, |number| number as u64);
    let variables = variables(handler);
    Ok(NativeCommand { variables, ..NativeCommand::by_shell(Some("bash"), &line, timeout_ms) })
}

fn matcher(event: &NativeEvent, matcher: &str) -> MatcherForm {
    let matcher = matcher.trim();
    match event.target {
        _ if is_every(matcher) => MatcherForm::Every,
        Some("tool_name") => MatcherForm::Search(matcher.to_owned()),
        _ => MatcherForm::exactly(matcher),
    }
}

fn answer(event: &NativeEvent, outcome: &NativeOutcome<'_>) -> NativeAnswer {
    // Standard error is read where standard output is empty.
    let Some(text) = told(outcome.stdout).or_else(|| told(outcome.stderr)) else {
        return match outcome.code {
            Some(0 | 2) => NativeAnswer::default(),
            _ => NativeAnswer::failed(outcome.failure()),
        };
    };
    if let Some(object) = object(&text) {
        // Whatever the exit code.
        return of_object(event, &object);
    }
    let mut answer = NativeAnswer::default();
    match outcome.code {
        Some(0) | None => answer.told = Some(text),
        Some(1) => answer.failure = Some(outcome.failure()),
        Some(_) if BLOCKED.contains(&event.name) => answer.decide(Effect::Deny, Some(text)),
        Some(_) => {}
    }
    answer
}

fn of_object(event: &NativeEvent, object: &Object) -> NativeAnswer {
    let all = Members(object);
    let mut answer = NativeAnswer { told: all.text("systemMessage"), ..NativeAnswer::default() };
    let can_block = BLOCKED.contains(&event.name);
    match all.word("decision") {
        Some("deny" | "block") if can_block => {
            let reason = all.text("reason").unwrap_or_else(|| "No reason provided".to_owned());
            answer.decide(Effect::Deny, Some(reason));
        }
        Some("ask") if event.name == "BeforeTool" => {
            answer.decide(Effect::Ask, all.text("reason"));
        }
        Some("allow" | "approve") if event.name == "BeforeTool" => {
            answer.decide(Effect::Allow, None);
        }
        _ => {}
    }
    if all.is("continue", false) {
        let why = all.text("stopReason").or_else(|| all.text("reason"));
        match event.name {
            // The agent ends instead of being told that it may not stop.
            "AfterAgent" => {
                answer.effect = None;
                answer.reason = None;
            }
            "BeforeTool" | "AfterTool" => {
                answer.decide(Effect::Deny, why);
                answer.lost.push("end the run (`continue: false`)");
            }
            "BeforeAgent" => answer.decide(Effect::Deny, why),
            _ => {}
        }
    }
    if all.is("clearContext", true) {
        answer.lost.push("clear the conversation (`clearContext`)");
    }
    if let Some(own) = all.object("hookSpecificOutput").map(Members) {
        if INFORMED.contains(&event.name) {
            answer.context = own.text("additionalContext");
        }
        if event.name == "BeforeTool" && answer.effect != Some(Effect::Deny) {
            answer.input = own.object("tool_input").cloned();
        }
        if own.has("tailToolCallRequest") {
            answer.lost.push("call another tool (`tailToolCallRequest`)");
        }
        if own.is("clearContext", true) {
            answer.lost.push("clear the conversation (`clearContext`)");
        }
    }
    answer
}

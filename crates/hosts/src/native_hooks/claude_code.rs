//! Hooks of Claude Code.

use std::path::PathBuf;

use anyhook_model::json::Object;
use anyhook_model::{Effect, EventKind as Kind};
use serde_json::Value;

use super::answer::{Members, NativeAnswer, NativeOutcome};
use super::{
    Layout, MatcherForm, NativeCommand, NativeEvent, NativeFormat, NativeProgram, StartFolder,
    command_text, event, milliseconds, no_folders, number, refuse_others, same_payload,
};
use crate::wiring::SettingsScope;

pub(super) static FORMAT: NativeFormat = NativeFormat {
    host: "claude-code",
    title: "Claude Code",
    files,
    folders: no_folders,
    layout: Layout::Groups,
    other_keys: &[],
    switches: &[(&["disableAllHooks"], true)],
    events: EVENTS,
    command,
    matcher,
    tool_names: &[("Agent", &["Task"]), ("Task", &["Agent"])],
    same_command_once: true,
    counts_positions: false,
    starts_in: StartFolder::Session,
    only_native: ONLY_NATIVE,
    payload: same_payload,
    answer,
};

const EVENTS: &[NativeEvent] = &[
    event("SessionStart", Kind::SessionStart, "source", 600_000),
    event("SessionEnd", Kind::SessionEnd, "reason", 1_500),
    event("UserPromptSubmit", Kind::BeforeAgent, "", 30_000),
    event("PreToolUse", Kind::BeforeTool, "tool_name", 600_000),
    event("PermissionRequest", Kind::PermissionRequest, "tool_name", 600_000),
    event("PostToolUse", Kind::AfterTool, "tool_name", 600_000),
    event("PostToolUseFailure", Kind::AfterToolFailure, "tool_name", 600_000),
    event("Stop", Kind::BeforeStop, "", 600_000),
    event("SubagentStart", Kind::SubagentStart, "agent_type", 600_000),
    event("SubagentStop", Kind::SubagentStop, "agent_type", 600_000),
    event("PreCompact", Kind::PreCompact, "trigger", 600_000),
    event("PostCompact", Kind::PostCompact, "trigger", 600_000),
    event("Notification", Kind::Notification, "notification_type", 600_000),
];

/// The events at which exit code 2 and `decision: block` have an effect.
const BLOCKED: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "Stop",
    "SubagentStop",
    "PreCompact",
];

/// The events at which the model gets a context.
const INFORMED: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "SessionStart",
    "SubagentStart",
];

/// The events at which `onFailure: block` has an effect.
const FAIL_CLOSED: &[&str] = &["PreToolUse", "PostToolUse", "UserPromptSubmit"];

/// Members of `hookSpecificOutput` that only the agent itself can act on.
const LOST: &[(&str, &str)] = &[
    ("updatedToolOutput", "replace the tool's output (`updatedToolOutput`)"),
    ("updatedMCPToolOutput", "replace the tool's output (`updatedMCPToolOutput`)"),
    ("classifierContext", "`classifierContext`"),
    ("initialUserMessage", "send a first message (`initialUserMessage`)"),
    ("sessionTitle", "name the session (`sessionTitle`)"),
    ("suppressOriginalPrompt", "drop the prompt (`suppressOriginalPrompt`)"),
    ("watchPaths", "watch files (`watchPaths`)"),
    ("reloadSkills", "`reloadSkills`"),
];

/// What only the agent itself can do, by the words for it.
const ONLY_NATIVE: &[(&str, &str)] = &[
    ("updatedToolOutput", "replaces a tool's output"),
    ("updatedMCPToolOutput", "replaces a tool's output"),
    ("classifierContext", "tells the classifier"),
    ("initialUserMessage", "sends a first message"),
    ("sessionTitle", "names the session"),
    ("suppressOriginalPrompt", "drops the prompt"),
    ("watchPaths", "has files watched"),
    ("reloadSkills", "loads skills again"),
    ("updatedPermissions", "changes permissions"),
    ("stopReason", "ends the turn"),
];

fn files(scope: &SettingsScope) -> Vec<PathBuf> {
    match &scope.project {
        Some(project) => ["settings.json", "settings.local.json"]
            .map(|name| project.join(".claude").join(name))
            .to_vec(),
        None => vec![scope.folder("CLAUDE_CONFIG_DIR", ".claude").join("settings.json")],
    }
}

fn command(event: &NativeEvent, handler: &Object) -> Result<NativeCommand, String> {
    refuse_others(handler)?;
    if handler.contains_key("if") {
        return Err("its condition (`if`) is a permission rule, which only the agent reads".into());
    }
    let shell = match handler.get("shell").and_then(Value::as_str) {
        None => "/bin/sh",
        Some("bash") => "bash",
        Some(other) => return Err(format!("it needs the shell `{other}`")),
    };
    let line = command_text(handler, "command")?;
    let timeout_ms = number(handler, "timeout").map_or(event.default_ms, milliseconds);
    let mut command = NativeCommand::by_shell(Some(shell), &line, timeout_ms);
    if let Some(arguments) = handler.get("args") {
        let texts: Option<Vec<&str>> =
            arguments.as_array().and_then(|list| list.iter().map(Value::as_str).collect());
        let texts = texts.ok_or("its `args` are not a list of texts")?;
        let words = std::iter::once(line.as_str()).chain(texts).map(str::to_owned);
        command.program = NativeProgram::Program(words.collect());
    }
    command.blocks_on_failure = handler.get("onFailure").is_some_and(|word| word == "block")
        && FAIL_CLOSED.contains(&event.name);
    Ok(command)
}

fn matcher(_event: &NativeEvent, matcher: &str) -> MatcherForm {
    MatcherForm::names_or_search(matcher, &['|', ','], &[' ', '-'])
}

fn answer(event: &NativeEvent, outcome: &NativeOutcome<'_>) -> NativeAnswer {
    let is_blocked = outcome.code == Some(2);
    let mut answer = match (outcome.object(), outcome.code) {
        (_, None) => return NativeAnswer::failed(outcome.failure()),
        (Some(object), _) => match of_object(event, &object) {
            Err(why) if !is_blocked => return NativeAnswer::failed(why),
            read => read.unwrap_or_default(),
        },
        (None, Some(0)) => plain(event, outcome.stdout),
        (None, Some(2)) => NativeAnswer::default(),
        (None, Some(_)) => return NativeAnswer::failed(outcome.failure()),
    };
    if is_blocked && BLOCKED.contains(&event.name) && answer.effect != Some(Effect::Deny) {
        let reason = outcome.error_text().unwrap_or_else(|| "No stderr output".to_owned());
        answer.decide(Effect::Deny, Some(reason));
        answer.input = None;
    }
    answer
}

/// Reads a text that is no object.
fn plain(event: &NativeEvent, text: &str) -> NativeAnswer {
    let mut answer = NativeAnswer::default();
    let Some(text) = super::answer::told(text) else { return answer };
    match event.name {
        "UserPromptSubmit" | "SessionStart" => answer.context = Some(text),
        "PreCompact" => answer.lost.push("add it to the instructions for compaction"),
        _ => {}
    }
    answer
}

fn of_object(event: &NativeEvent, object: &Object) -> Result<NativeAnswer, String> {
    let all = Members(object);
    let mut answer = NativeAnswer { told: all.text("systemMessage"), ..NativeAnswer::default() };
    match (all.word("decision"), event.name) {
        (Some("block"), name) => {
            if BLOCKED.contains(&name) {
                answer.decide(Effect::Deny, all.text("reason"));
            }
        }
        (Some("approve"), "PreToolUse") => answer.decide(Effect::Allow, all.text("reason")),
        (Some("approve") | None, _) => {}
        (Some(other), _) => return Err(format!("`decision` is `{other}`")),
    }
    if let Some(own) = all.object("hookSpecificOutput") {
        specific(event, &Members(own), &mut answer)?;
    }
    if all.is("continue", false) {
        let why = all.text("stopReason");
        match event.name {
            "UserPromptSubmit" => answer.decide(Effect::Deny, why),
            // The turn ends, whatever else it says.
            "Stop" | "SubagentStop" => {
                answer.effect = None;
                answer.reason = None;
            }
            "PreToolUse" | "PostToolUse" => answer.stop("end the turn (`continue: false`)", why),
            _ => {}
        }
    }
    if answer.effect == Some(Effect::Deny) {
        answer.input = None;
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
            let why = own.text("permissionDecisionReason");
            match own.word("permissionDecision") {
                None => {}
                Some("allow") => answer.decide(Effect::Allow, why),
                Some("ask") => answer.decide(Effect::Ask, why),
                Some("deny") => answer.decide(Effect::Deny, why),
                Some("defer") => answer.stop("end the run until it is resumed (`defer`)", why),
                Some(other) => return Err(format!("`permissionDecision` is `{other}`")),
            }
            answer.input = own.object("updatedInput").cloned();
        }
        "PermissionRequest" => {
            let Some(decision) = own.object("decision").map(Members) else { return Ok(()) };
            match decision.word("behavior") {
                Some("allow") => {
                    answer.decide(Effect::Allow, None);
                    answer.input = decision.object("updatedInput").cloned();
                    if decision.has("updatedPermissions") {
                        answer.lost.push("change permissions (`updatedPermissions`)");
                    }
                }
                Some("deny") => {
                    answer.decide(Effect::Deny, decision.text("message"));
                    if decision.is("interrupt", true) {
                        answer.lost.push("abort the run (`interrupt`)");
                    }
                }
                _ => return Err("`decision` has no `behavior`".to_owned()),
            }
        }
        _ => {}
    }
    if let Some(context) = own.text("additionalContext") {
        match event.name {
            // The agent goes on with it, as if it were a reason not to stop.
            "Stop" | "SubagentStop" => answer.decide(Effect::Deny, Some(context)),
            name if INFORMED.contains(&name) => answer.context = Some(context),
            _ => {}
        }
    }
    answer.lost.extend(LOST.iter().filter(|(key, _)| own.has(key)).map(|(_, what)| *what));
    Ok(())
}

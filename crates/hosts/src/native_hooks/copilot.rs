//! Hooks of Copilot CLI.
//!
//! The spelling of an event's name in its settings selects one of two dialects. Our own entries are
//! in the one whose payloads name their event; for a hook of the other one, the payload is put into
//! that ([`payload`]).

use std::path::PathBuf;

use anyhook_model::json::Object;
use anyhook_model::{Effect, EventKind as Kind};
use jiff::Timestamp;
use serde_json::Value;

use super::answer::{Members, NativeAnswer, NativeOutcome};
use super::matching::is_every;
use super::{
    Layout, MatcherForm, NativeCommand, NativeEvent, NativeFormat, StartFolder, command_text,
    event, milliseconds, number, refuse_others, variables,
};
use crate::wiring::SettingsScope;

pub(super) static FORMAT: NativeFormat = NativeFormat {
    host: "copilot",
    title: "Copilot CLI",
    files,
    folders,
    layout: Layout::Flat,
    other_keys: &[],
    switches: &[(&["disableAllHooks"], true)],
    events: EVENTS,
    command,
    matcher,
    tool_names: TOOL_NAMES,
    same_command_once: false,
    counts_positions: false,
    starts_in: StartFolder::Session,
    only_native: &[
        ("modifiedResult", "replaces a tool's output"),
        ("modifiedPrompt", "replaces the prompt"),
        ("modifiedResponse", "replaces a subagent's response"),
        ("interrupt", "aborts the run"),
    ],
    payload,
    answer,
};

const PROMPTS_OF_SUBAGENTS: &str = "what a subagent is sent is no prompt of a person's";
const STOPS_OF_SUBAGENTS: &str = "a subagent's turn that ends is no stop";

/// In both spellings. There is none for a permission request, at which we are not asked.
const EVENTS: &[NativeEvent] = &[
    event("SessionStart", Kind::SessionStart, "", 30_000),
    event("sessionStart", Kind::SessionStart, "", 30_000).asked_as("SessionStart"),
    event("SessionEnd", Kind::SessionEnd, "", 30_000),
    event("sessionEnd", Kind::SessionEnd, "", 30_000).asked_as("SessionEnd"),
    event("UserPromptSubmit", Kind::BeforeAgent, "", 30_000).unasked(PROMPTS_OF_SUBAGENTS),
    event("userPromptSubmitted", Kind::BeforeAgent, "", 30_000)
        .asked_as("UserPromptSubmit")
        .unasked(PROMPTS_OF_SUBAGENTS),
    event("PreToolUse", Kind::BeforeTool, "tool_name", 30_000),
    event("preToolUse", Kind::BeforeTool, "toolName", 30_000).asked_as("PreToolUse"),
    event("PostToolUse", Kind::AfterTool, "tool_name", 30_000).with_failures(),
    event("postToolUse", Kind::AfterTool, "toolName", 30_000)
        .asked_as("PostToolUse")
        .with_failures(),
    event("PostToolUseFailure", Kind::AfterToolFailure, "tool_name", 30_000),
    event("postToolUseFailure", Kind::AfterToolFailure, "toolName", 30_000)
        .asked_as("PostToolUseFailure"),
    event("Stop", Kind::BeforeStop, "", 30_000).unasked(STOPS_OF_SUBAGENTS),
    event("agentStop", Kind::BeforeStop, "", 30_000).asked_as("Stop").unasked(STOPS_OF_SUBAGENTS),
    event("SubagentStart", Kind::SubagentStart, "agentName", 30_000),
    event("subagentStart", Kind::SubagentStart, "agentName", 30_000).asked_as("SubagentStart"),
    event("SubagentStop", Kind::SubagentStop, "agent_name", 30_000),
    event("subagentStop", Kind::SubagentStop, "agentName", 30_000).asked_as("SubagentStop"),
    event("PreCompact", Kind::PreCompact, "trigger", 30_000),
    event("preCompact", Kind::PreCompact, "trigger", 30_000).asked_as("PreCompact"),
    event("Notification", Kind::Notification, "notification_type", 30_000),
    event("notification", Kind::Notification, "notification_type", 30_000).asked_as("Notification"),
];

/// The names of its tools in the two dialects: in the payloads that we are given, and in the other.
/// There, `grep` is `rg` with some models.
const TOOL_NAMES: &[(&str, &[&str])] = &[
    ("Bash", &["bash"]),
    ("PowerShell", &["powershell"]),
    ("Read", &["view"]),
    ("Write", &["create"]),
    ("Edit", &["edit"]),
    ("Grep", &["grep", "rg"]),
    ("Glob", &["glob"]),
    ("WebFetch", &["web_fetch"]),
    ("WebSearch", &["web_search"]),
    ("Agent", &["task"]),
    ("TodoWrite", &["update_todo"]),
    ("AskUserQuestion", &["ask_user"]),
    ("grep", &["rg"]),
];

/// The events at which `decision: block` has an effect.
const BLOCKED: &[&str] = &["UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop"];

/// The events at which the model gets a context.
const INFORMED: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
];

fn files(scope: &SettingsScope) -> Vec<PathBuf> {
    match &scope.project {
        Some(project) => ["settings.json", "settings.local.json"]
            .map(|name| project.join(".github/copilot").join(name))
            .to_vec(),
        None => vec![user_folder(scope).join("settings.json")],
    }
}

fn folders(scope: &SettingsScope) -> Vec<PathBuf> {
    vec![match &scope.project {
        Some(project) => project.join(".github/hooks"),
        None => user_folder(scope).join("hooks"),
    }]
}

fn user_folder(scope: &SettingsScope) -> PathBuf {
    scope.folder("COPILOT_HOME", ".copilot")
}

fn command(event: &NativeEvent, handler: &Object) -> Result<NativeCommand, String> {
    refuse_others(handler)?;
    let key = if handler.contains_key("bash") { "bash" } else { "command" };
    let line = command_text(handler, key)?;
    let seconds = number(handler, "timeoutSec").or_else(|| number(handler, "timeout"));
    let timeout_ms = seconds.map_or(event.default_ms, milliseconds);
    Ok(NativeCommand {
        variables: variables(handler),
        folder: handler.get("cwd").and_then(Value::as_str).map(str::to_owned),
        ..NativeCommand::by_shell(Some("bash"), &line, timeout_ms)
    })
}

fn matcher(event: &NativeEvent, matcher: &str) -> MatcherForm {
    let is_literal = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '|');
    if matcher == "**" && event.target == Some("tool_name") {
        MatcherForm::Every
    } else if event.target == Some("tool_name") && matcher.chars().all(is_literal) {
        MatcherForm::names_or_search(matcher, &['|'], &[])
    } else if is_every(matcher) {
        MatcherForm::Every
    } else {
        MatcherForm::Whole(matcher.to_owned())
    }
}

/// The fields of a payload in the dialect that does not name its event, by what they are called in
/// the other one.
const RENAMED: &[(&str, &str)] = &[
    ("agent_id", "agentId"),
    ("agent_name", "agentName"),
    ("agent_type", "agentType"),
    ("custom_instructions", "customInstructions"),
    ("initial_prompt", "initialPrompt"),
    ("last_assistant_message", "response"),
    ("parent_agent_id", "parentAgentId"),
    ("session_id", "sessionId"),
    ("stop_reason", "stopReason"),
    ("tool_input", "toolArgs"),
    ("tool_name", "toolName"),
    ("tool_result", "toolResult"),
    ("transcript_path", "transcriptPath"),
];

/// The fields of a tool's result, the same way.
const RENAMED_IN_RESULT: &[(&str, &str)] =
    &[("result_type", "resultType"), ("text_result_for_llm", "textResultForLlm")];

fn payload(event: &NativeEvent, payload: Object) -> Object {
    // A notification is the same in both.
    if event.name == event.asked_as || event.kind == Kind::Notification {
        return payload;
    }
    let is_patch = payload.get("tool_input").is_some_and(Value::is_string);
    let mut other = Object::new();
    for (name, value) in payload {
        let value = match (name.as_str(), value) {
            ("hook_event_name", _) => continue,
            ("timestamp", Value::String(time)) => match time.parse::<Timestamp>() {
                Ok(time) => time.as_millisecond().into(),
                Err(_) => time.into(),
            },
            // A patch is called as the tool that replaces a text is.
            ("tool_name", Value::String(tool)) if is_patch && tool == "Edit" => {
                "apply_patch".into()
            }
            ("tool_name", Value::String(tool)) => native_tool(&tool).into(),
            ("tool_result", Value::Object(result)) => {
                Value::Object(renamed(result, RENAMED_IN_RESULT))
            }
            (_, value) => value,
        };
        other.insert(name, value);
    }
    renamed(other, RENAMED)
}

fn native_tool(tool: &str) -> &str {
    TOOL_NAMES.iter().find(|(name, _)| *name == tool).map_or(tool, |(_, names)| names[0])
}

fn renamed(fields: Object, names: &[(&str, &str)]) -> Object {
    let name = |given: String| {
        names.iter().find(|(known, _)| *known == given).map_or(given, |(_, own)| (*own).to_owned())
    };
    fields.into_iter().map(|(field, value)| (name(field), value)).collect()
}

fn answer(event: &NativeEvent, outcome: &NativeOutcome<'_>) -> NativeAnswer {
    let mut answer = NativeAnswer::default();
    match (outcome.code, event.asked_as) {
        (Some(0), _) => {}
        (Some(2), "PreToolUse") => {
            // Only the reason is read from standard output.
            let object = outcome.object().unwrap_or_default();
            let is_denied = object.get("permissionDecision").is_some_and(|word| word == "deny");
            let why = Members(&object).text("permissionDecisionReason").filter(|_| is_denied);
            let why = why.unwrap_or_else(|| "hook exited with code 2".to_owned());
            answer.decide(Effect::Deny, Some(why));
            return answer;
        }
        // Every failure denies, whatever the output says.
        (_, "PreToolUse") => {
            answer.decide(Effect::Deny, Some("hook errored".to_owned()));
            return answer;
        }
        (Some(2), _) => {
            answer.told = outcome.error_text();
            return answer;
        }
        _ => return NativeAnswer::failed(outcome.failure()),
    }
    let is_progress = |line: &&str| line.trim_start().starts_with(r#"{"type":"progress""#);
    let rest: Vec<&str> = outcome.stdout.lines().filter(|line| !is_progress(line)).collect();
    let Some(object) = super::answer::object(&rest.join("\n")) else { return answer };
    let all = Members(&object);
    // The dialect that names its events also has an object of its own for what is specific to one.
    let specific = all.object("hookSpecificOutput").filter(|_| event.name == event.asked_as);
    let own = specific.map_or(Members(&object), Members);
    match event.asked_as {
        "PreToolUse" => {
            for part in [&all, &own] {
                let why = part.text("permissionDecisionReason");
                match part.word("permissionDecision") {
                    Some("allow") => answer.decide(Effect::Allow, why),
                    Some("ask") => answer.decide(Effect::Ask, why),
                    Some("deny") => answer.decide(Effect::Deny, why),
                    _ => {}
                }
            }
            if answer.effect != Some(Effect::Deny) {
                answer.input = all.object("modifiedArgs").cloned();
            }
        }
        name if BLOCKED.contains(&name) && all.word("decision") == Some("block") => {
            answer.decide(Effect::Deny, all.text("reason"));
        }
        _ => {}
    }
    if INFORMED.contains(&event.asked_as) {
        answer.context = all.text("additionalContext");
    }
    for (key, what) in [
        ("modifiedResult", "replace the tool's output (`modifiedResult`)"),
        ("modifiedPrompt", "replace the prompt (`modifiedPrompt`)"),
        ("interrupt", "abort the run (`interrupt`)"),
    ] {
        if all.has(key) {
            answer.lost.push(what);
        }
    }
    answer
}

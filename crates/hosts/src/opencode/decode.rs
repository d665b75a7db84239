//! Decodes what our plugin for OpenCode and its forks sends into events.

use anyhook_model::event::CallDoubt;
use anyhook_model::json::{FieldRole, Object, OpaqueField};
use anyhook_model::kind::are_alike;
use anyhook_model::{Caller, DecodeError, Event, EventKind, patch_events};
use serde_json::{Value, json};

use super::flavour::Flavour;
use super::question;
use crate::payload::{CUT, Payload, path, repeated_id, stop_events};
use crate::tool;

/// The values in a payload that only hooks need.
pub const OPAQUE_FIELDS: &[OpaqueField] = &[
    OpaqueField { path: &["output", "args"], role: FieldRole::Input },
    OpaqueField { path: &["input", "args"], role: FieldRole::Input },
    OpaqueField {
        path: &["event", "properties", "part", "state", "input"],
        role: FieldRole::Input,
    },
    OpaqueField { path: &["output", "output"], role: FieldRole::Other },
];

/// Returns whether a payload comes from a run without a screen.
pub fn is_headless(payload: &Object) -> bool {
    payload.get("headless").and_then(Value::as_bool) == Some(true)
}

pub fn decode(flavour: &Flavour, bytes: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
    let mut payload = Payload::read(bytes)?;
    let hook = payload.event_name("hook")?;
    let directory = path(payload.text("directory")).unwrap_or_else(|| caller.work_dir.clone());
    let mut event = Event::new(EventKind::Other(hook.clone()), flavour.id, &directory, caller.now);
    event.native_name = Some(hook.clone());
    // Outside a repository, the worktree is the root folder of the disk, which is not a project.
    event.project_dir = path(payload.text("worktree"))
        .filter(|folder| folder.parent().is_some())
        .or(Some(directory));
    let parent = payload.text("parent");
    event.session = session(&payload);
    if let Some(parent) = &parent {
        // A subagent works in its own session; for hooks it is part of the parent session.
        event.agent = event.session.replace(parent.clone());
    }
    let is_subagent = parent.is_some();
    // No one can answer in that case: the host rejects it at once.
    let is_headless = is_headless(&payload.fields);
    let hook = if HOOKS.contains(&hook.as_str()) { &hook } else { meant(&hook) };
    match hook {
        "chat.message" => prompt(&mut event, &payload),
        "tool.execute.before" | "tool.execute.after" => call(flavour, &mut event, &payload, hook),
        "message.part.updated" => failed_call(flavour, &mut event, &payload),
        "session.created" => created(&mut event, &payload),
        "session.idle" if is_subagent => event.kind = EventKind::SubagentStop,
        "session.idle" => event.kind = EventKind::BeforeStop,
        "session.deleted" => event.kind = EventKind::SessionEnd,
        "experimental.session.compacting" => event.kind = EventKind::PreCompact,
        "session.compacted" => event.kind = EventKind::PostCompact,
        "permission.asked" if is_headless => event.kind = EventKind::Notification,
        "permission.asked" | "question.asked" => prompted(flavour, &mut event, &payload, hook),
        // The call was asked about before: this is not a `before_tool`, and nothing that could be
        // denied.
        "permission.replied" | "question.replied" | "question.rejected"
            if field(&payload, "input", "tool").is_some() =>
        {
            read_tool(flavour, &mut event, &payload);
        }
        _ if carries_call(&payload) => event.doubt = Some(CallDoubt::UnknownEvent),
        _ => {}
    }
    if payload.mended
        && let Some(tool) = &mut event.tool
    {
        tool.fixed = Some("it could not be parsed exactly");
    }
    match event.kind {
        // A truncated name may be that of a tool event.
        EventKind::Other(_) if payload.cut => return Err(DecodeError::NotJson(CUT.to_owned())),
        _ if hook.starts_with("tool.execute.") => {
            event.doubt = payload.doubt(field(&payload, "input", "tool"));
        }
        _ => {}
    }
    let is_permission = hook == "permission.asked";
    // Our plugin knows the servers.
    if payload.fields.get("mcp").is_some_and(Value::is_object)
        && let Some(tool) = &mut event.tool
        && let Some(native) = &tool.native
        && !tool::is_known(flavour.tools, flavour.other_tools, &native.tool_name)
    {
        "Mcp".clone_into(&mut tool.name);
    }
    event.raw = payload.fields;
    Ok(match event.kind {
        EventKind::BeforeStop => stop_events(event),
        EventKind::Notification => vec![notification(&event)],
        EventKind::PermissionRequest if is_permission => {
            let notification = notification(&event);
            let mut events = patch_events::of_call(event);
            events.push(notification);
            events
        }
        _ => patch_events::of_call(event),
    })
}

/// The names of what our plugin sends.
const HOOKS: [&str; 14] = [
    "tool.execute.before",
    "tool.execute.after",
    "chat.message",
    "message.part.updated",
    "session.created",
    "session.idle",
    "session.deleted",
    "experimental.session.compacting",
    "session.compacted",
    "permission.asked",
    "permission.replied",
    "question.asked",
    "question.replied",
    "question.rejected",
];

/// Returns the name that is meant by one in another case or of another agent.
#[cold]
fn meant(name: &str) -> &str {
    if let Some(known) = HOOKS.iter().find(|known| are_alike(known, name)) {
        return known;
    }
    match EventKind::in_any_spelling(name) {
        Some((EventKind::BeforeTool, _)) => "tool.execute.before",
        Some((EventKind::AfterTool, _)) => "tool.execute.after",
        _ => name,
    }
}

/// Returns whether a payload with an unknown name is that of a tool call.
fn carries_call(payload: &Payload) -> bool {
    let is_given =
        |part: &str, name: &str| field(payload, part, name).is_some_and(|value| !value.is_null());
    is_given("input", "tool") || is_given("output", "args") || is_given("input", "args")
}

fn session(payload: &Payload) -> Option<String> {
    let paths: [&[&str]; 3] = [
        &["input", "sessionID"],
        &["event", "properties", "sessionID"],
        &["event", "properties", "info", "id"],
    ];
    paths.iter().find_map(|path| {
        let (first, rest) = path.split_first()?;
        let value = payload.fields.get(*first)?;
        rest.iter().try_fold(value, |value, name| value.get(name))?.as_str().map(str::to_owned)
    })
}

fn field<'payload>(payload: &'payload Payload, part: &str, name: &str) -> Option<&'payload Value> {
    payload.fields.get(part)?.get(name)
}

fn prompt(event: &mut Event, payload: &Payload) {
    let parts = field(payload, "output", "parts").and_then(Value::as_array);
    let texts = parts.into_iter().flatten().filter_map(|part| part.get("text")?.as_str());
    let prompt = texts.collect::<Vec<_>>().join("\n");
    event.kind = EventKind::BeforeAgent;
    event.repeats = repeated_id(&prompt);
    event.data.insert("prompt".to_owned(), prompt.into());
}

/// Reads which tool is called, and with what input.
fn read_tool(flavour: &Flavour, event: &mut Event, payload: &Payload) {
    let name =
        field(payload, "input", "tool").and_then(Value::as_str).unwrap_or_default().to_owned();
    let arguments = field(payload, "output", "args").or_else(|| field(payload, "input", "args"));
    let use_id = field(payload, "input", "callID").and_then(Value::as_str).map(str::to_owned);
    event.tool = Some(tool::canonical(
        flavour.tools,
        flavour.other_tools,
        name,
        arguments.cloned().unwrap_or_default(),
        use_id,
    ));
}

fn call(flavour: &Flavour, event: &mut Event, payload: &Payload, hook: &str) {
    read_tool(flavour, event, payload);
    event.kind = EventKind::BeforeTool;
    if hook == "tool.execute.after" {
        let output = field(payload, "output", "output").cloned().unwrap_or_default();
        event.data.insert("tool_output".to_owned(), output);
        // The host considers a failed shell command a success; its exit code shows the failure.
        let code = field(payload, "output", "metadata")
            .and_then(|metadata| metadata.get("exit")?.as_i64());
        event.kind = match code {
            Some(code) if code != 0 => {
                event.data.insert("error".to_owned(), format!("exit {code}").into());
                EventKind::AfterToolFailure
            }
            _ => EventKind::AfterTool,
        };
    }
}

/// Reads a dialog that our plugin can answer. It is about a call that the plugin has seen;
/// otherwise the dialog itself describes the call.
fn prompted(flavour: &Flavour, event: &mut Event, payload: &Payload, hook: &str) {
    let asked = payload
        .fields
        .get("event")
        .and_then(|event| event.get("properties"))
        .unwrap_or(&Value::Null);
    let is_question = hook == "question.asked";
    let called = field(payload, "input", "tool").and_then(Value::as_str);
    if called.is_some_and(|name| !is_question || name == question::TOOL) {
        read_tool(flavour, event, payload);
    } else {
        let (name, input) = if is_question {
            (question::TOOL, json!({"questions": asked.get("questions")}))
        } else {
            let permission = asked.get("permission").and_then(Value::as_str).unwrap_or_default();
            let mut input = asked.get("metadata").cloned().unwrap_or_default();
            // Without the patterns, permission requests for different commands look the same.
            if let (Some(fields), Some(patterns)) = (input.as_object_mut(), asked.get("patterns"))
                && fields.is_empty()
            {
                fields.insert("patterns".to_owned(), patterns.clone());
            }
            (permission, input)
        };
        let use_id = asked.pointer("/tool/callID").and_then(Value::as_str).map(str::to_owned);
        event.tool = Some(tool::canonical(
            flavour.tools,
            flavour.other_tools,
            name.to_owned(),
            input,
            use_id,
        ));
    }
    event.kind = EventKind::PermissionRequest;
}

/// Returns the notification for a permission request, which is a notification as well.
fn notification(asked: &Event) -> Event {
    let mut event = Event { kind: EventKind::Notification, tool: None, ..asked.clone() };
    let permission =
        event.raw.get("event").and_then(|event| event.pointer("/properties/permission")).cloned();
    event.data.insert("kind".to_owned(), "permission_prompt".into());
    event.data.insert("message".to_owned(), permission.unwrap_or_default());
    event
}

fn failed_call(flavour: &Flavour, event: &mut Event, payload: &Payload) {
    let Some(part) =
        payload.fields.get("event").and_then(|event| event.pointer("/properties/part"))
    else {
        return;
    };
    if part.pointer("/state/status").and_then(Value::as_str) != Some("error") {
        return;
    }
    let text = |name: &str| part.get(name).and_then(Value::as_str).map(str::to_owned);
    let input = part.pointer("/state/input").cloned().unwrap_or_default();
    event.kind = EventKind::AfterToolFailure;
    event.tool = Some(tool::canonical(
        flavour.tools,
        flavour.other_tools,
        text("tool").unwrap_or_default(),
        input,
        text("callID"),
    ));
    event
        .data
        .insert("error".to_owned(), part.pointer("/state/error").cloned().unwrap_or_default());
}

fn created(event: &mut Event, payload: &Payload) {
    let info = payload.fields.get("event").and_then(|event| event.pointer("/properties/info"));
    let parent = info.and_then(|info| info.get("parentID")?.as_str());
    let Some(parent) = parent else {
        event.kind = EventKind::SessionStart;
        event.data.insert("model".to_owned(), Value::Null);
        return;
    };
    event.kind = EventKind::SubagentStart;
    if event.agent.is_none() {
        event.agent = event.session.replace(parent.to_owned());
    }
    let title = info.and_then(|info| info.get("title")).cloned().unwrap_or_else(|| json!(null));
    event.data.insert("task_description".to_owned(), title);
}

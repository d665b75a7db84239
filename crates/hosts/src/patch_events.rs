//! A patch as events: one for each file it touches.

use anyhook_model::Event;
use anyhook_model::ToolCall;
use anyhook_model::event::NativeCall;
use serde_json::{Value, json};

use crate::patch::{self, FileChange};

/// Why no hook may change a patch: it is one call, and several events.
const FIXED: &str = "it is a patch, which can be denied but not rewritten";

/// Splits the event of a patch call into one for each file; a patch that names none stays whole.
pub fn split(event: Event, patch_field: &str) -> Vec<Event> {
    let Some(tool) = &event.tool else { return vec![event] };
    let text = tool.input.get(patch_field).and_then(Value::as_str).unwrap_or_default();
    let changes = patch::read(text);
    if changes.is_empty() {
        let mut whole = event;
        if let Some(tool) = &mut whole.tool {
            tool.fixed = Some(FIXED);
        }
        return vec![whole];
    }
    let mut events: Vec<Event> = Vec::with_capacity(changes.len().min(EVENTS_LIMIT));
    for change in changes {
        let (name, input, files) = canonical(change);
        let files: Vec<String> = files
            .iter()
            .map(|path| event.work_dir.join(path).to_string_lossy().into_owned())
            .collect();
        if events.len() >= EVENTS_LIMIT
            && let Some(same) = events
                .iter_mut()
                .rev()
                .filter_map(|event| event.tool.as_mut())
                .find(|tool| tool.name == name)
        {
            add_file(same, input, files);
            continue;
        }
        let mut part = event_of(&event, events.is_empty());
        if let Some(tool) = &mut part.tool {
            name.clone_into(&mut tool.name);
            tool.input = input;
            tool.files = files.into();
            tool.fixed = Some(FIXED);
        }
        events.push(part);
    }
    events
}

/// A patch of more files than this puts the rest together, by what happens to them.
const EVENTS_LIMIT: usize = 200;

/// Returns the event for one file. Only the first carries the whole patch: it would be there as
/// often as there are files.
fn event_of(event: &Event, is_first: bool) -> Event {
    if is_first {
        return event.clone();
    }
    let native = event.tool.as_ref().and_then(|tool| tool.native.as_ref());
    let native = native
        .map(|native| NativeCall { tool_name: native.tool_name.clone(), tool_input: Value::Null });
    let tool = event.tool.as_ref().map(|tool| ToolCall {
        name: String::new(),
        input: Value::Null,
        use_id: tool.use_id.clone(),
        files: Value::Null,
        native,
        fixed: Some(FIXED),
    });
    Event {
        tool,
        native_name: event.native_name.clone(),
        session: event.session.clone(),
        agent: event.agent.clone(),
        project_dir: event.project_dir.clone(),
        data: event.data.clone(),
        ..Event::new(event.kind.clone(), &event.host, &event.work_dir, event.at)
    }
}

/// Puts a further file into the event of others.
fn add_file(tool: &mut ToolCall, input: Value, files: Vec<String>) {
    if let Some(fields) = tool.input.as_object_mut() {
        let more = fields.entry("more").or_insert_with(|| json!([]));
        if let Some(more) = more.as_array_mut() {
            more.push(input);
        }
    }
    if let Some(list) = tool.files.as_array_mut() {
        list.extend(files.into_iter().map(Value::from));
    }
}

fn canonical(change: FileChange) -> (&'static str, Value, Vec<String>) {
    match change {
        FileChange::Add { path, content } => {
            ("WriteFile", json!({"path": path, "content": content}), vec![path])
        }
        FileChange::Update { path, old, new } => {
            ("EditFile", json!({"path": path, "old": old, "new": new}), vec![path])
        }
        FileChange::Delete { path } => ("DeleteFile", json!({"path": path}), vec![path]),
        FileChange::Move { path, to } => {
            ("MoveFile", json!({"path": path, "to": to}), vec![path, to])
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use anyhook_model::EventKind;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn every_file_of_a_huge_patch_is_seen_in_little_memory() {
        let patch: String = (0..5_000)
            .map(|index| format!("*** Delete File: f{index}\n"))
            .collect::<Vec<_>>()
            .concat();
        let mut event =
            Event::new(EventKind::BeforeTool, "codex", Path::new("/p"), Timestamp::UNIX_EPOCH);
        event.tool = Some(ToolCall {
            name: "apply_patch".to_owned(),
            input: json!({"command": patch}),
            use_id: None,
            files: Value::Null,
            native: Some(NativeCall {
                tool_name: "apply_patch".to_owned(),
                tool_input: json!({"command": patch}),
            }),
            fixed: None,
        });
        let events = split(event, "command");
        assert_eq!(events.len(), EVENTS_LIMIT);
        let files: usize = events
            .iter()
            .map(|event| event.tool.as_ref().unwrap().files.as_array().unwrap().len())
            .sum();
        assert_eq!(files, 5_000);
    }
}

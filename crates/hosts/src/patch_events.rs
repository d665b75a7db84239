//! A patch as events: one for each file it touches.

use anyhook_model::Event;
use anyhook_model::ToolCall;
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
    changes
        .into_iter()
        .map(|change| {
            let (name, input, files) = canonical(change);
            let files = files
                .iter()
                .map(|path| event.work_dir.join(path).to_string_lossy().into_owned())
                .collect();
            let call = ToolCall {
                name: name.to_owned(),
                input,
                files,
                fixed: Some(FIXED),
                ..tool.clone()
            };
            Event { tool: Some(call), ..event.clone() }
        })
        .collect()
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

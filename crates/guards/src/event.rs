//! The event as a hook's script gets it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhook_model::EventKind;
use serde_json::Value;

/// A larger file is not compared with what is written to it.
const FILE_LIMIT: u64 = 16 * 1024 * 1024;

/// An event, with its fields by name.
#[derive(Clone, Debug)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    value: Value,
}

impl Event {
    /// Wraps an event; one without a readable `event_type` is of another kind.
    pub fn new(value: Value) -> Self {
        let name = value.get("event_type").and_then(Value::as_str).unwrap_or_default();
        let kind = EventKind::in_any_spelling(name);
        let kind = kind.map_or_else(|| EventKind::Other(name.to_owned()), |(kind, _)| kind);
        Self { kind, value }
    }

    /// Returns a field; null if it is missing.
    pub fn get(&self, field: &str) -> &Value {
        self.value.get(field).unwrap_or(&Value::Null)
    }

    /// Returns a field's text; empty if it is missing or not a text.
    pub fn text(&self, field: &str) -> &str {
        self.get(field).as_str().unwrap_or_default()
    }

    /// Returns the tool's name.
    pub fn tool(&self) -> &str {
        self.text("tool_name")
    }

    /// Returns the tool's input.
    pub fn input(&self) -> &Value {
        self.get("tool_input")
    }

    /// Returns a text of the tool's input; empty if it is missing or not a text.
    pub fn text_of_input(&self, field: &str) -> &str {
        self.input().get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the session, or `none`.
    pub fn session(&self) -> &str {
        match self.text("session_id") {
            "" => "none",
            session => session,
        }
    }

    /// Returns whether the tool changes files by itself.
    pub fn is_write(&self) -> bool {
        ["WriteFile", "EditFile", "DeleteFile", "MoveFile"].contains(&self.tool())
    }

    /// Returns the file that the tool reads or writes, absolute.
    pub fn file(&self) -> Option<PathBuf> {
        let field = |name: &str| self.input().get(name)?.as_str().map(str::to_owned);
        let of_files = || self.get("files").as_array()?.first()?.as_str().map(str::to_owned);
        let given = if self.tool() == "MoveFile" { field("to") } else { None };
        let path = given.or_else(of_files).or_else(|| field("path"))?;
        Some(Path::new(self.text("work_dir")).join(path))
    }

    /// Returns the file's current content, as far as it is text; empty if there is none.
    pub fn file_content(&self) -> String {
        let read = |path: PathBuf| {
            let file = File::open(path).ok().filter(is_regular)?;
            let mut bytes = Vec::new();
            file.take(FILE_LIMIT).read_to_end(&mut bytes).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        self.file().and_then(read).unwrap_or_default()
    }
}

fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file())
}

/// Returns a path relative to a folder, as far as it is in it.
pub fn relative(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_file_of_a_call() {
        let of = |event| Event::new(event).file();
        let path = json!({"event_type": "pre-tool-call", "work_dir": "/p", "tool_name": "WriteFile", "tool_input": {"path": "a/b"}});
        assert_eq!(Event::new(path.clone()).kind, EventKind::BeforeTool);
        assert_eq!(of(path), Some("/p/a/b".into()));
        let files =
            json!({"tool_name": "EditFile", "files": ["/q/c"], "tool_input": {"path": "c"}});
        assert_eq!(of(files), Some("/q/c".into()));
        let moved = json!({"tool_name": "MoveFile", "work_dir": "/p", "files": ["/p/a", "/p/b"], "tool_input": {"path": "a", "to": "b"}});
        assert_eq!(of(moved), Some("/p/b".into()));
        assert_eq!(of(json!({"tool_name": "Shell"})), None);
    }
}

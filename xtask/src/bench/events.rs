//! The events used for measuring, as files.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// A kilobyte: an ordinary tool call.
pub const SMALL: usize = 1024;
/// A megabyte: a whole file that is written.
pub const LARGE: usize = 1024 * 1024;
/// As much as an agent may send in the worst case.
pub const HUGE: usize = 10 * 1024 * 1024;

/// A shell call whose command fills the event up to `size` bytes. Hooks for the shell search all of
/// it.
pub fn command(project: &Path, size: usize) -> Result<String> {
    filled(size, |filling| call(project, "Shell", &json!({"command": format!("echo {filling}")})))
}

/// A file that is written; hooks for the shell have nothing to search.
pub fn file(project: &Path, size: usize) -> Result<String> {
    filled(size, |filling| {
        call(project, "WriteFile", &json!({"path": "notes.txt", "content": filling}))
    })
}

/// A shell call with very many small values, some of each kind. Hooks for the shell search all of
/// them.
pub fn small_values(project: &Path, size: usize) -> String {
    let row = |number: usize| json!({"n": number, "name": format!("v{number}"), "on": true});
    let each = row(100_000).to_string().len() + 1;
    let rows: Vec<Value> = (0..size / each).map(row).collect();
    format!("{}\n", call(project, "Shell", &json!({"command": "echo", "rows": rows})))
}

/// What Claude Code sends before a tool, filled up to `size` bytes.
pub fn claude_code(project: &Path, size: usize) -> Result<String> {
    filled(size, |filling| {
        json!({
            "session_id": "00000000-0000-4000-8000-000000000001",
            "transcript_path": project.join("transcript.jsonl"),
            "cwd": project,
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": format!("echo {filling}"), "description": "Say it"},
            "tool_use_id": "toolu_01_00",
        })
    })
}

/// A tool call in the open format.
fn call(project: &Path, tool: &str, input: &Value) -> Value {
    json!({
        "event_type": "before_tool",
        "timestamp": "2026-01-01T00:00:00Z",
        "session_id": "bench",
        "work_dir": project,
        "tool_name": tool,
        "tool_input": input,
        "tool_use_id": "bench-1",
        "context": {},
    })
}

/// Fills an event up to its size with lines of text, like files and commands.
fn filled(size: usize, event: impl Fn(&str) -> Value) -> Result<String> {
    let text = |filling: &str| format!("{}\n", event(filling));
    let space = size.checked_sub(text("").len()).context("the project's path is too long")?;
    let line = "let every line of this text be one that no hook is looking for\n";
    // A newline is two bytes in JSON.
    let lines = space / (line.len() + 1);
    let filling = line.repeat(lines) + &"x".repeat(space - lines * (line.len() + 1));
    Ok(text(&filling))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_the_promised_size() {
        let project = Path::new("/tmp/project");
        for size in [SMALL, LARGE] {
            assert_eq!(command(project, size).unwrap().len(), size);
            assert_eq!(file(project, size).unwrap().len(), size);
            assert_eq!(claude_code(project, size).unwrap().len(), size);
        }
        let many = small_values(project, LARGE);
        assert!((LARGE * 9 / 10..=LARGE * 11 / 10).contains(&many.len()), "{}", many.len());
    }

    #[test]
    fn events_are_json_on_one_line() {
        let project = Path::new("/tmp/project");
        let texts = [
            command(project, SMALL).unwrap(),
            file(project, SMALL).unwrap(),
            claude_code(project, SMALL).unwrap(),
            small_values(project, SMALL),
        ];
        for text in texts {
            assert_eq!(text.matches('\n').count(), 1, "{text}");
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_project_far_down_leaves_no_room() {
        let far = Path::new("/").join("a".repeat(SMALL));
        assert!(command(&far, SMALL).is_err());
    }
}

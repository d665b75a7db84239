//! A line for each prompt, tool call and stop, in a file that people read.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use anyhook_engine::redact;
use anyhook_engine::sha256_hex;
use anyhook_model::truncate::ellipsized;
use anyhook_model::{EventKind, StateDir};
use serde::Deserialize;
use serde_json::json;

use crate::Place;
use crate::answer::Answer;
use crate::context_on_start::inside;
use crate::event::Event;
use crate::options::GuardError;

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LineForm {
    Markdown,
    Jsonl,
}

/// Options of the pack `session-log`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogOptions {
    file: Option<String>,
    form: LineForm,
    max_chars: usize,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { file: None, form: LineForm::Markdown, max_chars: 300 }
    }
}

/// Appends the event's line to the file.
pub fn decide(event: &Event, options: &LogOptions, place: &Place) -> Result<Answer, GuardError> {
    let Some((what, text)) = told(event) else { return Ok(Answer::none()) };
    let text = redact::without_secrets(text);
    let time = place.now.strftime("%Y-%m-%d %H:%M:%S");
    let line = match options.form {
        LineForm::Markdown => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let text = ellipsized(&words.join(" "), options.max_chars);
            format!("- {time} `{}` **{what}** {text}\n", short(event.session()))
        }
        LineForm::Jsonl => {
            let text = ellipsized(&text, options.max_chars);
            let (session, host) = (event.session(), &place.host);
            format!(
                "{}\n",
                json!({"at": place.now, "session_id": session, "host": host, "event": what, "text": text})
            )
        }
    };
    let path = file(event, options, place)?;
    let at = |error| GuardError::at(&path, error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(at)?;
    }
    // One write: lines of several sessions do not mix.
    let opened = OpenOptions::new().append(true).create(true).open(&path);
    opened.and_then(|mut file| file.write_all(line.as_bytes())).map_err(at)?;
    Ok(Answer::none())
}

/// Returns the name of an event and its text.
fn told(event: &Event) -> Option<(&'static str, String)> {
    let of_input = |field: &str| event.text_of_input(field).to_owned();
    Some(match event.kind {
        EventKind::SessionStart => ("start", event.text("model").to_owned()),
        EventKind::BeforeAgent => ("prompt", event.text("prompt").to_owned()),
        EventKind::AfterTool | EventKind::AfterToolFailure => {
            let what = ["command", "path", "pattern", "url", "query", "description"];
            let about = what.into_iter().map(of_input).find(|text| !text.is_empty());
            let about = about.unwrap_or_default();
            let failed = event.kind == EventKind::AfterToolFailure;
            let end = if failed {
                format!(" – failed: {}", event.text("error"))
            } else {
                String::new()
            };
            ("tool", format!("{}: {about}{end}", event.tool()))
        }
        EventKind::AfterStop | EventKind::BeforeStop => {
            ("stop", event.text("final_message").to_owned())
        }
        EventKind::SessionEnd => ("end", event.text("exit_reason").to_owned()),
        _ => return None,
    })
}

fn file(event: &Event, options: &LogOptions, place: &Place) -> Result<PathBuf, GuardError> {
    let extension = if options.form == LineForm::Markdown { "md" } else { "jsonl" };
    let (date, session) = (place.now.strftime("%Y-%m-%d").to_string(), short(event.session()));
    if let Some(name) = &options.file {
        return inside(
            &place.project,
            &name.replace("{date}", &date).replace("{session}", &session),
        );
    }
    let state = place.state.as_deref().ok_or(GuardError::NoState)?;
    let project = place.project.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let hash = sha256_hex(place.project.as_os_str().as_encoded_bytes());
    let folder =
        StateDir::new(state).guards().join(format!("session-log-{project}-{}", &hash[..8]));
    Ok(folder.join(format!("{date}.{extension}")))
}

/// Returns the beginning of a session's id, as part of a file's name.
fn short(session: &str) -> String {
    let plain = session.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-');
    plain.take(8).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::options;

    fn log(events: &[Value], options: &Value) -> String {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { project: folder.path().to_owned(), ..Place::of_tests("/p") };
        for event in events {
            decide(&Event::new(event.clone()), &options::read(options).unwrap(), &place).unwrap();
        }
        let name = options["file"].as_str().unwrap();
        fs::read_to_string(folder.path().join(name.replace("{session}", "s-1"))).unwrap()
    }

    #[test]
    fn one_line_each_without_secrets() {
        let events = [
            json!({"event_type": "before_agent", "session_id": "s-1", "prompt": "make\nit  fast"}),
            json!({"event_type": "after_tool", "session_id": "s-1", "tool_name": "Shell",
                "tool_input": {"command": "psql postgres://app:k3J9x0Qz71@db.internal/app"}}),
            json!({"event_type": "after_tool_failure", "session_id": "s-1", "tool_name": "ReadFile",
                "tool_input": {"path": "a"}, "error": "no such file"}),
            json!({"event_type": "notification", "session_id": "s-1"}),
        ];
        assert_eq!(
            log(&events, &json!({"file": "logs/{session}.md"})),
            "- 1970-01-01 00:00:00 `s-1` **prompt** make it fast\n\
             - 1970-01-01 00:00:00 `s-1` **tool** Shell: psql postgres://app:[redacted url-password]@db.internal/app\n\
             - 1970-01-01 00:00:00 `s-1` **tool** ReadFile: a – failed: no such file\n"
        );
        let lines = log(&events[..1], &json!({"file": "log", "form": "jsonl"}));
        let line: Value = serde_json::from_str(&lines).unwrap();
        assert_eq!((&line["event"], &line["text"]), (&json!("prompt"), &json!("make\nit  fast")));
    }

    #[test]
    fn a_file_outside_of_the_project_is_refused() {
        let options = options::read(&json!({"file": "../log"})).unwrap();
        let event = Event::new(json!({"event_type": "before_agent", "prompt": "x"}));
        let error = decide(&event, &options, &Place::of_tests("/p")).unwrap_err().to_string();
        assert!(error.contains("is not a path in the project"), "{error}");
    }
}

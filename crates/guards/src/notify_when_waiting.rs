//! Tells a person that an agent waits: on the desktop, by a webhook, by a command.

use std::path::Path;
use std::time::Duration;

use anyhook_engine::redact;
use anyhook_model::EventKind;
use anyhook_model::truncate::ellipsized;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Place;
use crate::answer::Answer;
use crate::event::Event;
use crate::options::GuardError;
use crate::shell_command::{Ended, run_line, run_words};

/// How long each way may take.
const LIMIT: Duration = Duration::from_secs(15);

/// Options of the pack `notify-when-waiting`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotifyOptions {
    desktop: bool,
    webhook: Option<String>,
    command: Option<String>,
    kinds: Vec<String>,
}

impl Default for NotifyOptions {
    fn default() -> Self {
        let kinds = ["permission", "idle", "other"].map(str::to_owned).to_vec();
        Self { desktop: true, webhook: None, command: None, kinds }
    }
}

/// What a person is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `permission`, `idle` or `other`.
    pub kind: &'static str,
    /// Who waits.
    pub title: String,
    /// For what.
    pub body: String,
}

/// Returns what a person is told of an event; `None` if it is not about waiting.
pub fn message(event: &Event, place: &Place) -> Option<Message> {
    let (kind, body) = match event.kind {
        EventKind::PermissionRequest => {
            let what = match event.tool() {
                "Shell" => event.text_of_input("command"),
                _ => event.text_of_input("path"),
            };
            ("permission", format!("wants to use {}: {what}", event.tool()))
        }
        EventKind::Notification => {
            let kind = match event.text("kind") {
                // It would be told twice.
                "permission_prompt" if place.requests_permissions => return None,
                "permission_prompt" => "permission",
                "idle" => "idle",
                _ => "other",
            };
            (kind, event.text("message").to_owned())
        }
        _ => return None,
    };
    let project = place.project.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let host = &place.host;
    let body = ellipsized(redact::without_secrets(body).trim_end_matches([':', ' ']), 300);
    Some(Message { kind, title: format!("{host} is waiting in {project}"), body })
}

/// Notifies of an event. Every way is tried; the first failure is the error.
pub fn decide(event: &Event, options: &NotifyOptions, place: &Place) -> Result<Answer, GuardError> {
    if let Some(unknown) =
        options.kinds.iter().find(|kind| !["permission", "idle", "other"].contains(&kind.as_str()))
    {
        return Err(GuardError::Options(format!(
            "unknown kind `{unknown}`, expected `permission`, `idle` or `other`"
        )));
    }
    let message = message(event, place);
    let Some(message) = message.filter(|one| options.kinds.iter().any(|kind| kind == one.kind))
    else {
        return Ok(Answer::none());
    };
    let told = json!({
        "kind": message.kind, "title": message.title, "message": message.body,
        "host": place.host, "session_id": event.session(), "project": place.project,
        // What chat services show.
        "text": format!("{}: {}", message.title, message.body),
        "content": format!("{}: {}", message.title, message.body),
    });
    let mut ways = Vec::new();
    if options.desktop {
        ways.push(on_desktop(&message, &place.project));
    }
    if let Some(url) = &options.webhook {
        ways.push(by_webhook(url, &told, &place.project));
    }
    if let Some(command) = &options.command {
        let input = told.to_string();
        let ran = run_line(command, &place.project, LIMIT, input.as_bytes());
        ways.push(ran.and_then(|ended| succeeded("the command", &ended)));
    }
    let count = ways.len();
    ways.into_iter().collect::<Result<Vec<()>, _>>()?;
    Ok(Answer::log(format!("notified in {count} ways: {}", message.body)))
}

fn on_desktop(message: &Message, folder: &Path) -> Result<(), GuardError> {
    let words = ["notify-send", "--app-name", "anyhook", "--", &message.title, &message.body];
    let script =
        "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
    let apple = ["osascript", "-e", script, &message.title, &message.body];
    for words in [&words[..], &apple[..]] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        if let Some(ended) = run_words(&words, folder, LIMIT, b"")? {
            return succeeded(&words[0], &ended);
        }
    }
    Err(GuardError::Failed("neither `notify-send` nor `osascript` is installed".to_owned()))
}

/// Sends JSON to a URL with `curl`. The URL may be a secret: it is not on the command line.
fn by_webhook(url: &str, told: &Value, folder: &Path) -> Result<(), GuardError> {
    let settings = format!(
        "silent\nshow-error\nfail\nmax-time = 10\nheader = \"content-type: application/json\"\nurl = {}\ndata-binary = {}\n",
        quoted(url),
        quoted(&told.to_string())
    );
    let words = ["curl", "-q", "--config", "-"].map(str::to_owned);
    match run_words(&words, folder, LIMIT, settings.as_bytes())? {
        Some(ended) => succeeded("the webhook", &ended)
            .map_err(|error| GuardError::Failed(error.to_string().replace(url, "[the webhook]"))),
        None => Err(GuardError::Failed("`curl` is not installed".to_owned())),
    }
}

/// Returns a text as a value of curl's settings.
fn quoted(text: &str) -> String {
    let text =
        text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', "\\r");
    format!("\"{text}\"")
}

fn succeeded(what: &str, ended: &Ended) -> Result<(), GuardError> {
    if ended.is_success() {
        return Ok(());
    }
    let why = match ended.status {
        None => "it took too long".to_owned(),
        Some(status) => format!("{status}: {}", ellipsized(ended.text().trim(), 300)),
    };
    Err(GuardError::Failed(format!("{what} failed: {why}")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::options;

    fn notify(event: Value, project: &Path, options: &Value) -> Result<Answer, GuardError> {
        let place =
            Place { project: project.to_owned(), host: "codex".into(), ..Place::of_tests("/p") };
        decide(&Event::new(event), &options::read(options).unwrap(), &place)
    }

    #[test]
    fn a_command_gets_it_as_json() {
        let folder = tempfile::tempdir().unwrap();
        let options =
            json!({"desktop": false, "command": "cat > told.json", "kinds": ["permission"]});
        let event = json!({"event_type": "permission_request", "tool_name": "Shell", "session_id": "s",
            "tool_input": {"command": "psql postgres://app:k3J9x0Qz71@db.internal/app"}});
        notify(event, folder.path(), &options).unwrap();
        let told: Value =
            serde_json::from_slice(&fs::read(folder.path().join("told.json")).unwrap()).unwrap();
        assert_eq!(
            told["message"],
            "wants to use Shell: psql postgres://app:[redacted url-password]@db.internal/app"
        );
        assert!(told["title"].as_str().unwrap().starts_with("codex is waiting in "));
        fs::remove_file(folder.path().join("told.json")).unwrap();
        let idle = json!({"event_type": "notification", "kind": "idle", "message": "hello"});
        assert_eq!(notify(idle, folder.path(), &options).unwrap(), Answer::none());
        assert!(!folder.path().join("told.json").exists());
    }

    #[test]
    fn a_permission_is_told_once() {
        let prompt = json!({"event_type": "notification", "kind": "permission_prompt"});
        let asked = json!({"event_type": "permission_request", "tool_name": "Shell"});
        for requests_permissions in [true, false] {
            let place = Place { requests_permissions, ..Place::of_tests("/p") };
            let told = |event: &Value| message(&Event::new(event.clone()), &place).is_some();
            assert!(told(&asked));
            assert_eq!(told(&prompt), !requests_permissions);
        }
    }

    #[test]
    fn failures_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let idle = json!({"event_type": "notification", "kind": "idle", "message": "hello"});
        let fails = json!({"desktop": false, "command": "echo no way; exit 3"});
        let error = notify(idle.clone(), folder.path(), &fails).unwrap_err().to_string();
        assert!(error.contains("the command failed") && error.contains("no way"), "{error}");
        let error =
            notify(idle, folder.path(), &json!({"kinds": ["idel"]})).unwrap_err().to_string();
        assert!(error.contains("unknown kind `idel`"), "{error}");
        assert_eq!(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\n\"");
    }
}

//! Hooks for one start of Codex, passed with `--config`, and the program it runs at the end of a
//! turn.
//!
//! Its command line is a settings layer of its own: hooks of all layers run, so those of the user
//! and the project do as well. A hook needs its hash in the settings, and the layer may contain the
//! hashes of its own hooks. Codex has only one program setting (`notify`), so our program calls the
//! user's.

use std::path::Path;

use serde_json::Value as Json;
use toml_edit::{Array, DocumentMut, InlineTable, Value};

use super::settings::{EVENTS, handler};
use crate::wiring::json_hooks::{self, Handler};
use crate::wiring::{AgentStart, Injection, PERMISSION_SECONDS, SettingsError, codex_trust};

/// Runs us, then the user's program, if there is one, with the argument that Codex appends. Nothing
/// of ours or the user's is part of the shell script itself.
///
/// The argument that Codex appends names the thread whose turn ended. Codex has other threads
/// besides the one it works in, such as for a title: their end is not the agent's.
const SCRIPT: &str = r#"for last; do :; done
case $last in *'"thread-id":"'*) thread=${last#*'"thread-id":"'}; thread=${thread%%'"'*};; esac
"$1" emit agent:idle --agent="$2" ${thread:+--host=codex --session="$thread"}
shift 2; [ $# -lt 2 ] || exec "$@""#;

/// The path of the command line's hooks, as Codex names it where it stores what is trusted.
const LAYER: &str = "/<session-flags>/config.toml";

pub fn inject(start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
    let notify = format!("notify={}", Value::from(program(start)?));
    let settings = [format!("hooks={}", hooks(start)?), notify];
    let arguments = settings.into_iter().flat_map(|setting| ["--config".to_owned(), setting]);
    Ok(Injection { arguments: arguments.collect(), ..Injection::default() })
}

/// Returns our hooks and the entries that make them trusted.
fn hooks(start: &AgentStart<'_>) -> Result<Value, SettingsError> {
    let path = Path::new(LAYER);
    let handlers: Vec<Handler> =
        EVENTS.iter().map(|event| handler(event, start.call, PERMISSION_SECONDS)).collect();
    let text = json_hooks::wire(path, None, "codex", &handlers)?;
    let settings = json_hooks::value(path, &text, &[])?.unwrap_or_default();
    let mut table = InlineTable::new();
    for (event, groups) in settings["hooks"].as_object().into_iter().flatten() {
        table.insert(event, toml(groups));
    }
    let mut state = InlineTable::new();
    for (key, hash, _) in codex_trust::hashes(path, &settings) {
        let trusted = InlineTable::from_iter([("trusted_hash", hash)]);
        state.insert(&key, trusted.into());
    }
    table.insert("state", state.into());
    Ok(table.into())
}

/// Converts our handlers' JSON to TOML.
fn toml(value: &Json) -> Value {
    match value {
        Json::Array(items) => items.iter().map(toml).collect::<Array>().into(),
        Json::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.as_str(), toml(value)));
            fields.collect::<InlineTable>().into()
        }
        Json::Number(number) => number.as_i64().unwrap_or_default().into(),
        Json::Bool(flag) => (*flag).into(),
        other => other.as_str().unwrap_or_default().into(),
    }
}

fn program(start: &AgentStart<'_>) -> Result<Array, SettingsError> {
    let mut program = Array::new();
    program.extend(["/bin/sh", "-c", SCRIPT, "notify"]);
    program.push(start.call.binary.to_string_lossy().into_owned());
    program.push(start.agent_id);
    if let Some(text) = start.displaced {
        program.extend(notify(text)?);
    }
    Ok(program)
}

/// Returns the user's own program.
fn notify(text: &str) -> Result<Vec<String>, SettingsError> {
    let path = || Path::new("config.toml").to_owned();
    let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        SettingsError::Broken { path: path(), why: error.message().to_owned() }
    })?;
    let Some(item) = document.get("notify") else { return Ok(Vec::new()) };
    let words = item.as_array().and_then(|words| {
        words.iter().map(|word| Some(word.as_str()?.to_owned())).collect::<Option<Vec<_>>>()
    });
    words.ok_or_else(|| SettingsError::Unexpected {
        path: path(),
        what: "`notify`".to_owned(),
        expected: "a list of words",
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use crate::wiring::HookInvocation;

    use super::*;

    fn tried(agent_id: &str, displaced: Option<&str>) -> Result<Injection, SettingsError> {
        let call = HookInvocation::to("/bin/echo");
        inject(&AgentStart { agent_id, folder: Path::new("/f"), displaced, call: &call })
    }

    /// Returns a setting of the command line.
    fn setting(arguments: &[String], place: usize) -> DocumentMut {
        assert_eq!((arguments.len(), arguments[place].as_str()), (4, "--config"));
        arguments[place + 1].parse().unwrap()
    }

    #[test]
    fn every_event_has_its_hook_and_is_trusted() {
        let injection = tried("a", None).unwrap();
        assert!(injection.files.is_empty() && injection.variables.is_empty());
        let document = setting(&injection.arguments, 0);
        let hooks = document["hooks"].as_inline_table().unwrap();
        let events = hooks.iter().map(|(event, _)| event).filter(|event| *event != "state");
        assert_eq!(events.collect::<Vec<_>>(), EVENTS);
        let stop = hooks["Stop"].to_string();
        let command = r#"command = "/bin/echo hook codex --deadline-ms 540000""#;
        assert!(stop.contains(command) && stop.contains("timeout = 600"), "{stop}");
        let permission = hooks["PermissionRequest"].to_string();
        assert!(permission.contains("timeout = 86400"), "{permission}");
        let state = hooks["state"].as_inline_table().unwrap();
        assert_eq!(state.len(), EVENTS.len());
        let stop = &state["/<session-flags>/config.toml:stop:0:0"];
        let hash = stop.as_inline_table().unwrap()["trusted_hash"].as_str().unwrap();
        assert!(hash.starts_with("sha256:"), "{hash}");
    }

    /// Returns what is called with which arguments, in order: our program and the user's are
    /// `echo`.
    fn called(agent_id: &str, settings: Option<&str>) -> String {
        called_with(agent_id, settings, "{\"type\": 1}")
    }

    fn called_with(agent_id: &str, settings: Option<&str>, told: &str) -> String {
        let document = setting(&tried(agent_id, settings).unwrap().arguments, 2);
        let words: Vec<&str> =
            document["notify"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let output = Command::new(words[0]).args(&words[1..]).arg(told).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }

    #[test]
    fn we_are_called_and_then_the_users_own_program() {
        assert_eq!(called("a", None), "emit agent:idle --agent=a\n");
        assert_eq!(called("a", Some("model = 'x'\n")), "emit agent:idle --agent=a\n");
        let theirs = "# mine\nnotify = [\"/bin/echo\", \"it's me; \"]\n";
        assert_eq!(
            called("a", Some(theirs)),
            "emit agent:idle --agent=a\nit's me;  {\"type\": 1}\n"
        );
    }

    #[test]
    fn the_thread_whose_turn_ended_is_told() {
        let told = r#"{"type":"agent-turn-complete","thread-id":"01a1 $(id)","input-messages":["\"thread-id\":\"x\""]}"#;
        assert_eq!(
            called_with("a", None, told),
            "emit agent:idle --agent=a --host=codex --session=01a1 $(id)\n"
        );
    }

    #[test]
    fn an_id_is_one_word_whatever_it_is() {
        for id in ["a b; touch x", "$(id)", "it's \"me\"", "-x", "a\nb\\"] {
            assert_eq!(called(id, None), format!("emit agent:idle --agent={id}\n"));
        }
    }

    #[test]
    fn settings_that_cannot_be_read_are_said() {
        for text in ["notify = 'x'", "notify = [1]", "notify ="] {
            assert!(tried("a", Some(text)).is_err(), "{text}");
        }
    }
}

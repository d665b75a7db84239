//! The open Agent Hooks format as a host: event JSON in, verdict JSON out, exit 0 or 2.
//!
//! It is here and not in `anyhook-hosts` because it is no vendor's format: it is the one to which
//! all others are translated.

use serde_json::Value;

use crate::decision::Effect;
use crate::derived::Derived;
use crate::event::{CallDoubt, Event, NativeCall, ToolCall};
use crate::exit_code;
use crate::file_path::LazyForms;
use crate::host::{Caller, DecodeError, Host, Reply};
use crate::json::{self, FieldRole, Object, OpaqueField, type_name};
use crate::kind::EventKind;
use crate::patch_events;
use crate::serve::ServedVerdict;
use crate::tools;
use crate::verdict::Verdict;

/// An agent that uses the open Agent Hooks format: `anyhook hook agent-hooks`.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenFormat;

impl Host for OpenFormat {
    fn id(&self) -> &'static str {
        "agent-hooks"
    }

    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        let read = json::read(payload).map_err(|error| DecodeError::NotJson(error.to_string()))?;
        let Value::Object(mut fields) = read.value else {
            return Err(DecodeError::NotAnObject(type_name(&read.value)));
        };
        let kind = match json::remove(&mut fields, "event_type") {
            None => return Err(DecodeError::NoEventType),
            Some(Value::String(name)) if name.is_empty() => return Err(DecodeError::NoEventType),
            Some(Value::String(name)) => EventKind::in_any_spelling(&name)
                .map_or_else(|| EventKind::Other(name), |(kind, _)| kind),
            Some(other) => return Err(DecodeError::EventTypeNotText(type_name(&other))),
        };
        let work_dir = take_text(&mut fields, "work_dir").filter(|path| !path.is_empty());
        let at = take_text(&mut fields, "timestamp").and_then(|text| text.parse().ok());
        let mut event = Event::new(
            kind,
            self.id(),
            &work_dir.map_or_else(|| caller.work_dir.clone(), |path| caller.work_dir.join(path)),
            at.unwrap_or(caller.now),
        );
        event.session = take_text(&mut fields, "session_id").filter(|id| !id.is_empty());
        event.project_dir.clone_from(&caller.project_dir);
        if let Some(Value::Object(context)) = json::remove(&mut fields, "context") {
            event.context = context;
        }
        if event.kind.has_matcher() {
            let is_named = fields.get("tool_name").and_then(Value::as_str);
            event.doubt = is_named.is_none_or(str::is_empty).then_some(CallDoubt::Unnamed);
            event.tool = Some(take_tool(&mut fields, read.repaired));
        } else if matches!(event.kind, EventKind::Other(_)) && carries_call(&fields) {
            event.doubt = Some(CallDoubt::UnknownEvent);
        }
        for name in event.kind.own_fields() {
            if let Some(value) = json::remove(&mut fields, name) {
                event.data.insert((*name).to_owned(), value);
            }
        }
        event.raw = fields;
        Ok(patch_events::of_call(event))
    }

    fn opaque_fields(&self) -> &'static [OpaqueField] {
        &[
            OpaqueField { path: &["tool_input"], role: FieldRole::Input },
            OpaqueField { path: &["native", "tool_input"], role: FieldRole::NativeInput },
            OpaqueField { path: &["tool_output"], role: FieldRole::Other },
        ]
    }

    fn encode(&self, _event: &Event, verdict: &Verdict) -> Reply {
        let mut stderr = String::new();
        for warning in &verdict.warnings {
            stderr.push_str(&format!("anyhook: {warning}\n"));
        }
        if verdict.is_silent() {
            return Reply { stdout: "{}\n".to_owned(), stderr, ..Reply::default() };
        }
        let exit_code = if verdict.is_block() {
            stderr.push_str(verdict.reason.as_deref().unwrap_or("blocked"));
            if let Some(id) = &verdict.id {
                stderr.push_str("\n(anyhook log show ");
                stderr.push_str(id.as_str());
                stderr.push(')');
            }
            stderr.push('\n');
            exit_code::BLOCKED
        } else {
            exit_code::OK
        };
        Reply {
            stdout: json::to_spaced(&ServedVerdict::from(verdict)) + "\n",
            stderr,
            exit_code,
            ..Reply::default()
        }
    }

    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply {
        if guarded {
            let reason = format!(
                "{error}\nA hook with on_failure: block is installed and could not check the call."
            );
            let verdict =
                Verdict { effect: Some(Effect::Deny), reason: Some(reason), ..Verdict::default() };
            let said = json::to_spaced(&ServedVerdict::from(&verdict)) + "\n";
            let stderr = format!("anyhook: {}\n", verdict.reason.unwrap_or_default());
            let exit_code = exit_code::BLOCKED;
            return Reply { stdout: said, stderr, exit_code, blocks: true, ..Reply::default() };
        }
        let hint = match error {
            DecodeError::NotJson(_) | DecodeError::NotAnObject(_) | DecodeError::NotTaken(_) => {
                "send one event as a JSON object on stdin"
            }
            DecodeError::NoEventType
            | DecodeError::EventTypeNotText(_)
            | DecodeError::UnknownEvent(_) => {
                "name the event, for example {\"event_type\": \"before_tool\"}"
            }
        };
        Reply {
            stderr: format!("anyhook: {error}\nhint: {hint}\n"),
            exit_code: exit_code::UNUSABLE_INPUT,
            ..Reply::default()
        }
    }
}

/// Returns whether the fields of an event are those of a tool call.
pub fn carries_call(fields: &Object) -> bool {
    let is_given = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    };
    is_given("tool_name") || is_given("tool_input")
}

/// Removes the fields of a tool call from the event's fields and returns the call.
fn take_tool(fields: &mut Object, repaired: bool) -> ToolCall {
    let native_name =
        fields.get("native").and_then(|native| Some(native.get("tool_name")?.as_str()?.to_owned()));
    let native = native_name.map(|tool_name| {
        let mut native = json::remove(fields, "native").unwrap_or_default();
        let tool_input = native.get_mut("tool_input").map(Value::take).unwrap_or_default();
        NativeCall { tool_name, tool_input }
    });
    let name = take_text(fields, "tool_name").unwrap_or_default();
    let input = json::remove(fields, "tool_input").unwrap_or_default();
    ToolCall {
        also: tools::also_known_as(&name, &input),
        name,
        input,
        forms: LazyForms::default(),
        derived: Derived::default(),
        use_id: take_text(fields, "tool_use_id"),
        files: json::remove(fields, "files").unwrap_or_default(),
        native,
        fixed: repaired.then_some("it could not be parsed exactly"),
    }
}

/// Removes and returns a text field; a number is converted to its digits, anything else counts as
/// not given.
fn take_text(fields: &mut Object, name: &str) -> Option<String> {
    match json::remove(fields, name)? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{RecordId, Spelling};

    fn caller() -> Caller {
        Caller::new("/here", "2024-01-15T10:30:00Z".parse().unwrap())
    }

    fn decode(payload: &str) -> Event {
        OpenFormat.decode(payload.as_bytes(), &caller()).unwrap().remove(0)
    }

    #[test]
    fn only_the_event_type_is_needed() {
        let event = decode(r#"{"event_type": "pre-session"}"#);
        assert_eq!(event.kind, EventKind::SessionStart);
        assert_eq!(event.work_dir, Path::new("/here"));
        assert_eq!(event.session, None);
    }

    #[test]
    fn a_specification_event_comes_out_as_it_went_in() {
        let event = decode(
            r#"{"event_type": "before_tool", "timestamp": "2024-01-15T10:30:00Z", "session_id": "s", "work_dir": "/w", "tool_name": "Shell", "tool_input": {"command": "ls"}, "tool_use_id": "t", "extra": [1], "context": {"a": 1}}"#,
        );
        assert_eq!(
            event.to_json(Spelling::Canonical),
            r#"{"event_type": "before_tool", "timestamp": "2024-01-15T10:30:00Z", "session_id": "s", "work_dir": "/w", "tool_name": "Shell", "tool_input": {"command": "ls"}, "tool_use_id": "t", "files": null, "native": null, "extra": [1], "context": {"a": 1}}"#
        );
    }

    #[test]
    fn an_event_is_read_in_any_spelling() {
        for name in ["Before_Tool", "before-tool", "PreToolUse", "pre_tool_call"] {
            let event = decode(&json!({"event_type": name, "tool_name": "Shell"}).to_string());
            assert_eq!(event.kind, EventKind::BeforeTool, "{name}");
            assert_eq!(event.tool.unwrap().name, "Shell", "{name}");
        }
    }

    #[test]
    fn an_unknown_event_with_a_call_is_a_doubt() {
        let doubt = |payload: Value| decode(&payload.to_string()).doubt;
        for field in ["tool_name", "tool_input"] {
            let payload = json!({"event_type": "on_tool", field: "Shell"});
            assert_eq!(doubt(payload), Some(CallDoubt::UnknownEvent));
        }
        assert_eq!(doubt(json!({"event_type": "worktree_create"})), None);
        let empty = json!({"event_type": "worktree_create", "tool_name": "", "tool_input": null});
        assert_eq!(doubt(empty), None);
    }

    #[test]
    fn a_patch_is_an_event_for_each_file() {
        let seen = |tool: &str, input: Value| -> Vec<(String, Value)> {
            let payload =
                json!({"event_type": "before_tool", "tool_name": tool, "tool_input": input});
            let events = OpenFormat.decode(payload.to_string().as_bytes(), &caller()).unwrap();
            let calls = events.into_iter().map(|event| event.tool.unwrap());
            calls.map(|call| (call.name, call.files)).collect()
        };
        let patch = "*** Begin Patch\n*** Add File: vendor/x\n+a\n*** End Patch";
        let write = ("WriteFile".to_owned(), json!(["vendor/x"]));
        let command = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        let shell = ("Shell".to_owned(), Value::Null);
        assert_eq!(seen("Shell", json!({"command": command})), [shell, write.clone()]);
        assert_eq!(seen("apply_patch", json!({"patch": patch})), [write]);
    }

    #[test]
    fn offsets_become_utc() {
        let event =
            decode(r#"{"event_type": "session_end", "timestamp": "2024-01-15T12:30:00+02:00"}"#);
        assert_eq!(event.at.to_string(), "2024-01-15T10:30:00Z");
    }

    #[test]
    fn unusable_payloads_are_named() {
        let refuse = |payload: &str| {
            OpenFormat.refuse(&OpenFormat.decode(payload.as_bytes(), &caller()).unwrap_err(), false)
        };
        for (payload, words) in [
            ("", "not JSON"),
            ("[1]", "must be a JSON object, not an array"),
            ("{}", "no `event_type`"),
            (r#"{"event_type": ""}"#, "no `event_type`"),
            (r#"{"event_type": 3}"#, "must be a string, not a number"),
        ] {
            let reply = refuse(payload);
            assert_eq!(reply.exit_code, exit_code::UNUSABLE_INPUT);
            assert!(reply.stderr.contains(words), "{}", reply.stderr);
        }
    }

    #[test]
    fn answers_have_the_documented_keys() {
        let event = decode(r#"{"event_type": "before_tool"}"#);
        assert_eq!(OpenFormat.encode(&event, &Verdict::default()).stdout, "{}\n");
        let verdict = Verdict {
            id: Some(RecordId::from_text("abc")),
            effect: Some(Effect::Deny),
            reason: Some("no".to_owned()),
            input: json!({"command": "ls"}).as_object().cloned(),
            context: Some("c".to_owned()),
            ..Verdict::default()
        };
        let reply = OpenFormat.encode(&event, &verdict);
        assert_eq!(
            reply.stdout,
            "{\"decision\": \"deny\", \"reason\": \"no\", \"modified_input\": {\"command\": \"ls\"}, \"additional_context\": \"c\", \"id\": \"abc\"}\n"
        );
        assert_eq!((reply.stderr.as_str(), reply.exit_code), ("no\n(anyhook log show abc)\n", 2));
    }

    proptest! {
        #[test]
        fn unknown_events_and_fields_pass_through(
            name in "[a-z_]{1,12}".prop_filter("an unknown name", |name| EventKind::in_any_spelling(name).is_none()), key in "x_[a-z]{1,8}", text in ".{0,20}",
        ) {
            let payload = json!({"event_type": name, key.clone(): text}).to_string();
            let shown: Value =
                serde_json::from_str(&decode(&payload).to_json(Spelling::Canonical)).unwrap();
            prop_assert_eq!(shown["event_type"].as_str(), Some(name.as_str()));
            prop_assert_eq!(shown[&key].as_str(), Some(text.as_str()));
        }
    }
}

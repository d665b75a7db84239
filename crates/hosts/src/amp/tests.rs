//! Amp: a shell call, and where our plugin is.

use std::path::{Path, PathBuf};

use anyhook_model::{Caller, Effect, Event, EventKind, Host, Verdict};
use serde_json::{Value, json};

use super::{PROTOCOL, SPEC};
use crate::wiring::{HookInvocation, SettingsScope, SettingsTexts};

fn decoded(payload: &Value) -> Event {
    let caller = Caller::new("/elsewhere", jiff::Timestamp::UNIX_EPOCH);
    PROTOCOL.decode(payload.to_string().as_bytes(), &caller).unwrap().remove(0)
}

#[test]
fn a_shell_call_is_denied_or_asked_about() {
    let payload = SPEC.shell_payload("rm -rf /", "thread", Path::new("/p"));
    let event = decoded(&serde_json::from_slice(&payload).unwrap());
    assert_eq!(event.kind, EventKind::BeforeTool);
    assert_eq!(event.tool.as_ref().unwrap().input["command"], "rm -rf /");
    let reply = |effect| {
        let reason = Some("why".to_owned());
        PROTOCOL.encode(&event, &Verdict { effect: Some(effect), reason, ..Verdict::default() })
    };
    assert_eq!(reply(Effect::Deny).stdout, "{\"deny\": \"why\"}\n");
    assert_eq!(reply(Effect::Ask).stdout, "{\"ask\": \"why\"}\n");
}

#[test]
fn a_command_under_its_other_name_is_seen_and_not_changed() {
    let event = decoded(&json!({
        "hook_event_name": "tool.call", "tool_name": "Bash", "tool_input": {"cmd": "ls"},
    }));
    let tool = event.tool.unwrap();
    assert_eq!(tool.input["command"], "ls");
    assert!(tool.fixed.is_some());
}

#[test]
fn what_failed_is_a_failure() {
    let event = decoded(&json!({
        "hook_event_name": "tool.result", "tool_name": "Bash", "tool_input": {"command": "x"},
        "tool_response": "no such program", "is_error": true,
    }));
    assert_eq!(event.kind, EventKind::AfterToolFailure);
}

#[test]
fn the_plugin_is_written_and_taken_out_again() {
    for (project, file) in [
        (None, "/home/you/.config/amp/plugins/anyhook.ts"),
        (Some(PathBuf::from("/src/it")), "/src/it/.amp/plugins/anyhook.ts"),
    ] {
        let scope = SettingsScope {
            home: "/home/you".into(),
            config_home: "/home/you/.config".into(),
            project,
            variables: [].into(),
        };
        let call = HookInvocation::to("/b/anyhook");
        let edits = SPEC.settings.wire(&scope, &SettingsTexts::new(), &call).unwrap();
        let texts: SettingsTexts =
            edits.into_iter().filter_map(|(path, text)| Some((path, text?))).collect();
        assert_eq!(texts.keys().collect::<Vec<_>>(), [Path::new(file)]);
        assert!(!texts[Path::new(file)].contains('@'), "every placeholder is replaced");
        let found = SPEC.settings.inspect(&scope, &texts).unwrap();
        assert!(found.missing.is_empty() && found.before_tool.is_some(), "{found:?}");
        let left = SPEC.settings.unwire(&scope, &texts).unwrap();
        assert_eq!(left.into_iter().collect::<Vec<_>>(), [(PathBuf::from(file), None)]);
    }
}

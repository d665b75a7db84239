//! Whether pi loads our extension, and what its payloads are.

use std::path::{Path, PathBuf};

use anyhook_model::{Caller, Effect, Event, EventKind, Host, Verdict};
use serde_json::{Value, json};

use super::{PROTOCOL, SPEC};
use crate::wiring::{HookInvocation, SettingsScope, SettingsTexts};

fn scope(project: Option<&str>) -> SettingsScope {
    SettingsScope {
        home: "/home/user".into(),
        config_home: "/home/user/.config".into(),
        project: project.map(PathBuf::from),
        variables: [].into(),
    }
}

fn decoded(payload: &Value) -> Event {
    let caller = Caller::new("/home/user/project", jiff::Timestamp::UNIX_EPOCH);
    PROTOCOL.decode(payload.to_string().as_bytes(), &caller).unwrap().remove(0)
}

/// Returns what keeps pi from loading our extension, which is installed.
fn obstacles(scope: &SettingsScope, files: &[(&str, &str)]) -> Vec<String> {
    let call = HookInvocation::to("/x/anyhook");
    let edits = SPEC.settings.wire(scope, &SettingsTexts::new(), &call).unwrap();
    let mut texts: SettingsTexts =
        edits.into_iter().filter_map(|(path, text)| Some((path, text?))).collect();
    for (path, text) in files {
        assert!(SPEC.settings.further_files(scope).contains(&PathBuf::from(path)), "{path}");
        texts.insert(PathBuf::from(path), (*text).to_owned());
    }
    let found = SPEC.settings.inspect(scope, &texts).unwrap();
    found.obstacles.into_iter().map(|obstacle| obstacle.what).collect()
}

const TRUST: &str = "/home/user/.pi/agent/trust.json";
const SETTINGS: &str = "/home/user/.pi/agent/settings.json";

#[test]
fn a_projects_extension_needs_trust() {
    let project = scope(Some("/src/it"));
    let untrusted = ["/src/it is not trusted, so pi ignores its extensions"];
    assert_eq!(obstacles(&project, &[]), untrusted);
    let trusted: [&[(&str, &str)]; 4] = [
        &[(TRUST, r#"{"/src/it": true}"#)],
        &[(TRUST, r#"{"/src": true}"#)],
        &[(TRUST, r#"{"/src": false, "/src/it": true}"#)],
        &[(SETTINGS, r#"{"defaultProjectTrust": "always"}"#)],
    ];
    for files in trusted {
        assert!(obstacles(&project, files).is_empty(), "{files:?}");
    }
    let refused: [&[(&str, &str)]; 3] = [
        &[(TRUST, r#"{"/src/it": false}"#), (SETTINGS, r#"{"defaultProjectTrust": "always"}"#)],
        &[(TRUST, r#"{"/src/other": true}"#)],
        &[(SETTINGS, r#"{"defaultProjectTrust": "never"}"#)],
    ];
    for files in refused {
        assert_eq!(obstacles(&project, files), untrusted, "{files:?}");
    }
    assert!(obstacles(&scope(None), &[]).is_empty(), "the user's needs none");
    let found = SPEC.settings.inspect(&project, &SettingsTexts::new()).unwrap();
    assert!(found.obstacles.is_empty(), "there is nothing to ignore");
}

#[test]
fn settings_may_exclude_our_extension() {
    let excluded = [format!("`extensions` in {SETTINGS} disables anyhook's hooks")];
    for entry in ["-extensions/anyhook.js", "-anyhook.js"] {
        let text = json!({"extensions": ["+other.js", entry]}).to_string();
        assert_eq!(obstacles(&scope(None), &[(SETTINGS, &text)]), excluded, "{entry}");
    }
    let other = r#"{"extensions": ["-other.js", "my-anyhook.js"]}"#;
    assert!(obstacles(&scope(None), &[(SETTINGS, other)]).is_empty());
}

#[test]
fn a_variable_moves_its_folder() {
    let mut moved = scope(None);
    moved.variables.insert("PI_CODING_AGENT_DIR", "/elsewhere".into());
    assert_eq!(SPEC.settings.files(&moved), [Path::new("/elsewhere/extensions/anyhook.js")]);
}

#[test]
fn a_failed_call_is_a_failure_with_its_exit_code() {
    let mut payload = json!({
        "hook_event_name": "tool_result", "tool_name": "bash", "tool_input": {"command": "false"},
        "tool_response": "(no output)", "is_error": true, "exit_code": 3,
    });
    let event = decoded(&payload);
    assert_eq!((event.kind, &event.data["error"]), (EventKind::AfterToolFailure, &"exit 3".into()));
    payload["exit_code"] = Value::Null;
    assert_eq!(decoded(&payload).data["error"], "(no output)");
    payload["is_error"] = false.into();
    assert_eq!(decoded(&payload).kind, EventKind::AfterTool);
}

#[test]
fn a_call_of_an_mcp_server_names_it() {
    let event = decoded(&json!({
        "hook_event_name": "tool_call", "tool_name": "mcp__mini__echo", "tool_input": {},
    }));
    assert_eq!(event.tool.unwrap().name, "Mcp");
    assert_eq!(event.raw["mcp"], json!({"server": "mini", "tool": "echo"}));
}

#[test]
fn a_session_that_cannot_be_stopped_is_told_the_reason() {
    let event = decoded(&json!({"hook_event_name": "session_start", "source": "startup"}));
    let verdict = Verdict {
        effect: Some(Effect::Deny),
        reason: Some("not here".to_owned()),
        ..Verdict::default()
    };
    let reply = PROTOCOL.encode(&event, &verdict);
    assert_eq!(reply.stdout, "{\"message\": \"not here\", \"context\": \"not here\"}\n");
    assert_eq!(reply.lost.len(), 1);
    let warned = Verdict { warnings: vec!["careful".to_owned()], ..Verdict::default() };
    assert_eq!(PROTOCOL.encode(&event, &warned).stdout, "{\"message\": \"anyhook: careful\"}\n");
}

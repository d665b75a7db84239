//! What Kimi Code sends, has in its settings, and is started with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhook_model::{Caller, Event, EventKind, Host, Verdict};
use serde_json::json;

use super::{PROTOCOL, SPEC};
use crate::launch::{self, Launch};
use crate::wiring::{HookInvocation, SettingsScope, SettingsTexts};

fn decoded(payload: &str) -> Event {
    let caller = Caller::new("/home/user/project", jiff::Timestamp::UNIX_EPOCH);
    PROTOCOL.decode(payload.as_bytes(), &caller).unwrap().remove(0)
}

#[test]
fn recorded_payloads_have_the_common_fields() {
    let event = decoded(include_str!("fixtures/UserPromptSubmit.json"));
    assert_eq!(
        (&event.kind, &event.data["prompt"]),
        (&EventKind::BeforeAgent, &json!("do the thing"))
    );
    let event = decoded(include_str!("fixtures/PostToolUseFailure.json"));
    assert_eq!(event.data["error"], json!("\"/nonexistent/zz\" does not exist."));
    assert_eq!(event.tool.unwrap().use_id.as_deref(), Some("call_2_0"));
    let event = decoded(include_str!("fixtures/PostToolUse.json"));
    assert_eq!(event.data["tool_output"], json!("hi-from-shell\n"));
    let event = decoded(include_str!("fixtures/SubagentStop.json"));
    assert_eq!(event.data["subagent_type"], json!("coder"));
    assert!(event.data["final_message"]["content"].as_str().unwrap().starts_with("Subagent"));
    let event = decoded(include_str!("fixtures/Notification.json"));
    assert!(event.data["message"].as_str().unwrap().ends_with("bg job completed."));
    assert_eq!(event.agent, None, "`main` is the agent itself");
}

/// Otherwise they would be calls that were executed without asking.
#[test]
fn a_call_that_is_not_accepted_has_not_failed() {
    for (payload, tool) in [
        (include_str!("fixtures/PostToolUseFailure-unknown_tool.json"), "no_such_tool"),
        (include_str!("fixtures/PostToolUseFailure-invalid_input.json"), "Bash"),
    ] {
        let event = decoded(payload);
        assert_eq!(event.kind, EventKind::Other("call_not_accepted".to_owned()), "{payload}");
        let other = decoded(&payload.replace(&format!("\\\"{tool}\\\""), "\\\"other\\\""));
        assert_eq!(other.kind, EventKind::AfterToolFailure, "it is about another tool");
    }
}

/// The model would be shown any other object as it is.
#[test]
fn context_is_a_message_with_a_prompt_and_lost_elsewhere() {
    let told = Verdict { context: Some("remember".to_owned()), ..Verdict::default() };
    let reply = PROTOCOL.encode(&decoded(include_str!("fixtures/UserPromptSubmit.json")), &told);
    assert_eq!((reply.stdout.as_str(), reply.lost.len()), ("{\"message\": \"remember\"}\n", 0));
    let reply = PROTOCOL.encode(&decoded(include_str!("fixtures/SessionStart.json")), &told);
    assert_eq!((reply.stdout.as_str(), reply.lost.len()), ("", 1));
}

fn scope(project: Option<&str>) -> SettingsScope {
    SettingsScope {
        home: "/home/user".into(),
        config_home: "/home/user/.config".into(),
        project: project.map(PathBuf::from),
        variables: BTreeMap::new(),
    }
}

#[test]
fn hooks_are_in_the_settings_of_the_user() {
    let path = PathBuf::from("/home/user/.kimi-code/config.toml");
    for project in [None, Some("/home/user/project")] {
        assert_eq!(SPEC.settings.files(&scope(project)), std::slice::from_ref(&path));
    }
    let mut other = scope(None);
    other.variables.insert("KIMI_CODE_HOME", PathBuf::from("/k"));
    assert_eq!(SPEC.settings.files(&other), [PathBuf::from("/k/config.toml")]);

    let before = SettingsTexts::from([(path.clone(), "default_model = \"k\" # mine\n".to_owned())]);
    let call = HookInvocation::to("/bin/anyhook");
    let wired = SPEC.settings.wire(&scope(None), &before, &call).unwrap()[&path].clone().unwrap();
    let read: toml_edit::DocumentMut = wired.parse().unwrap();
    for hook in read["hooks"].as_array_of_tables().unwrap() {
        let keys: Vec<&str> = hook.iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["event", "command", "timeout"], "it refuses any other key");
        assert!((1..=600).contains(&hook["timeout"].as_integer().unwrap()));
    }
    let wired = SettingsTexts::from([(path, wired)]);
    let found = SPEC.settings.inspect(&scope(None), &wired).unwrap();
    assert!(found.missing.is_empty() && !found.ours.is_empty(), "{found:?}");
    let edits = SPEC.settings.unwire(&scope(None), &wired).unwrap();
    let after: SettingsTexts =
        edits.into_iter().filter_map(|(path, text)| Some((path, text?))).collect();
    assert_eq!(after, before);
}

#[test]
fn a_start_is_given_its_prompt_and_its_session() {
    let launched = |run: &str, prompt, resume| {
        let launch = Launch { run, prompt, resume };
        launch::arguments(Some("kimi-code"), &launch).join("|")
    };
    assert_eq!(launched("kimi -p", Some("-x do it"), None), "-x do it");
    assert_eq!(launched("kimi -p", Some("do it"), Some("5f")), "do it|--session=5f");
    assert_eq!(launched("kimi", Some("do it"), Some("5f")), "--session=5f", "it is typed");
    assert!(!(SPEC.takes_prompt)(&Launch { run: "kimi", ..Launch::default() }));
}

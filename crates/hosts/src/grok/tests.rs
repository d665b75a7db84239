//! What Grok sends, is told, and has in its settings.

use std::collections::BTreeMap;
use std::path::Path;

use anyhook_model::event::CallDoubt;
use anyhook_model::{Caller, Effect, Event, EventKind, Host, Verdict};
use serde_json::{Value, json};

use super::{PROTOCOL, SPEC};
use crate::spec::Codec as _;
use crate::wiring::{HookInvocation, SettingsScope, SettingsTexts};

fn decoded(payload: &[u8]) -> Vec<Event> {
    let caller = Caller {
        project_dir: Some("/home/user/project/".into()),
        ..Caller::new("/home/user/project", jiff::Timestamp::UNIX_EPOCH)
    };
    PROTOCOL.decode(payload, &caller).unwrap()
}

fn mcp() -> Event {
    decoded(include_bytes!("fixtures/PreToolUse-mini__echo.json")).remove(0)
}

#[test]
fn an_mcp_call_is_the_call_inside() {
    let event = mcp();
    let call = event.tool.as_ref().unwrap();
    assert_eq!((call.name.as_str(), &call.input), ("Mcp", &json!({"text": "via mcp"})));
    assert_eq!(event.raw["mcp"], json!({"server": "mini", "tool": "echo"}));
    let changed = json!({"text": "changed"});
    let native = PROTOCOL.native_input(call, changed.as_object().unwrap()).unwrap();
    assert_eq!(native, Some(json!({"tool_name": "mini__echo", "tool_input": changed})));
}

#[test]
fn only_its_own_payloads_are_its_own() {
    let own = include_bytes!("fixtures/Stop.json");
    assert_eq!(super::Codec.is_own(own), Some(true));
    let claudes = include_bytes!("../claude_code/fixtures/PreToolUse-Bash.json");
    assert_eq!(super::Codec.is_own(claudes), Some(false));
    let inside = json!({"hook_event_name": "PreToolUse", "tool_input": {"hookEventName": "x"}});
    assert_eq!(super::Codec.is_own(inside.to_string().as_bytes()), Some(false));
    assert_eq!(super::Codec.is_own(b"nonsense"), Some(false));
}

#[test]
fn a_stop_at_the_end_of_the_session_is_no_gate() {
    let kinds = |payload: &[u8]| -> Vec<EventKind> {
        decoded(payload).into_iter().map(|event| event.kind).collect()
    };
    assert_eq!(kinds(include_bytes!("fixtures/Stop.json"))[0], EventKind::BeforeStop);
    let end = kinds(include_bytes!("fixtures/Stop-session_end.json"));
    assert_eq!(end, [EventKind::Other("shutdown".to_owned())]);
}

#[test]
fn a_truncated_input_is_a_doubt() {
    let mut payload: Value =
        serde_json::from_slice(include_bytes!("fixtures/PreToolUse-write.json")).unwrap();
    assert_eq!(decoded(payload.to_string().as_bytes())[0].doubt, None);
    payload["toolInputTruncated"] = true.into();
    assert_eq!(decoded(payload.to_string().as_bytes())[0].doubt, Some(CallDoubt::Cut));
}

#[test]
fn what_a_subagent_is_told_is_no_prompt_of_a_person() {
    let event = decoded(include_bytes!("fixtures/UserPromptSubmit-subagent.json")).remove(0);
    assert_eq!(event.kind, EventKind::Other("continuation".to_owned()));
    assert_eq!(event.agent.as_deref(), Some("general-purpose"));
    assert_eq!(event.project_dir.unwrap().as_os_str(), "/home/user/project");
}

#[test]
fn an_allow_is_no_opinion_and_a_denial_tells_the_context() {
    let verdict = |effect| Verdict {
        effect: Some(effect),
        reason: Some("because".to_owned()),
        context: Some("remember".to_owned()),
        ..Verdict::default()
    };
    let allowed = PROTOCOL.encode(&mcp(), &verdict(Effect::Allow));
    assert!(!allowed.stdout.contains("decision") && allowed.lost[0].what == "allow");
    let denied = PROTOCOL.encode(&mcp(), &verdict(Effect::Deny));
    let said: Value = serde_json::from_str(&denied.stdout).unwrap();
    assert_eq!(said, json!({"decision": "deny", "reason": "because\n\nremember"}));
}

fn scope() -> SettingsScope {
    SettingsScope {
        home: "/home/user".into(),
        config_home: "/home/user/.config".into(),
        project: None,
        variables: BTreeMap::from([("GROK_HOME", "/elsewhere".into())]),
    }
}

#[test]
fn what_disables_its_hooks_is_named() {
    let path = SPEC.settings.files(&scope()).remove(0);
    assert_eq!(path, Path::new("/elsewhere/hooks/anyhook.json"));
    let call = HookInvocation::to("/bin/anyhook");
    let edits = SPEC.settings.wire(&scope(), &SettingsTexts::new(), &call).unwrap();
    let wired = SettingsTexts::from([(path.clone(), edits[&path].clone().unwrap())]);
    let obstacles = |file: &str, text: &str| {
        let mut texts = wired.clone();
        texts.insert(file.into(), text.to_owned());
        assert!(SPEC.settings.further_files(&scope()).contains(&file.into()), "{file}");
        SPEC.settings.inspect(&scope(), &texts).unwrap().obstacles.len()
    };
    for (file, text, count) in [
        ("/etc/grok/requirements.toml", "allow_managed_hooks_only = true\n", 1),
        ("/etc/grok/requirements.toml", "allow_managed_hooks_only = false\n", 0),
        ("/etc/grok/managed_config.toml", "allowManagedHooksOnly = \"yes\"\n", 1),
        ("/elsewhere/requirements.toml", "allow_managed_hooks_only = true\n", 1),
        ("/elsewhere/managed_config.toml", "broken", 0),
        ("/etc/claude-code/managed-settings.json", "{\"allowManagedHooksOnly\": true}", 1),
        ("/etc/claude-code/managed-settings.json", "{}", 0),
        ("/elsewhere/disabled-hooks", "global/anyhook:pre_tool_use[0].hooks[0]\n", 1),
        ("/elsewhere/disabled-hooks", "global/mine:pre_tool_use[0].hooks[0]\n", 0),
    ] {
        assert_eq!(obstacles(file, text), count, "{file}: {text}");
    }
}

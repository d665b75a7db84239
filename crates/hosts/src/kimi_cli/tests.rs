//! What Kimi CLI has in its settings, and how it is started.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhook_model::{Caller, Host};
use serde_json::json;

use super::{PROTOCOL, SPEC};
use crate::contract::{Standing, standing};
use crate::launch::Launch;
use crate::wiring::{HookInvocation, SettingsScope, SettingsTexts};

fn scope(variables: BTreeMap<&'static str, PathBuf>) -> SettingsScope {
    SettingsScope {
        home: "/home/user".into(),
        config_home: "/home/user/.config".into(),
        project: None,
        variables,
    }
}

#[test]
fn a_tool_that_is_none_of_its_own_is_one_of_an_mcp_server() {
    let caller = Caller::new("/home/user/project", jiff::Timestamp::UNIX_EPOCH);
    let decoded = |payload: &[u8]| PROTOCOL.decode(payload, &caller).unwrap().remove(0);
    let event = decoded(include_bytes!("fixtures/PreToolUse-mcp_echo.json"));
    assert_eq!(event.tool.as_ref().unwrap().name, "Mcp");
    assert!(event.tool.unwrap().names().any(|name| name == "echo"), "as before");
    assert_eq!(event.raw["mcp"], json!({"server": "", "tool": "echo"}));
    for own in ["Shell", "AskUserQuestion"] {
        let payload = json!({"hook_event_name": "PreToolUse", "tool_name": own, "tool_input": {}});
        let event = decoded(payload.to_string().as_bytes());
        assert!(!event.raw.contains_key("mcp"), "{event:?}");
    }
}

#[test]
fn its_settings_are_edited_and_restored_where_its_variable_says() {
    let scope = scope([("KIMI_SHARE_DIR", PathBuf::from("/elsewhere"))].into());
    let path = SPEC.settings.files(&scope).remove(0);
    assert_eq!(path, PathBuf::from("/elsewhere/config.toml"));
    // As the program saves them.
    let before = "default_model = \"\"\nhooks = []\n\n[providers]\n";
    let texts = SettingsTexts::from([(path.clone(), before.to_owned())]);
    let call = HookInvocation::to("/bin/anyhook");
    let wired = SPEC.settings.wire(&scope, &texts, &call).unwrap()[&path].clone().unwrap();
    assert!(!wired.contains("[[hooks]]"), "one list: {wired}");
    let texts = SettingsTexts::from([(path.clone(), wired)]);
    let found = SPEC.settings.inspect(&scope, &texts).unwrap();
    assert!(found.missing.is_empty() && found.rivals.is_empty(), "{found:?}");
    let after = SPEC.settings.unwire(&scope, &texts).unwrap();
    assert_eq!(after[&path].as_deref(), Some(before));
}

#[test]
fn a_prompt_is_an_argument_only_without_a_screen() {
    let launch = |run| {
        let launch = Launch { run, prompt: Some("-x"), resume: Some("s") };
        ((SPEC.launch)(&launch), (SPEC.takes_prompt)(&launch))
    };
    assert_eq!(launch("kimi-cli"), (vec!["--session=s".to_owned()], false));
    let both = ["--session=s", "--prompt=-x"].map(str::to_owned).to_vec();
    assert_eq!(launch("kimi --print"), (both, true));
}

#[test]
fn the_version_that_was_replaced_is_not_supported() {
    let of = |version| standing(SPEC.contracts, version);
    assert!(matches!(of("1.50.2"), Standing::Expected(_)));
    assert!(matches!(of("1.51.0"), Standing::Proven));
    assert!(matches!(of("1.52.0"), Standing::Unsupported(_)));
    assert_eq!(SPEC.tried_version(), Some("1.51.0"));
}

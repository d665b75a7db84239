//! Whether Hermes Agent loads our plugin, and what its payloads are.

use std::path::{Path, PathBuf};

use anyhook_model::{Caller, Effect, Event, EventKind, Host, Verdict};
use serde_json::{Value, json};

use super::{PROTOCOL, SPEC};
use crate::wiring::{HookInvocation, SettingsScope, SettingsTexts};

const CONFIG: &str = "/home/user/.hermes/config.yaml";
const PLUGIN: &str = "/home/user/.hermes/plugins/anyhook/__init__.py";
const MANIFEST: &str = "/home/user/.hermes/plugins/anyhook/plugin.yaml";

fn scope(project: Option<&str>) -> SettingsScope {
    SettingsScope {
        home: "/home/user".into(),
        config_home: "/home/user/.config".into(),
        project: project.map(PathBuf::from),
        variables: [].into(),
    }
}

/// Applies what `install` or `uninstall` changes.
fn edited(texts: &SettingsTexts, is_installed: bool) -> SettingsTexts {
    let call = HookInvocation::to("/x/anyhook");
    let edits = if is_installed {
        SPEC.settings.wire(&scope(None), texts, &call).unwrap()
    } else {
        SPEC.settings.unwire(&scope(None), texts).unwrap()
    };
    let mut texts = texts.clone();
    for (path, text) in edits {
        match text {
            Some(text) => texts.insert(path, text),
            None => texts.remove(&path),
        };
    }
    texts
}

fn decoded(payload: &Value) -> Vec<Event> {
    let caller = Caller::new("/home/user/project", jiff::Timestamp::UNIX_EPOCH);
    PROTOCOL.decode(payload.to_string().as_bytes(), &caller).unwrap()
}

fn call(tool: &str, input: &Value) -> Vec<Event> {
    decoded(&json!({"hook_event_name": "pre_tool_call", "tool_name": tool, "tool_input": input}))
}

#[test]
fn the_plugin_is_enabled_and_taken_out_again_to_the_byte() {
    let config = "# mine\nmodel:\n  default: x # why\nplugins:\n  enabled:\n  - other\n";
    for before in [SettingsTexts::new(), [(CONFIG.into(), config.to_owned())].into()] {
        let wired = edited(&before, true);
        let found = SPEC.settings.inspect(&scope(None), &wired).unwrap();
        assert_eq!(found.ours, ["/x/anyhook"]);
        assert!(found.stale.is_empty() && found.obstacles.is_empty(), "{found:?}");
        assert!(wired[Path::new(CONFIG)].contains("- anyhook\n"), "{wired:?}");
        assert!(wired[Path::new(PLUGIN)].contains("BINARY = \"/x/anyhook\"\n"), "{wired:?}");
        assert!(
            !wired[Path::new(PLUGIN)].contains('@'),
            "every placeholder is replaced: {wired:?}"
        );
        assert_eq!(edited(&wired, false), before);
    }
}

#[test]
fn a_plugin_that_is_not_loaded_is_reported() {
    let wired = edited(&SettingsTexts::new(), true);
    let with = |file: &str, text: &str| {
        let mut texts = wired.clone();
        texts.insert(file.into(), text.to_owned());
        SPEC.settings.inspect(&scope(Some("/src/it")), &texts).unwrap()
    };
    let found = with(CONFIG, "plugins:\n  enabled: [other]\n");
    assert_eq!(found.stale, [format!("`plugins.enabled` in {CONFIG} lacks anyhook")]);
    let found = with(CONFIG, "plugins:\n  enabled: [anyhook]\n  disabled: [anyhook]\n");
    assert_eq!(
        found.obstacles[0].what,
        format!("`plugins.disabled` in {CONFIG} disables anyhook's hooks")
    );
    let theirs = "/src/it/.hermes/plugins/anyhook/plugin.yaml";
    let found = with(theirs, "name: anyhook\n");
    assert!(found.obstacles[0].what.starts_with(theirs), "{found:?}");
    let mut texts = wired.clone();
    texts.remove(Path::new(MANIFEST));
    let found = SPEC.settings.inspect(&scope(None), &texts).unwrap();
    assert_eq!(found.stale, [format!("{MANIFEST} is missing")]);
}

#[test]
fn another_plugin_of_our_name_is_neither_replaced_nor_removed() {
    let texts: SettingsTexts = [
        (PLUGIN.into(), "def register(ctx): pass\n".to_owned()),
        (CONFIG.into(), "plugins:\n  enabled: [anyhook]\n".to_owned()),
    ]
    .into();
    let call = HookInvocation::to("/x/anyhook");
    let error = SPEC.settings.wire(&scope(None), &texts, &call).unwrap_err().to_string();
    assert_eq!(error, format!("`{PLUGIN}`: the file is not our plugin"));
    assert!(SPEC.settings.unwire(&scope(None), &texts).unwrap().is_empty());
    assert!(SPEC.settings.inspect(&scope(None), &texts).unwrap().ours.is_empty());
}

#[test]
fn settings_that_cannot_be_edited_are_an_error() {
    let texts: SettingsTexts = [(CONFIG.into(), "{model: x}\n".to_owned())].into();
    let call = HookInvocation::to("/x/anyhook");
    let error = SPEC.settings.wire(&scope(None), &texts, &call).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("`{CONFIG}`: `plugins.enabled` is not a list with one name on each line")
    );
}

#[test]
fn a_variable_moves_its_folder() {
    let mut moved = scope(None);
    moved.variables.insert("HERMES_HOME", "/elsewhere".into());
    assert_eq!(SPEC.settings.files(&moved)[0], Path::new("/elsewhere/config.yaml"));
}

#[test]
fn a_call_is_what_it_does() {
    let [patch] = &call(
        "patch",
        &json!({"mode": "replace", "path": "a", "old_string": "x", "new_string": "y"}),
    )[..] else {
        panic!("one file")
    };
    assert_eq!(patch.tool.as_ref().unwrap().name, "EditFile");
    let text = "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Delete File: b\n*** End Patch";
    let of_patch = call("patch", &json!({"mode": "patch", "patch": text}));
    let names: Vec<_> = of_patch.iter().map(|event| &*event.tool.as_ref().unwrap().name).collect();
    assert_eq!(names, ["EditFile", "DeleteFile"]);
    let search = |target: &str| {
        let event = call("search_files", &json!({"pattern": "x", "target": target})).remove(0);
        event.tool.unwrap().names().any(|name| name == "Glob")
    };
    assert!(search("files") && !search("content"));
    let typed =
        call("process", &json!({"action": "submit", "session_id": "p", "data": "rm -rf /"}));
    let tool = typed[0].tool.as_ref().unwrap();
    assert!(tool.names().any(|name| name == "Shell") && tool.fixed.is_some());
    assert_eq!(tool.input["command"], "rm -rf /");
    let listed = call("process", &json!({"action": "list"})).remove(0).tool.unwrap();
    assert!(!listed.names().any(|name| name == "Shell"));
}

#[test]
fn a_stop_is_held_only_where_hermes_asks() {
    let kinds = |name: &str| -> Vec<EventKind> {
        let payload = json!({"hook_event_name": name, "last_assistant_message": "done"});
        decoded(&payload).into_iter().map(|event| event.kind).collect()
    };
    let after = [EventKind::AfterAgent, EventKind::AfterStop];
    assert_eq!(kinds("post_llm_call"), after);
    assert_eq!(kinds("pre_verify")[0], EventKind::BeforeStop);
    assert_eq!(kinds("pre_verify")[1..], after);
}

#[test]
fn an_ask_is_passed_on_and_an_allow_is_lost() {
    let event = call("terminal", &json!({"command": "ls"})).remove(0);
    let reply = |effect| {
        let reason = Some("why".to_owned());
        PROTOCOL.encode(&event, &Verdict { effect: Some(effect), reason, ..Verdict::default() })
    };
    assert_eq!(reply(Effect::Ask).stdout, "{\"ask\": \"why\"}\n");
    assert_eq!(reply(Effect::Deny).stdout, "{\"deny\": \"why\"}\n");
    let allowed = reply(Effect::Allow);
    assert_eq!((allowed.stdout.as_str(), allowed.lost.len()), ("", 1));
}

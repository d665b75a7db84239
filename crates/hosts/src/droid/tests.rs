//! What Droid sends, is told, has in its settings, and is started with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhook_model::{Caller, Effect, Event, EventKind, Host, Verdict};
use serde_json::{Value, json};

use super::{PROTOCOL, SPEC};
use crate::launch::{self, Launch};
use crate::wiring::{HookInvocation, SettingsEdits, SettingsScope, SettingsTexts, is_ours};

fn decoded(payload: &str) -> Vec<Event> {
    let caller = Caller::new("/home/user/project", jiff::Timestamp::UNIX_EPOCH);
    PROTOCOL.decode(payload.as_bytes(), &caller).unwrap()
}

#[test]
fn a_denial_is_an_exit_code_that_no_other_hook_overrides() {
    let event = decoded(include_str!("fixtures/PreToolUse.json")).remove(0);
    for effect in [Effect::Deny, Effect::Ask] {
        let verdict = Verdict { effect: Some(effect), ..Verdict::default() };
        let reply = PROTOCOL.encode(&event, &verdict);
        assert_eq!((reply.exit_code, reply.stdout.as_str()), (2, ""));
        assert!(reply.stderr.contains("blocked"), "{reply:?}");
    }
}

#[test]
fn a_call_of_an_mcp_server_names_it() {
    let event = decoded(include_str!("fixtures/PreToolUse-mcp.json")).remove(0);
    assert_eq!(event.tool.unwrap().name, "Mcp");
    assert_eq!(event.raw["mcp"], json!({"server": "notes", "tool": "keep"}));
}

#[test]
fn a_patch_is_taken_out_of_its_wrapping() {
    let events = decoded(include_str!("fixtures/PreToolUse-ApplyPatch.json"));
    let calls: Vec<_> = events.iter().map(|event| event.tool.as_ref().unwrap()).collect();
    let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["EditFile", "WriteFile"]);
    assert!(calls.iter().all(|call| call.names().any(|name| name == "ApplyPatch")), "{calls:?}");
    let plain = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch";
    let payload = json!({
        "hook_event_name": "PreToolUse", "tool_name": "ApplyPatch", "tool_input": {"input": plain},
    });
    let events = decoded(&payload.to_string());
    assert_eq!(events[0].tool.as_ref().unwrap().name, "DeleteFile");
}

/// After a hook has changed a command, Droid reports it without them.
#[test]
fn what_the_model_says_of_a_risk_does_not_identify_a_call() {
    let event = decoded(include_str!("fixtures/PreToolUse.json")).remove(0);
    let input = &event.tool.as_ref().unwrap().input;
    assert_eq!(*input, json!({"command": "echo hi-from-shell", "summary": "say hi"}));
    assert_eq!(event.raw["riskLevel"], "low");
}

#[test]
fn a_field_cannot_be_removed() {
    let call = decoded(include_str!("fixtures/PreToolUse.json")).remove(0).tool.unwrap();
    let change = |input: Value| PROTOCOL.native_input(&call, input.as_object().unwrap());
    let kept = json!({"command": "ls", "summary": "say hi", "timeout": 5});
    assert_eq!(change(kept.clone()), Ok(Some(kept)));
    let why = change(json!({"command": "ls"})).unwrap_err();
    assert_eq!(why, "Droid keeps `summary`, which a hook cannot remove");
}

fn scope(project: Option<&str>) -> SettingsScope {
    SettingsScope {
        home: "/home/user".into(),
        config_home: "/home/user/.config".into(),
        project: project.map(PathBuf::from),
        variables: BTreeMap::new(),
    }
}

fn apply(mut texts: SettingsTexts, edits: SettingsEdits) -> SettingsTexts {
    for (path, text) in edits {
        match text {
            Some(text) => texts.insert(path, text),
            None => texts.remove(&path),
        };
    }
    texts
}

fn wired(scope: &SettingsScope, texts: &SettingsTexts) -> SettingsTexts {
    let edits = SPEC.settings.wire(scope, texts, &HookInvocation::to("/bin/anyhook")).unwrap();
    apply(texts.clone(), edits)
}

fn has_ours(text: &str, keys: &[&str]) -> bool {
    let value: Value = serde_json::from_str(text).unwrap();
    let list = keys.iter().fold(&value, |value, key| &value[*key]);
    let groups = list.as_array().into_iter().flatten();
    let mut commands = groups.filter_map(|group| group["hooks"][0]["command"].as_str());
    commands.any(|command| is_ours(command, "droid"))
}

const MODEL: &str = "{\n  \"model\": \"x\"\n}\n";

#[test]
fn an_entry_goes_where_its_event_is_read() {
    let scope = scope(None);
    let settings = Path::new("/home/user/.factory/settings.json");
    let hooks = Path::new("/home/user/.factory/hooks.json");
    let before = SettingsTexts::from([(settings.to_owned(), MODEL.to_owned())]);
    let plain = wired(&scope, &before);
    assert_eq!(plain.len(), 1);
    assert!(has_ours(&plain[settings], &["hooks", "PreToolUse"]));

    // The user adds a hook on Droid's screen, which takes the place of ours.
    let theirs = "{\n  \"PreToolUse\": [\n    {\"hooks\": [{\"type\": \"command\", \"command\": \"mine.sh\"}]}\n  ],\n  \"showHookOutput\": false\n}\n";
    let mut texts = plain.clone();
    texts.insert(hooks.to_owned(), theirs.to_owned());
    let found = SPEC.settings.inspect(&scope, &texts).unwrap();
    assert_eq!(found.missing, ["PreToolUse"]);
    let again = wired(&scope, &texts);
    assert!(has_ours(&again[hooks], &["PreToolUse"]) && again[hooks].contains("mine.sh"));
    assert!(!has_ours(&again[settings], &["hooks", "PreToolUse"]), "{}", again[settings]);
    assert!(has_ours(&again[settings], &["hooks", "Stop"]), "{}", again[settings]);
    assert_eq!(wired(&scope, &again), again, "a second time changes nothing");
    let found = SPEC.settings.inspect(&scope, &again).unwrap();
    assert!(found.missing.is_empty() && found.rivals == ["mine.sh"], "{found:?}");

    let back = apply(again.clone(), SPEC.settings.unwire(&scope, &again).unwrap());
    assert_eq!((back[settings].as_str(), back[hooks].as_str()), (MODEL, theirs));
}

#[test]
fn a_switch_of_the_project_comes_before_the_users() {
    let project = scope(Some("/src/it"));
    let texts = |files: &[(&str, &str)]| {
        files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect()
    };
    let told = |scope: &SettingsScope, files: &[(&str, &str)]| {
        let found = SPEC.settings.inspect(scope, &texts(files)).unwrap();
        found.obstacles.into_iter().map(|obstacle| obstacle.what).collect::<Vec<_>>()
    };
    let (users, projects) = ("/home/user/.factory/settings.json", "/src/it/.factory/settings.json");
    let (on, off) =
        ("{\"hooks\": {\"hooksDisabled\": false}}", "{\"hooks\": {\"hooksDisabled\": true}}");
    let says =
        |file: &str| format!("hooks.hooksDisabled = true in {file} disables anyhook's hooks");
    assert_eq!(told(&project, &[(projects, off), (users, on)]), [says(projects)]);
    assert_eq!(told(&project, &[(users, off)]), [says(users)]);
    assert_eq!(told(&project, &[(projects, on), (users, off)]), [""; 0]);
    assert_eq!(told(&scope(None), &[(users, off)]), [says(users)]);
    let hooks = "/src/it/.factory/hooks.json";
    let found = told(&project, &[(hooks, "{\"hooksDisabled\": true}"), (projects, on)]);
    assert_eq!(found, [format!("hooksDisabled = true in {hooks} disables anyhook's hooks")]);
}

#[test]
fn its_folder_is_in_the_home_that_the_variable_says() {
    let mut scope = scope(None);
    scope.variables.insert("FACTORY_HOME_OVERRIDE", PathBuf::from("/f"));
    assert_eq!(SPEC.settings.files(&scope)[0], Path::new("/f/.factory/settings.json"));
}

#[test]
fn a_start_is_given_its_prompt_and_its_session() {
    let launched = |run: &str, prompt, resume| {
        launch::arguments(launch::of_command(run), &Launch { run, prompt, resume }).join("|")
    };
    assert_eq!(launched("droid", Some("do it"), None), "do it");
    assert_eq!(launched("droid", None, Some("5f")), "--resume|5f");
    assert_eq!(
        launched("droid exec --auto low", Some("do it"), Some("5f")),
        "--session-id|5f|do it"
    );
    assert_eq!(decoded("{\"hook_event_name\": \"Stop\"}")[0].kind, EventKind::BeforeStop);
}

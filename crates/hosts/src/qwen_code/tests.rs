//! What Qwen Code is told, has in its settings, and is started with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhook_model::{Caller, Effect, Event, EventKind, Host, Verdict};
use serde_json::{Value, json};

use super::{PROTOCOL, SPEC};
use crate::launch::{self, Launch};
use crate::wiring::{HookInvocation, SettingsScope, SettingsTexts};

fn decoded(payload: &str) -> Event {
    let caller = Caller::new("/home/user/project", jiff::Timestamp::UNIX_EPOCH);
    PROTOCOL.decode(payload.as_bytes(), &caller).unwrap().remove(0)
}

#[test]
fn an_empty_prompt_is_a_continuation() {
    let event = decoded(include_str!("fixtures/UserPromptSubmit.json"));
    assert_eq!(event.kind, EventKind::BeforeAgent);
    let event = decoded(include_str!("fixtures/UserPromptSubmit-continuation.json"));
    assert_eq!(event.kind, EventKind::Other("continuation".to_owned()));
}

/// `continue: false` is what no other hook's answer overrides, and text on standard error before it
/// leaves a denial with that text.
#[test]
fn a_denial_cannot_be_overridden() {
    let event = decoded(include_str!("fixtures/PreToolUse-shell.json"));
    let deny = Verdict {
        effect: Some(Effect::Deny),
        reason: Some("a \"quoted\" reason".to_owned()),
        ..Verdict::default()
    };
    let reply = PROTOCOL.encode(&event, &deny);
    assert_eq!((reply.exit_code, reply.stdout.as_str()), (2, ""));
    let answer: Value = serde_json::from_str(&reply.stderr).unwrap();
    assert_eq!(answer["continue"], false);
    for reason in [&answer["stopReason"], &answer["hookSpecificOutput"]["permissionDecisionReason"]]
    {
        assert_eq!(reason, "a \"quoted\" reason");
    }
    let late: Value = serde_json::from_str(PROTOCOL.late_refusal.stdout).unwrap();
    assert_eq!((&late["continue"], &late["decision"]), (&false.into(), &"block".into()));
}

fn scope(project: Option<&str>) -> SettingsScope {
    SettingsScope {
        home: "/home/user".into(),
        config_home: "/home/user/.config".into(),
        project: project.map(PathBuf::from),
        variables: BTreeMap::new(),
    }
}

fn told(scope: &SettingsScope, mut texts: SettingsTexts) -> Vec<String> {
    let edits = SPEC.settings.wire(scope, &texts, &HookInvocation::to("/bin/anyhook")).unwrap();
    texts.extend(edits.into_iter().filter_map(|(path, text)| Some((path, text?))));
    let found = SPEC.settings.inspect(scope, &texts).unwrap();
    found.obstacles.into_iter().map(|obstacle| obstacle.what).collect()
}

#[test]
fn what_disables_hooks_is_found() {
    let (user, project) = (scope(None), scope(Some("/home/user/project")));
    let text = |path: &str, value: Value| (PathBuf::from(path), value.to_string());
    let users = "/home/user/.qwen/settings.json";
    let managed = "/etc/qwen-code/settings.json";
    for (scope, files, expected) in [
        (&user, vec![], None),
        (&user, vec![text(users, json!({"disableAllHooks": false}))], None),
        (&user, vec![text(users, json!({"disableAllHooks": true}))], Some("disableAllHooks in")),
        (&user, vec![text(managed, json!({"disableAllHooks": true}))], Some("disableAllHooks in")),
        (
            &project,
            vec![text("/home/user/project/.qwen/settings.json", json!({"disableAllHooks": true}))],
            Some("disableAllHooks in /home/user/project"),
        ),
        (
            &user,
            vec![text(users, json!({"tools": {"executionSandbox": {"network": "open"}}}))],
            Some("tools.executionSandbox in"),
        ),
    ] {
        let told = told(scope, files.into_iter().collect());
        match expected {
            Some(start) => assert!(told.len() == 1 && told[0].starts_with(start), "{told:?}"),
            None => assert_eq!(told, [""; 0]),
        }
    }
}

#[test]
fn a_project_that_is_not_trusted_is_found() {
    let project = scope(Some("/home/user/project"));
    let asks = json!({"security": {"folderTrust": {"enabled": true}}}).to_string();
    for (folders, is_trusted) in [
        (json!({}), false),
        (json!({"/home/user/project": "TRUST_FOLDER"}), true),
        (json!({"/home/user": "TRUST_FOLDER"}), true),
        (json!({"/home/user/other": "TRUST_PARENT"}), true),
        (json!({"/home/user/project": "DO_NOT_TRUST"}), false),
        (json!({"/home/user/project/inner": "TRUST_FOLDER"}), false),
    ] {
        let texts = SettingsTexts::from([
            (PathBuf::from("/home/user/.qwen/settings.json"), asks.clone()),
            (PathBuf::from("/home/user/.qwen/trustedFolders.json"), folders.to_string()),
        ]);
        assert_eq!(told(&project, texts.clone()).is_empty(), is_trusted, "{folders}");
        assert!(told(&scope(None), texts).is_empty(), "the user's hooks run anyway");
    }
}

#[test]
fn its_folder_is_where_the_variable_says() {
    let mut scope = scope(None);
    scope.variables.insert("QWEN_HOME", PathBuf::from("/q"));
    assert_eq!(SPEC.settings.files(&scope), [PathBuf::from("/q/settings.json")]);
}

#[test]
fn a_start_is_given_its_prompt_and_its_session() {
    let launched = |run: &str, prompt, resume| {
        launch::arguments(launch::of_command(run), &Launch { run, prompt, resume }).join("|")
    };
    assert_eq!(launched("qwen", Some("-x do it"), None), "--prompt-interactive=-x do it");
    assert_eq!(launched("qwen --yolo -p", Some("do it"), Some("5f")), "do it|--resume=5f");
    assert_eq!(launched("qwen", None, Some("5f")), "--resume=5f");
    assert_eq!(launched("qwen", None, None), "");
}

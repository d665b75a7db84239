//! What Letta Code has in its settings, and what a session is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhook_model::{Caller, Event, EventKind, Host};
use serde_json::json;

use super::{PROTOCOL, SPEC};
use crate::wiring::{
    EntryFolders, HookInvocation, SettingsEdits, SettingsError, SettingsScope, SettingsTexts,
    is_ours,
};

fn scope(project: Option<&str>) -> SettingsScope {
    SettingsScope {
        home: "/home/user".into(),
        config_home: "/home/user/.config".into(),
        project: project.map(PathBuf::from),
        variables: BTreeMap::new(),
    }
}

fn call() -> HookInvocation {
    let folders = EntryFolders {
        home: "/home/user".into(),
        config: "/home/user/.config/agents".into(),
        state: "/home/user/.local/state/anyhook".into(),
    };
    HookInvocation { folders: Some(folders), ..HookInvocation::to("/bin/anyhook") }
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

#[test]
fn the_entry_of_a_tool_call_only_names_its_script() {
    let scope = scope(None);
    let (settings, script) =
        (Path::new("/home/user/.letta/settings.json"), "/home/user/.letta/anyhook-letta.sh");
    let before = "{\n  \"hooks\": {\n    \"disabled\": false\n  },\n  \"lastAgent\": \"a\"\n}\n";
    let before = SettingsTexts::from([(settings.to_owned(), before.to_owned())]);
    let edits = SPEC.settings.wire(&scope, &before, &call()).unwrap();
    let wired = apply(before.clone(), edits);
    let read: serde_json::Value = serde_json::from_str(&wired[settings]).unwrap();
    let entry = &read["hooks"]["PreToolUse"][0]["hooks"][0]["command"];
    assert_eq!(*entry, format!("/bin/sh {script} || exit 2"));
    assert!(
        is_ours(entry.as_str().unwrap(), "letta") && !is_ours(entry.as_str().unwrap(), "codex")
    );
    let lines = &wired[Path::new(script)];
    assert!(lines.contains("so this call is refused") && lines.contains("/guarded"), "{lines}");

    let found = SPEC.settings.inspect(&scope, &wired).unwrap();
    assert!(found.missing.is_empty() && found.outdated.is_empty(), "{found:?}");
    assert!(found.rivals.is_empty() && found.obstacles.is_empty(), "{found:?}");
    let mut broken = wired.clone();
    broken.remove(Path::new(script));
    assert_eq!(SPEC.settings.inspect(&scope, &broken).unwrap().missing, ["PreToolUse"]);

    let edits = SPEC.settings.unwire(&scope, &wired).unwrap();
    assert_eq!(apply(wired, edits), before);
    let theirs = SettingsTexts::from([(PathBuf::from(script), "echo mine\n".to_owned())]);
    let refused = SPEC.settings.wire(&scope, &theirs, &call()).unwrap_err();
    assert!(matches!(refused, SettingsError::Unexpected { .. }), "{refused}");
    assert!(SPEC.settings.unwire(&scope, &theirs).unwrap().is_empty());
}

#[test]
fn hooks_that_are_disabled_are_told_of_by_whom_they_are() {
    let scope = scope(Some("/src/it"));
    let text = |word: &str| format!("{{\"hooks\": {{\"disabled\": {word}}}}}");
    let told = |files: &[(&str, &str)]| {
        let texts = files.iter().map(|(path, word)| (PathBuf::from(path), text(word))).collect();
        let found = SPEC.settings.inspect(&scope, &texts).unwrap();
        found.obstacles.into_iter().map(|obstacle| obstacle.what).collect::<Vec<_>>()
    };
    let users = "/home/user/.letta/settings.json";
    for file in ["/src/it/.letta/settings.json", "/src/it/.letta/settings.local.json", users] {
        let expected = format!("hooks.disabled = true in {file} disables anyhook's hooks");
        assert_eq!(told(&[(file, "true")]), [expected]);
        assert_eq!(told(&[(file, "\"true\"")]), [""; 0]);
    }
    let both = [(users, "false"), ("/src/it/.letta/settings.json", "true")];
    assert_eq!(told(&both), [""; 0], "the user's word comes first");
}

fn decoded(payload: &serde_json::Value) -> Event {
    let caller = Caller::new("/elsewhere", jiff::Timestamp::UNIX_EPOCH);
    PROTOCOL.decode(payload.to_string().as_bytes(), &caller).unwrap().remove(0)
}

#[test]
fn a_session_is_an_agent_in_a_folder() {
    let at = |folder: &str| {
        decoded(&json!({
            "event_type": "PreToolUse", "working_directory": folder, "tool_name": "Bash",
            "tool_input": {"command": "ls"}, "tool_call_id": "c", "agent_id": "agent-1",
        }))
    };
    let (one, other) = (at("/src/one"), at("/src/other"));
    assert_eq!(one.session.as_deref(), Some("agent-1:/src/one"));
    assert_ne!(one.session, other.session);
    assert_eq!(one.work_dir, Path::new("/src/one"));
    assert_eq!(one.agent, None, "the agent is no subagent of the session");
    let stop = decoded(&json!({
        "event_type": "Stop", "working_directory": "/src/one", "assistant_message": "done",
    }));
    assert_eq!((&stop.kind, stop.session), (&EventKind::BeforeStop, None));
    assert_eq!(stop.data["final_message"]["content"], "done");
}

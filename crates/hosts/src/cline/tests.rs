//! What Cline sends, is told, has in its folders of hooks, and is started with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhook_model::event::CallDoubt;
use anyhook_model::{Caller, Effect, Event, EventKind, Host, Verdict};
use serde_json::{Value, json};

use super::{PROTOCOL, SPEC, refusal};
use crate::launch::{self, Launch};
use crate::wiring::{
    EntryFolders, HookInvocation, SettingsEdits, SettingsError, SettingsScope, SettingsTexts,
};

fn decoded(payload: &str) -> Vec<Event> {
    let caller = Caller::new("/home/user/project", jiff::Timestamp::UNIX_EPOCH);
    PROTOCOL.decode(payload.as_bytes(), &caller).unwrap()
}

fn call(tool: &str, input: Value) -> Vec<Event> {
    let mut call = json!({"id": "call_1", "name": tool});
    call["input"] = input;
    decoded(&json!({"hookName": "tool_call", "tool_call": call}).to_string())
}

fn denied(event: &Event) -> (Value, Vec<String>) {
    let verdict = Verdict {
        effect: Some(Effect::Deny),
        reason: Some("it's \"../../secret\"".to_owned()),
        ..Verdict::default()
    };
    let reply = PROTOCOL.encode(event, &verdict);
    let lost = reply.lost.into_iter().map(|lost| lost.what).collect();
    (serde_json::from_str(&reply.stdout).unwrap(), lost)
}

#[test]
fn a_denied_call_gets_an_input_with_which_it_fails() {
    let place = "/dev/null/refused-by-anyhook/call_1";
    for (tool, input, refused) in [
        (
            "run_commands",
            json!({"commands": ["rm -rf x"]}),
            json!({"commands": [{"command": place, "args": []}]}),
        ),
        ("read_files", json!({"files": [{"path": "x"}]}), json!({"files": [{"path": place}]})),
        ("editor", json!({"path": "x", "new_text": "y"}), json!({"path": place, "new_text": ""})),
        ("ask_question", json!({"question": "x"}), json!({"refused_by_anyhook": "call_1"})),
    ] {
        let (reply, lost) = denied(&call(tool, input)[0]);
        assert_eq!(reply["overrideInput"], refused, "{tool}");
        assert!(refusal::is_refused(tool, "call_1", &refused), "{tool}");
        let told = reply["contextModification"].as_str().unwrap();
        assert!(told.ends_with("did not run: it's \"../../secret\""), "{told}");
        assert!(reply.get("cancel").is_none() && lost.is_empty(), "{reply} {lost:?}");
    }
}

/// A tool without required fields, or of an MCP server, would run with any input.
#[test]
fn a_tool_that_cannot_be_made_to_fail_ends_the_run() {
    for tool in ["team_cleanup", "github__delete_repository", "new_tool"] {
        let (reply, lost) = denied(&call(tool, json!({}))[0]);
        assert_eq!((&reply["cancel"], reply.get("overrideInput")), (&true.into(), None), "{tool}");
        assert_eq!(lost, ["reason"], "{tool}");
    }
    let mcp = &call("github__delete_repository", json!({}))[0];
    assert_eq!(mcp.tool.as_ref().unwrap().name, "Mcp");
    assert_eq!(mcp.raw["mcp"], json!({"server": "github", "tool": "delete_repository"}));
}

#[test]
fn nothing_from_outside_gets_into_the_input_of_a_denied_call() {
    let hostile = "../../../etc/x'; rm -rf /\u{0}call";
    let input = refusal::input("read_files", hostile).unwrap();
    assert_eq!(input, json!({"files": [{"path": "/dev/null/refused-by-anyhook/etcxrm-rfcall"}]}));
}

#[test]
fn a_denied_call_has_neither_run_nor_failed() {
    let events = decoded(include_str!("fixtures/PostToolUse-run_commands-refused.json"));
    let kinds: Vec<&EventKind> = events.iter().map(|event| &event.kind).collect();
    assert_eq!(kinds, [&EventKind::Other("refused_call".to_owned())]);
    // With any other input, it has run.
    let other = include_str!("fixtures/PostToolUse-run_commands-refused.json")
        .replace("\"args\": []", "\"args\": [\"x\"]");
    assert_eq!(decoded(&other)[0].kind, EventKind::AfterToolFailure);
}

#[test]
fn each_thing_of_a_call_is_an_event() {
    let told = |payload: &str| -> Vec<(EventKind, Value)> {
        let told = |event: Event| (event.kind, event.tool.unwrap().input["command"].clone());
        decoded(payload).into_iter().map(told).collect()
    };
    assert_eq!(
        told(include_str!("fixtures/PostToolUse-run_commands-several.json")),
        [(EventKind::AfterTool, "echo one".into()), (EventKind::AfterToolFailure, "exit 3".into()),]
    );
    for (input, commands) in [
        (json!("ls"), vec!["ls"]),
        (json!(["ls", "pwd"]), vec!["ls", "pwd"]),
        (json!({"commands": "ls"}), vec!["ls"]),
        (json!({"cmd": "ls"}), vec!["ls"]),
        (json!({"command": "ls -l"}), vec!["ls -l"]),
        (json!({"command": "rm", "args": ["-rf", "a b"]}), vec!["rm -rf 'a b'"]),
        (json!({"commands": [{"command": "rm", "args": ["x"]}, "ls"]}), vec!["rm x", "ls"]),
    ] {
        let events = call("run_commands", input.clone());
        let found: Vec<&Value> =
            events.iter().map(|event| &event.tool.as_ref().unwrap().input["command"]).collect();
        assert_eq!(found, commands, "{input}");
    }
    let files = call("read_files", json!({"files": ["a", {"file_path": "b", "start_line": 1}]}));
    let files: Vec<&Value> =
        files.iter().map(|event| &event.tool.as_ref().unwrap().files).collect();
    assert_eq!(files, [&json!(["a"]), &json!(["b"])]);
    let many = call("run_commands", json!({"commands": vec!["ls"; 10_000]}));
    assert!(many.len() < 300 && many.iter().all(|event| event.doubt == Some(CallDoubt::Cut)));
    assert_eq!(call("run_commands", json!({"commands": []})).len(), 1);
}

#[test]
fn a_changed_input_goes_back_into_its_list() {
    let change = |tool: &str, input: Value, changed: Value| {
        let call = call(tool, input).remove(0).tool.unwrap();
        assert_eq!(call.fixed, None, "{tool}");
        PROTOCOL.native_input(&call, changed.as_object().unwrap()).unwrap().unwrap()
    };
    assert_eq!(
        change("run_commands", json!({"commands": ["ls"]}), json!({"command": "pwd"})),
        json!({"commands": ["pwd"]})
    );
    assert_eq!(
        change(
            "read_files",
            json!({"files": [{"path": "a"}]}),
            json!({"path": "b", "end_line": 9})
        ),
        json!({"files": [{"path": "b", "end_line": 9}]})
    );
    assert_eq!(
        change(
            "editor",
            json!({"path": "a", "new_text": "x"}),
            json!({"path": "a", "content": "y"})
        ),
        json!({"path": "a", "new_text": "y"})
    );
    assert_eq!(
        change(
            "editor",
            json!({"path": "a", "old_text": "x", "new_text": "y"}),
            json!({"path": "a", "old": "x", "new": "z"})
        ),
        json!({"path": "a", "old_text": "x", "new_text": "z"})
    );
    for input in [json!({"commands": ["ls", "pwd"]}), json!({"command": "rm", "args": ["x"]})] {
        assert!(call("run_commands", input).remove(0).tool.unwrap().fixed.is_some());
    }
}

#[test]
fn a_subagent_is_one_that_has_a_parent() {
    let main = decoded(include_str!("fixtures/PreToolUse.json")).remove(0);
    let sub = decoded(include_str!("fixtures/PreToolUse-run_commands-subagent.json")).remove(0);
    assert!(main.agent.is_none() && sub.agent.is_some(), "{sub:?}");
    let kinds = |payload: &str| decoded(payload).remove(0).kind;
    assert_eq!(kinds(include_str!("fixtures/TaskStart.json")), EventKind::SessionStart);
    assert_eq!(kinds(include_str!("fixtures/TaskStart-subagent.json")), EventKind::SubagentStart);
    assert_eq!(kinds(include_str!("fixtures/TaskComplete.json")), EventKind::AfterAgent);
    assert_eq!(kinds(include_str!("fixtures/TaskComplete-subagent.json")), EventKind::SubagentStop);
}

fn scope(project: Option<&str>) -> SettingsScope {
    SettingsScope {
        home: "/home/user".into(),
        config_home: "/home/user/.config".into(),
        project: project.map(PathBuf::from),
        variables: BTreeMap::new(),
    }
}

fn invocation() -> HookInvocation {
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
fn hooks_of_the_user_stay_beside_ours() {
    let scope = scope(None);
    let theirs = [
        ("/home/user/.cline/hooks/PreToolUse", "#!/bin/sh\necho mine\n"),
        ("/home/user/.cline/hooks/PreToolUse.sh", "echo mine, too\n"),
        ("/home/user/Documents/Cline/Hooks/TaskStart.py", "print()\n"),
    ];
    let before: SettingsTexts =
        theirs.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
    let further = SPEC.settings.further_files(&scope);
    assert!(before.keys().all(|path| further.contains(path)), "{further:?}");
    let edits = SPEC.settings.wire(&scope, &before, &invocation()).unwrap();
    let wired = apply(before.clone(), edits);
    let ours = Path::new("/home/user/.cline/hooks/PreToolUse.zsh");
    let text = &wired[ours];
    assert!(text.starts_with("#!/bin/sh\n") && text.contains("\nexec /bin/sh -c "), "{text}");
    assert!(text.contains("{\"cancel\": true, \"errorMessage\": "), "{text}");
    // Cline runs them in the order of their paths, and the last changed input counts.
    let folder: Vec<&PathBuf> =
        wired.keys().filter(|path| path.starts_with("/home/user/.cline")).collect();
    let last = folder.iter().filter(|path| path.to_string_lossy().contains("PreToolUse")).max();
    assert_eq!(last.unwrap().as_path(), ours);

    let found = SPEC.settings.inspect(&scope, &wired).unwrap();
    assert!(found.missing.is_empty() && found.outdated.is_empty(), "{found:?}");
    let paths: Vec<&str> = theirs.iter().map(|(path, _)| *path).collect();
    assert_eq!(found.rivals.len(), 3, "{found:?}");
    assert!(found.rivals.iter().all(|rival| paths.contains(&rival.as_str())), "{found:?}");
    let mut changed = wired.clone();
    changed.insert(ours.to_owned(), text.replace("exit $1", "exit 0"));
    assert_eq!(SPEC.settings.inspect(&scope, &changed).unwrap().missing, ["PreToolUse"]);
    let edits = SPEC.settings.wire(&scope, &changed, &invocation()).unwrap();
    assert_eq!(apply(changed, edits), wired, "what is broken is put right");

    let edits = SPEC.settings.unwire(&scope, &wired).unwrap();
    assert_eq!(apply(wired, edits), before);
}

#[test]
fn a_file_of_the_user_under_our_name_is_left_alone() {
    let path = PathBuf::from("/src/it/.cline/hooks/PreToolUse.zsh");
    let theirs = SettingsTexts::from([(path, "echo mine\n".to_owned())]);
    let scope = scope(Some("/src/it"));
    let refused = SPEC.settings.wire(&scope, &theirs, &invocation()).unwrap_err();
    assert!(matches!(refused, SettingsError::Taken { .. }), "{refused}");
    assert!(SPEC.settings.unwire(&scope, &theirs).unwrap().is_empty());
}

#[test]
fn its_folder_is_where_the_variable_says() {
    let mut scope = scope(None);
    scope.variables.insert("CLINE_DIR", PathBuf::from("/c"));
    assert_eq!(SPEC.settings.files(&scope)[0], Path::new("/c/hooks/TaskStart.zsh"));
}

#[test]
fn a_start_is_given_its_prompt_or_its_session() {
    let launched = |run: &str, prompt, resume| {
        launch::arguments(launch::of_command(run), &Launch { run, prompt, resume }).join("|")
    };
    assert_eq!(launched("cline", Some("do it"), None), "do it");
    assert_eq!(launched("cline", Some("go"), None), "go ", "one word would be a command");
    assert_eq!(launched("cline", None, Some("5f")), "--id|5f");
    assert_eq!(launched("cline", None, None), "");
}

//! What Copilot CLI sends in its two dialects, is told, and has in its settings.

use std::collections::BTreeMap;

use anyhook_model::{Caller, Effect, Event, EventKind, Host, Verdict};
use serde_json::{Value, json};

use super::{PROTOCOL, SPEC};
use crate::launch::{self, Launch};
use crate::wiring::{HookInvocation, SettingsEdits, SettingsScope, SettingsTexts};

fn decoded(payload: &[u8]) -> Event {
    let caller = Caller::new("/home/user/project", jiff::Timestamp::UNIX_EPOCH);
    PROTOCOL.decode(payload, &caller).unwrap().remove(0)
}

#[test]
fn a_call_of_an_mcp_server_names_it() {
    let called = |name: &str| {
        let payload = json!({"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": {}});
        let event = decoded(payload.to_string().as_bytes());
        (event.tool.unwrap().name, event.raw.get("mcp").cloned())
    };
    let of = |server: &str, tool: &str| {
        ("Mcp".to_owned(), Some(json!({"server": server, "tool": tool})))
    };
    assert_eq!(called("notes-keep"), of("notes", "keep"));
    assert_eq!(called("context7-query-docs"), of("context7", "query-docs"));
    assert_eq!(called("github-mcp-server-get_file"), of("github-mcp-server", "get_file"));
    assert_eq!(called("web_fetch"), ("FetchURL".to_owned(), None));
    assert_eq!(called("notes-"), ("notes-".to_owned(), None));
    let recorded = decoded(include_bytes!("fixtures/PascalCase-PreToolUse-mcp.json"));
    assert_eq!(recorded.raw["mcp"], json!({"server": "notes", "tool": "keep"}));
}

#[test]
fn both_dialects_are_the_same_events() {
    macro_rules! pairs {
        ($($native:literal $pascal:literal,)*) => {
            [$((
                $native,
                &include_bytes!(concat!("fixtures/", $native, ".json"))[..],
                &include_bytes!(concat!("fixtures/PascalCase-", $pascal, ".json"))[..],
            )),*]
        };
    }
    for (name, native, pascal) in pairs! {
        "sessionStart" "SessionStart",
        "sessionEnd" "SessionEnd",
        "userPromptSubmitted" "UserPromptSubmit",
        "preToolUse" "PreToolUse",
        "preToolUse-bash_subagent" "PreToolUse-subagent",
        "postToolUse" "PostToolUse",
        "postToolUseFailure" "PostToolUseFailure",
        "agentStop" "Stop",
        "subagentStart" "SubagentStart",
        "subagentStop" "SubagentStop",
        "permissionRequest" "PermissionRequest",
        "preCompact" "PreCompact",
    } {
        let (native, pascal) = (decoded(native), decoded(pascal));
        assert_eq!(native.kind, pascal.kind, "{name}");
        assert!(!matches!(native.kind, EventKind::Other(_)), "{name}");
        assert_eq!(native.agent.is_some(), pascal.agent.is_some(), "{name}");
        let names = |event: &Event| event.tool.as_ref().map(|tool| tool.name.clone());
        if name != "postToolUseFailure" {
            assert_eq!(names(&native), names(&pascal), "{name}");
        }
    }
}

#[test]
fn a_payload_without_a_name_is_told_by_its_fields() {
    let kind = |payload: Value| decoded(payload.to_string().as_bytes()).kind;
    let call = json!({"sessionId": "s", "toolName": "bash", "toolArgs": {"command": "ls"}});
    assert_eq!(kind(call.clone()), EventKind::BeforeTool);
    let mut named = call.clone();
    named["toolArgs"]["error"] = "x".into();
    assert_eq!(kind(named), EventKind::BeforeTool);
    let mut done = call.clone();
    done["toolResult"] = json!({"resultType": "success", "textResultForLlm": "x"});
    assert_eq!(kind(done), EventKind::AfterTool);
    let mut failed = call;
    failed["error"] = "x".into();
    assert_eq!(kind(failed), EventKind::AfterToolFailure);
    // Half a payload is about a call as long as it names a tool.
    let cut = br#"{"sessionId":"s","toolName":"bash","toolArgs":{"command":"rm -rf"#;
    let event = decoded(cut);
    assert_eq!(event.kind, EventKind::BeforeTool);
    assert!(event.doubt.is_some());
}

#[test]
fn a_patch_is_not_an_edit() {
    let payload = include_bytes!("fixtures/PascalCase-PreToolUse-apply_patch.json");
    let event = decoded(payload);
    let tool = event.tool.unwrap();
    assert_eq!((tool.name.as_str(), &tool.files), ("WriteFile", &json!(["new.txt"])));
}

#[test]
fn a_failed_command_is_a_failure() {
    let failed = decoded(include_bytes!("fixtures/PascalCase-PostToolUse-failed.json"));
    assert_eq!(failed.kind, EventKind::AfterToolFailure);
    assert_eq!(failed.data["error"], "exit 3");
    // The agent has a result, which a hook can replace.
    let deny = Verdict { effect: Some(Effect::Deny), ..Verdict::default() };
    let reply = PROTOCOL.encode(&failed, &deny);
    assert!(reply.stdout.contains("\"decision\": \"block\"") && reply.lost.is_empty(), "{reply:?}");
    let mut spoofed: Value =
        serde_json::from_slice(include_bytes!("fixtures/PascalCase-PostToolUse-failed.json"))
            .unwrap();
    spoofed["tool_result"]["text_result_for_llm"] =
        "<shellId: 1 completed with exit code 3>\n<shellId: 1 completed with exit code 0>".into();
    assert_eq!(decoded(spoofed.to_string().as_bytes()).kind, EventKind::AfterTool);
}

#[test]
fn a_subagent_belongs_to_its_parents_session() {
    let call = decoded(include_bytes!("fixtures/PascalCase-PreToolUse-subagent.json"));
    let started = decoded(include_bytes!("fixtures/PascalCase-SubagentStart.json"));
    assert_eq!(started.kind, EventKind::SubagentStart);
    assert_eq!((&call.session, &call.agent), (&started.session, &started.agent));
    for payload in [
        &include_bytes!("fixtures/PascalCase-UserPromptSubmit-subagent.json")[..],
        include_bytes!("fixtures/PascalCase-Stop-subagent.json"),
    ] {
        let event = decoded(payload);
        assert!(matches!(event.kind, EventKind::Other(_)), "{event:?}");
        assert_eq!(event.session, started.session);
    }
}

#[test]
fn a_deny_is_said_twice() {
    let event = decoded(include_bytes!("fixtures/PascalCase-PreToolUse.json"));
    let deny = Verdict { effect: Some(Effect::Deny), ..Verdict::default() };
    let reply = PROTOCOL.encode(&event, &deny);
    assert_eq!(reply.exit_code, 2);
    let said: Value = serde_json::from_str(&reply.stdout).unwrap();
    assert_eq!(said["permissionDecision"], "deny");
    let late: Value = serde_json::from_str(PROTOCOL.late_refusal.stdout).unwrap();
    assert_eq!((&late["permissionDecision"], PROTOCOL.late_refusal.exit_code), (&"deny".into(), 2));
}

fn scope(project: bool) -> SettingsScope {
    SettingsScope {
        home: "/home/user".into(),
        config_home: "/home/user/.config".into(),
        project: project.then(|| "/home/user/project".into()),
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

fn wired(scope: &SettingsScope) -> SettingsTexts {
    let call = HookInvocation::to("/bin/anyhook");
    let none = SettingsTexts::new();
    apply(none.clone(), SPEC.settings.wire(scope, &none, &call).unwrap())
}

#[test]
fn our_file_is_made_and_removed() {
    for project in [false, true] {
        let scope = scope(project);
        let texts = wired(&scope);
        let [(path, text)] = &texts.iter().collect::<Vec<_>>()[..] else { panic!("{texts:?}") };
        assert!(path.ends_with("hooks/anyhook.json"), "{path:?}");
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(value["version"], 1);
        assert!(value["hooks"]["PreToolUse"][0]["hooks"][0]["command"].is_string(), "{text}");
        let edits = SPEC.settings.unwire(&scope, &texts).unwrap();
        assert_eq!(apply(texts, edits), SettingsTexts::new());
    }
}

fn obstacles(scope: &SettingsScope, texts: &SettingsTexts) -> Vec<String> {
    let found = SPEC.settings.inspect(scope, texts).unwrap();
    found.obstacles.into_iter().map(|obstacle| obstacle.what).collect()
}

#[test]
fn what_disables_hooks_is_reported() {
    let user = scope(false);
    let mut texts = wired(&user);
    assert_eq!(obstacles(&user, &texts), [] as [String; 0]);
    for text in texts.values_mut() {
        text.insert_str(0, "// mine\n");
    }
    assert!(obstacles(&user, &texts)[0].contains("is not plain JSON"));

    let project = scope(true);
    let mut texts = wired(&project);
    let off = "{\"disableAllHooks\": true}".to_owned();
    texts.insert("/home/user/project/.claude/settings.local.json".into(), off);
    assert!(
        obstacles(&project, &texts)[0].contains("disableAllHooks in /home/user/project/.claude")
    );
}

#[test]
fn a_projects_hooks_need_trust() {
    let scope = scope(true);
    let mut texts = wired(&scope);
    let config = |folder: &str| format!("// managed\n{{\"trustedFolders\": [\"{folder}\"]}}\n");
    let mut told = |folder: &str| {
        texts.insert("/home/user/.copilot/config.json".into(), config(folder));
        obstacles(&scope, &texts).len()
    };
    assert_eq!(told("/home/user/other"), 1);
    assert_eq!(told("/home/user/project"), 0);
    assert_eq!(told("/home/user"), 0);
}

#[test]
fn a_prompt_and_a_session_are_given() {
    let given = |run: &str| {
        let launch = Launch { run, prompt: Some("-x do it"), resume: Some("5f3c") };
        launch::arguments(Some("copilot"), &launch).join("|")
    };
    assert_eq!(given("copilot"), "--resume=5f3c|--interactive=-x do it");
    assert_eq!(given("copilot --allow-all-tools -p"), "-x do it|--resume=5f3c");
}

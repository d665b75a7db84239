//! Whether oh-my-pi loads our extension, and what its calls are.

use std::path::PathBuf;

use anyhook_model::event::CallDoubt;
use anyhook_model::{Caller, Event, EventKind, Host};
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

fn call(tool: &str, input: &Value) -> Vec<Event> {
    let payload = json!({"hook_event_name": "tool_call", "tool_name": tool, "tool_input": input});
    let caller = Caller::new("/home/user/project", jiff::Timestamp::UNIX_EPOCH);
    PROTOCOL.decode(payload.to_string().as_bytes(), &caller).unwrap()
}

#[test]
fn a_patch_is_an_event_for_each_file() {
    let patch = "[a.txt#1a2b]\nPUT 1.=1:\n+new\n[b.txt#0000]\nREM\n";
    let events = call("edit", &json!({"input": patch, "i": "edit it"}));
    let tools: Vec<(String, Value)> = events
        .iter()
        .map(|event| event.tool.as_ref().unwrap())
        .map(|tool| (tool.name.clone(), tool.files.clone()))
        .collect();
    let tool = |name: &str, file: &str| (name.to_owned(), json!([file]));
    let expected =
        [tool("EditFile", "a.txt"), tool("EditFile", "b.txt"), tool("DeleteFile", "b.txt")];
    assert_eq!(tools, expected);
    assert_eq!(events[0].tool.as_ref().unwrap().native.as_ref().unwrap().tool_name, "edit");
    assert!(events.iter().all(|event| event.tool.as_ref().unwrap().fixed.is_some()));
}

#[test]
fn other_forms_of_an_edit_name_their_files() {
    let input = json!({"path": "a.txt", "old_string": "x", "new_string": "y"});
    let [event] = &call("edit", &input)[..] else { panic!() };
    let tool = event.tool.as_ref().unwrap();
    assert_eq!((tool.name.as_str(), &tool.files), ("EditFile", &json!(["a.txt"])));
    assert_eq!(tool.input, json!({"path": "a.txt", "old": "x", "new": "y"}));
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-x\n+y\n*** End Patch\n";
    let [event] = &call("edit", &json!({"input": patch}))[..] else { panic!() };
    assert_eq!((&event.tool.as_ref().unwrap().files, event.doubt), (&json!(["a.txt"]), None));
    let event = call("edit", &json!({"input": "change a.txt somehow"})).remove(0);
    assert_eq!(event.doubt, Some(CallDoubt::Files));
}

#[test]
fn a_program_that_is_started_is_a_command() {
    let input = json!({"op": "start", "name": "x", "application": "rm", "args": ["-rf", "a b"]});
    let event = call("hub", &input).remove(0);
    let tool = event.tool.unwrap();
    assert!(tool.names().any(|name| name == "Shell"));
    assert_eq!(tool.input["command"], "rm -rf 'a b'");
    assert!(tool.fixed.is_some());
    let tool = call("hub", &json!({"op": "list"})).remove(0).tool.unwrap();
    assert!(!tool.names().any(|name| name == "Shell"));
    let tool = call("eval", &json!({"language": "js", "code": "1+1"})).remove(0).tool.unwrap();
    assert_eq!((tool.name.as_str(), &tool.input["command"]), ("Shell", &json!("1+1")));
}

#[test]
fn a_call_of_an_mcp_server_names_it() {
    let event = call("mcp__mini_echo_it", &json!({})).remove(0);
    assert_eq!(event.tool.unwrap().name, "Mcp");
    assert_eq!(event.raw["mcp"], json!({"server": "mini", "tool": "echo_it"}));
}

#[test]
fn a_subagent_is_part_of_the_session_that_started_it() {
    let decoded = |name: &str| {
        let payload = json!({"hook_event_name": name, "session_id": "main", "agent_id": "sub"});
        let caller = Caller::new("/p", jiff::Timestamp::UNIX_EPOCH);
        let event = PROTOCOL.decode(payload.to_string().as_bytes(), &caller).unwrap().remove(0);
        (event.kind, event.session.unwrap(), event.agent.unwrap())
    };
    let ids = ("main".to_owned(), "sub".to_owned());
    let expected = |kind: EventKind| (kind, ids.0.clone(), ids.1.clone());
    assert_eq!(decoded("session_start"), expected(EventKind::SubagentStart));
    assert_eq!(decoded("session_shutdown"), expected(EventKind::SubagentStop));
}

#[test]
fn the_users_extension_has_a_name_of_its_own() {
    let (user, project) = (scope(None), scope(Some("/src/it")));
    let own = SPEC.settings.files(&user).remove(0);
    let name = own.file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(own.parent().unwrap().to_str(), Some("/home/user/.omp/agent/extensions"));
    assert!(name.starts_with("anyhook-") && name.len() == "anyhook-.js".len() + 16, "{name}");
    let other = SettingsScope { home: "/home/other".into(), ..user.clone() };
    let others = SPEC.settings.files(&other).remove(0);
    assert_ne!(others.file_name(), own.file_name());
    let projects = SPEC.settings.files(&project);
    assert_eq!(projects, [PathBuf::from("/src/it/.omp/extensions/anyhook.js")]);

    let replacing = PathBuf::from(format!("/src/it/.omp/extensions/{name}"));
    assert!(SPEC.settings.further_files(&project).contains(&replacing));
    let texts = SettingsTexts::from([(replacing, "export default () => {}".to_owned())]);
    let found = SPEC.settings.inspect(&project, &texts).unwrap().obstacles;
    assert!(found[0].what.contains("replaces the user's extension"), "{found:?}");
    assert!(SPEC.settings.inspect(&project, &SettingsTexts::new()).unwrap().obstacles.is_empty());
}

#[test]
fn settings_may_disable_our_extension() {
    let user = scope(None);
    let own = SPEC.settings.files(&user).remove(0);
    let id = format!("extension-module:{}", own.file_stem().unwrap().to_str().unwrap());
    let call = HookInvocation::to("/x/anyhook");
    let mut texts = SettingsTexts::from([(own, String::new())]);
    let edits = SPEC.settings.wire(&user, &SettingsTexts::new(), &call).unwrap();
    texts.extend(edits.into_iter().filter_map(|(path, text)| Some((path, text?))));
    let mut obstacles = |text: String| {
        texts.insert("/home/user/.omp/agent/config.yml".into(), text);
        SPEC.settings.inspect(&user, &texts).unwrap().obstacles.len()
    };
    assert_eq!(obstacles(format!("disabledExtensions:\n  - {id}\n")), 1);
    assert_eq!(obstacles(format!("disabledExtensions: [\"{id}\"]\n")), 1);
    assert_eq!(obstacles(format!("disabledExtensions: [{id}-2, extension-module:x]\n")), 0);
}

//! Every recorded payload, decoded, and answered with every kind of verdict.

#![expect(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_hosts::{AGENTS, HostSpec};
use anyhook_model::json::Object;
use anyhook_model::{Caller, Effect, Event, Host, RecordId, Reply, Spelling, Verdict};
use serde_json::{Value, json};

/// The agent's folder.
fn folder(agent: &HostSpec) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(agent.id().replace('-', "_"))
}

fn fixtures(agent: &HostSpec) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder(agent).join("fixtures"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    // Logs are in a folder of their own.
    files.retain(|path| path.is_file());
    files.sort();
    files
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let bytes = fs::read(&path).unwrap();
            (
                name.clone(),
                if HAS_PLUGIN.contains(&agent.id()) { from_plugin(&name, &bytes) } else { bytes },
            )
        })
        .collect()
}

/// The agents whose payloads come from our plugin for OpenCode.
const HAS_PLUGIN: [&str; 2] = ["kilo", "opencode"];

/// Recorded inside the agent; our plugin sends the same with the hook's name and the folders.
fn from_plugin(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(bytes).unwrap();
    let hook = name.strip_prefix("event.").unwrap_or(name).split('-').next().unwrap();
    value["hook"] = hook.into();
    value["directory"] = "/home/user/project".into();
    value["worktree"] = "/home/user/project".into();
    value.to_string().into_bytes()
}

fn caller() -> Caller {
    Caller {
        work_dir: "/home/user/project".into(),
        project_dir: Some("/home/user/project".into()),
        now: "2026-11-15T12:00:00Z".parse().unwrap(),
        agent_id: None,
        foreign_entry: None,
    }
}

fn verdicts(agent: &HostSpec, event: &Event) -> Vec<(&'static str, Verdict)> {
    let base = Verdict {
        id: Some(RecordId::from_text("7k2m9x4q")),
        by: Some("guard".to_owned()),
        ..Verdict::default()
    };
    let with = |effect: Effect| Verdict {
        effect: Some(effect),
        reason: Some("because".to_owned()),
        ..base.clone()
    };
    let context = Some("remember this".to_owned());
    let mut all = vec![
        ("silent", base.clone()),
        ("allow", with(Effect::Allow)),
        ("ask", with(Effect::Ask)),
        ("deny", with(Effect::Deny)),
        ("deny without a reason", Verdict { effect: Some(Effect::Deny), ..base.clone() }),
        ("deny and context", Verdict { context: context.clone(), ..with(Effect::Deny) }),
        ("context", Verdict { context, ..base.clone() }),
    ];
    let changed = json!({"command": "echo changed"});
    let changed = changed.as_object().unwrap();
    let can_change =
        agent.protocol.capabilities.iter().any(|row| row.modify) && event.kind.takes_input_change();
    if let Some(tool) = event.tool.as_ref().filter(|tool| tool.name == "Shell" && can_change) {
        // Some agents keep what a hook does not name, so nothing can be left out.
        let whole = || {
            let mut whole = tool.input.as_object().cloned().unwrap_or_default();
            whole.extend(changed.clone());
            whole
        };
        let native_input = |input: &Object| agent.protocol.native_input(tool, input);
        let native_input = native_input(changed).or_else(|_| native_input(&whole())).unwrap();
        all.push(("changed input", Verdict { input: Some(changed.clone()), native_input, ..base }));
    }
    all
}

fn shown(reply: &Reply) -> String {
    let lost: Vec<String> =
        reply.lost.iter().map(|lost| format!("{} → {}", lost.what, lost.instead)).collect();
    format!(
        "exit {} stdout {:?} stderr {:?}{}",
        reply.exit_code,
        reply.stdout.trim_end(),
        reply.stderr.trim_end(),
        if lost.is_empty() { String::new() } else { format!(" lost [{}]", lost.join("; ")) }
    )
}

#[test]
fn every_fixture_and_every_verdict() {
    for agent in AGENTS {
        let mut text = String::new();
        for (name, bytes) in fixtures(agent) {
            let events = agent.protocol.decode(&bytes, &caller()).unwrap();
            text.push_str(&format!("# {name}\n"));
            for event in &events {
                text.push_str(&format!("{}\n", event.to_json(Spelling::Canonical)));
            }
            for (word, verdict) in verdicts(agent, &events[0]) {
                text.push_str(&format!(
                    "  {word}: {}\n",
                    shown(&agent.protocol.encode(&events[0], &verdict))
                ));
            }
            text.push('\n');
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(folder(agent).join("snapshots"));
        settings.set_prepend_module_to_snapshot(false);
        settings.bind(|| insta::assert_snapshot!("fixtures", text));
    }
}

#[test]
fn a_deny_is_said_wherever_a_host_can_be_stopped() {
    for agent in AGENTS {
        for (name, bytes) in fixtures(agent) {
            let events = agent.protocol.decode(&bytes, &caller()).unwrap();
            let row = agent.protocol.capabilities.iter().find(|row| row.event == events[0].kind);
            let Some(row) = row.filter(|row| row.block) else { continue };
            let deny = Verdict { effect: Some(Effect::Deny), ..Verdict::default() };
            let reply = agent.protocol.encode(&events[0], &deny);
            assert!(reply.lost.is_empty(), "{name}: {reply:?}");
            let said = format!("{}{}", reply.stdout, reply.stderr);
            assert!(said.contains("blocked"), "{} {name}: no reason in {said:?}", row.event);
            let silent = agent.protocol.encode(&events[0], &Verdict::default());
            assert_eq!(
                (silent.stdout.trim_end(), silent.stderr.as_str(), silent.exit_code),
                (no_opinion(agent), "", 0),
                "{name}"
            );
        }
    }
}

/// What an agent is told if no hook has an opinion: for most, nothing.
fn no_opinion(agent: &HostSpec) -> &'static str {
    if agent.id() == "antigravity" { r#"{"decision": ""}"# } else { "" }
}

#[test]
fn payloads_that_were_cut_off_are_read_as_far_as_they_go() {
    let whole = r#"{"hook_event_name": "PreToolUse", "hook": "tool.execute.before", "tool_name": "Bash", "tool_input": {"command": "rm -rf /"}, "cwd": "/p"}"#;
    for agent in AGENTS.into_iter().filter(|agent| !HAS_PLUGIN.contains(&agent.id())) {
        let cut = whole.find(" /\"").unwrap();
        let payload = whole.replace(
            "PreToolUse",
            if agent.id() == "gemini-cli" { "BeforeTool" } else { "PreToolUse" },
        );
        let events = agent.protocol.decode(&payload.as_bytes()[..cut], &caller()).unwrap();
        let tool = events[0].tool.as_ref().unwrap();
        assert_eq!(events[0].kind.to_string(), "before_tool");
        assert_eq!(tool.input["command"], "rm -rf");
        assert!(tool.fixed.is_some(), "what is not whole is not rewritten");
    }
}

#[test]
fn what_cannot_be_read_does_not_get_past_a_guard() {
    for agent in AGENTS {
        let error = agent.protocol.decode(b"\xff\xff", &caller()).unwrap_err();
        let reply = agent.protocol.refuse(&error, true);
        let said = format!("{}{}", reply.stdout, reply.stderr);
        assert!(reply.exit_code == 2 || said.contains("deny"), "{}: {reply:?}", agent.id());
        assert!(said.contains("on_failure: block"), "{said}");
        assert_eq!(agent.protocol.refuse(&error, false).exit_code, 1);
    }
}

#[test]
fn payloads_cut_anywhere_are_refused_or_read_but_never_panic() {
    for agent in AGENTS {
        for (_, bytes) in fixtures(agent) {
            for cut in (0..bytes.len()).step_by(7) {
                let _ = agent.protocol.decode(&bytes[..cut], &caller());
            }
        }
    }
}

#[test]
fn unknown_events_and_fields_pass_through() {
    for agent in AGENTS {
        let payload = json!({"hook_event_name": "BrandNew", "hook": "BrandNew", "session_id": "s", "fresh": {"a": [1]}});
        let events = agent.protocol.decode(payload.to_string().as_bytes(), &caller()).unwrap();
        assert_eq!(events[0].kind.to_string(), "BrandNew");
        assert_eq!(events[0].raw["fresh"], json!({"a": [1]}));
    }
}

//! Whether what is said by and to the daemon keeps to its schemas.

use std::os::unix::net::UnixStream;

use anyhook_model::bus::{AgentFailed, AgentPrompt, AgentReport, AgentSignal};
use anyhook_model::daemon::Hello;
use anyhook_model::{BusEvent, FailureKind, ProcessName, PromptType};
use anyhook_socket::frame;
use anyhook_testkit::{TestEnv, begin, finish, wait_until, write};
use serde_json::{Value, json};

use super::{assert_valid, is_valid};
use crate::environment;

/// What the commands of the daemon print, of agents in several states and of decisions of each kind.
#[test]
fn what_the_daemon_knows_keeps_to_its_schemas() {
    let environment = environment();
    assert_valid(&environment, "daemon-status", &Value::Null);
    let settings = "[decisions]\nwait = [\"permission\"]\nwait_seconds = 60\n";
    write(&environment.home().join(".config/agents/anyhook.toml"), settings, 0o644);
    let event = |session: &str, event: &str| {
        json!({
            "session_id": session, "cwd": environment.project(), "hook_event_name": event,
            "prompt": "x", "error": "rate_limit", "tool_name": "Bash",
            "tool_input": {"command": "touch f"},
        })
        .to_string()
    };
    for (session, name) in [
        ("works", "UserPromptSubmit"),
        ("rests", "Stop"),
        ("fails", "StopFailure"),
        ("over", "SessionEnd"),
    ] {
        environment.run_with_input(&["hook", "claude-code"], event(session, name));
    }
    environment.run(&["emit", "agent:prompt", "--agent", "asks", "--type", "question"]);
    environment.run(&["emit", "agent:signal", "--agent", "calls", "escalate", "--message", "look"]);
    let permission = event("waits", "PermissionRequest");
    let waits = begin(environment.command(&["hook", "claude-code"]), permission.as_bytes());
    let decisions = |environment: &TestEnv| {
        environment.run(&["decision", "list", "--all", "--json"]).json().as_array().unwrap().clone()
    };
    wait_until("both decisions", || decisions(&environment).len() == 2);
    let id = decisions(&environment)
        .iter()
        .find(|decision| decision["inquiry"]["kind"] == "permission")
        .map(|decision| decision["inquiry"]["id"].as_str().unwrap().to_owned())
        .unwrap();
    let agents = environment.run(&["agent", "list", "--all", "--json"]).json();
    assert_eq!(agents.as_array().unwrap().len(), 6, "{agents:#}");
    assert_valid(&environment, "agents", &agents);
    let one = environment.run(&["agent", "show", "asks", "--json"]).json();
    assert_valid(&environment, "agents", &json!([one]));
    assert_valid(&environment, "decisions", &decisions(&environment).into());
    let resolution = environment.run(&["decision", "resolve", &id, "1", "--json"]).json();
    finish(waits);
    let one = environment.run(&["decision", "show", &id, "--json"]).json();
    assert_eq!(one["resolution"], resolution);
    assert_valid(&environment, "decisions", &json!([one]));
    let status = environment.run(&["daemon", "status", "--json"]).json();
    assert!(status.is_object(), "{status}");
    assert_valid(&environment, "daemon-status", &status);
    for wrong in [json!({"id": "a"}), json!([{"id": "a", "state": "idle"}])] {
        assert!(!is_valid(&environment, "agents", &wrong), "{wrong}");
    }
}

/// What is really said at the socket, requests that are refused among it.
#[test]
fn what_is_said_to_the_daemon_keeps_to_its_schemas() {
    let environment = environment();
    environment.run(&["emit", "agent:signal", "--agent", "a", "escalate"]);
    environment.run(&["daemon", "start"]);
    let mut socket = UnixStream::connect(environment.state().join("daemon/socket")).unwrap();
    frame::write(&mut socket, &Hello::ours()).unwrap();
    frame::read::<Value>(&mut socket).unwrap();
    for (request, answer) in [
        (json!("status"), "status"),
        (json!("agents"), "agents"),
        (json!("decisions"), "decisions"),
        (json!({"resolve": {"id": "none", "choice": "1", "by": "me"}}), "refused"),
        (json!({"follow": {"after": 0}}), "told"),
    ] {
        assert_valid(&environment, "daemon-request", &request);
        frame::write(&mut socket, &request).unwrap();
        let said: Value = frame::read(&mut socket).unwrap();
        assert!(said.get(answer).is_some(), "{request}: {said}");
        assert_valid(&environment, "daemon-response", &said);
        if answer == "told" {
            assert_valid(&environment, "happening", &said["told"]["event"]);
        }
    }
    for wrong in
        [json!("nonsense"), json!({"resolve": {"id": 7}}), json!({"follow": {"after": -1}})]
    {
        assert!(!is_valid(&environment, "daemon-request", &wrong), "{wrong}");
    }
}

/// Every type with everything it can have.
#[test]
fn happenings_keep_to_their_schema() {
    let environment = environment();
    let text = || Some("x".to_owned());
    let report = AgentReport {
        agent: "a".to_owned(),
        at: Some(jiff::Timestamp::UNIX_EPOCH),
        host: text(),
        session: text(),
        work_dir: text(),
        project: text(),
        tool: text(),
        about: text(),
        call: text(),
        call_ended: true,
        process: Some(ProcessName { pid: 1, started: 1, namespace: text() }),
        log: text(),
        record: Some(anyhook_engine::new_id()),
        fresh: true,
        broken_off: true,
        likely: true,
        ..AgentReport::default()
    };
    let of = |name: &str| {
        let mut object = BusEvent::AgentIdle(report.clone()).to_object();
        object.insert("type".to_owned(), name.into());
        Value::Object(object)
    };
    // That an agent has another name is told in a form of its own.
    let renamed = json!({"type": "agent:renamed", "agent": "a", "name": "b", "by": "me"});
    assert_valid(&environment, "happening", &renamed);
    let is_report = |name: &&&str| name.starts_with("agent:") && **name != "agent:renamed";
    let agents: Vec<&&str> = BusEvent::TYPES.iter().filter(is_report).collect();
    assert_eq!(agents.len(), 9);
    for name in agents {
        assert_valid(&environment, "happening", &of(name));
        let nobody = json!({"type": name, "source": "hook"});
        assert!(!is_valid(&environment, "happening", &nobody), "{name}");
    }
    for (kind, _) in PromptType::ALL {
        let prompt = AgentPrompt { report: report.clone(), prompt_type: kind };
        let prompt = serde_json::to_value(BusEvent::AgentPrompt(prompt)).unwrap();
        assert_valid(&environment, "happening", &prompt);
    }
    let message = text();
    let kind = FailureKind::NoNetwork;
    let failed = AgentFailed { report: report.clone(), kind, message: message.clone() };
    let failed = serde_json::to_value(BusEvent::AgentFailed(failed)).unwrap();
    assert_valid(&environment, "happening", &failed);
    let signal = AgentSignal { report, message, ..AgentSignal::default() };
    let mut signal = serde_json::to_value(BusEvent::AgentSignal(signal)).unwrap();
    assert_valid(&environment, "happening", &signal);
    signal["kind"] = "perhaps".into();
    assert!(!is_valid(&environment, "happening", &signal));
    assert_valid(&environment, "happening", &json!({"type": "pipeline:paused", "z": 1}));
    assert!(!is_valid(&environment, "happening", &json!({"type": "decision:created", "id": "x"})));
    assert!(!is_valid(&environment, "happening", &json!({})));
}

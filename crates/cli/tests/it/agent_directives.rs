//! What the daemon wants of the hook processes of an agent it started: held stops, and permissions
//! that wait for a person.

use anyhook_engine::agent_directives;
use anyhook_model::agent_directives::{AgentDirectives, INSTRUCTIONS_VERSION};
use anyhook_testkit::{CommandRun, TestEnv, begin, finish, run};
use serde_json::{Value, json};

use crate::commands::decision::{asked, permission};
use crate::environment;

const AGENT: &str = "fix/step 1; $(x)";

fn told() -> AgentDirectives {
    AgentDirectives {
        v: INSTRUCTIONS_VERSION,
        agent: AGENT.to_owned(),
        ..AgentDirectives::default()
    }
}

fn holding() -> AgentDirectives {
    AgentDirectives { hold_stop: Some("say that you are done".to_owned()), ..told() }
}

/// Has instructions for the agent.
fn instruct(environment: &TestEnv, instructions: &AgentDirectives) {
    agent_directives::write(&environment.state(), instructions).unwrap();
}

/// Sends a payload as the agent of that id does.
fn hook_of(environment: &TestEnv, id: Option<&str>, host: &str, payload: &Value) -> CommandRun {
    let mut command = environment.command(&["hook", host, "--deadline-ms", "60000"]);
    command.envs(id.map(|id| ("ANYHOOK_AGENT_ID", id)));
    run(command, payload.to_string().as_bytes())
}

fn hook(environment: &TestEnv, host: &str, payload: &Value) -> CommandRun {
    hook_of(environment, Some(AGENT), host, payload)
}

/// The end of a turn, in each host's words.
fn stops() -> [(&'static str, Value); 5] {
    let common = |event: &str| json!({"hook_event_name": event, "session_id": "s"});
    let idle = json!({"hook": "session.idle", "directory": "/", "event":
        {"type": "session.idle", "properties": {"sessionID": "s"}}});
    [
        ("claude-code", common("Stop")),
        ("codex", common("Stop")),
        ("gemini-cli", common("AfterAgent")),
        ("opencode", idle),
        ("agent-hooks", json!({"event_type": "before_stop", "session_id": "s"})),
    ]
}

/// Returns what an agent is told in the place of its stop, if it is not let go.
fn told_to_go_on(host: &str, ran: &CommandRun) -> Option<String> {
    let text = |key: &str| {
        let said: Value = serde_json::from_str(&ran.stdout).ok()?;
        said[key].as_str().map(str::to_owned)
    };
    match host {
        "codex" | "agent-hooks" => (ran.code == 2).then(|| ran.stderr.clone()),
        "opencode" => text("follow_up"),
        _ => text("decision").and_then(|_| text("reason")),
    }
}

#[test]
fn a_stop_is_held_on_every_host() {
    for (host, stop) in stops() {
        let environment = environment();
        let before = hook(&environment, host, &stop);
        assert_eq!((before.code, told_to_go_on(host, &before)), (0, None), "{host} {before:?}");
        instruct(&environment, &holding());
        let held = hook(&environment, host, &stop);
        let words = told_to_go_on(host, &held).unwrap();
        assert!(words.starts_with("say that you are done\n(anyhook log show "), "{host} {words}");
        let record = environment.journal().pop().unwrap();
        assert_eq!(record["verdict"]["by"], "pipeline", "{host} {record:#}");
        assert_eq!(
            (&record["verdict"]["decision"], &record["agent_id"]),
            (&json!("deny"), &json!(AGENT))
        );
        let log = environment.run(&["log"]).stdout;
        assert!(log.contains("deny") && log.contains("pipeline"), "{log}");
        instruct(&environment, &told());
        let free = hook(&environment, host, &stop);
        assert_eq!(
            (free.stdout, free.stderr, free.code),
            (before.stdout, before.stderr, 0),
            "{host}"
        );
    }
}

#[test]
fn another_agent_is_let_go() {
    let environment = environment();
    let own = AgentDirectives {
        host: Some("claude-code".to_owned()),
        session: Some("s".to_owned()),
        ..holding()
    };
    instruct(&environment, &own);
    let stop =
        |event: &str, session: &str| json!({"hook_event_name": event, "session_id": session});
    let is_held = |id: Option<&str>, host: &str, payload: &Value| {
        let ran = hook_of(&environment, id, host, payload);
        told_to_go_on(host, &ran).is_some()
    };
    assert!(is_held(Some(AGENT), "claude-code", &stop("Stop", "s")));
    assert!(!is_held(None, "claude-code", &stop("Stop", "s")), "it has no id");
    assert!(!is_held(Some("other"), "claude-code", &stop("Stop", "s")));
    assert!(!is_held(Some(AGENT), "claude-code", &stop("Stop", "inner")), "the agent's agent");
    assert!(!is_held(Some(AGENT), "codex", &stop("Stop", "s")), "the agent's agent");
    let subagent = json!({"hook_event_name": "SubagentStop", "session_id": "s", "agent_id": "a"});
    assert!(!is_held(Some(AGENT), "claude-code", &subagent), "a subagent");
}

#[test]
fn a_hook_that_blocks_goes_first_and_the_cap_counts_both() {
    let environment = environment();
    instruct(&environment, &holding());
    environment.user_hook(
        "gate",
        "trigger: before_stop",
        "[ -e go ] || { echo 'tests fail' >&2; exit 2; }",
    );
    let (host, stop) = &stops()[0];
    let ran = hook(&environment, host, stop);
    assert!(told_to_go_on(host, &ran).unwrap().starts_with("tests fail\n"), "{ran:?}");
    std::fs::write(environment.project().join("go"), "").unwrap();
    for _ in 1..8 {
        let ran = hook(&environment, host, stop);
        assert!(told_to_go_on(host, &ran).unwrap().starts_with("say that"), "{ran:?}");
    }
    let capped = hook(&environment, host, stop);
    assert_eq!(told_to_go_on(host, &capped), None);
    let words = capped.json()["systemMessage"].as_str().unwrap().to_owned();
    assert!(words.contains("allowed to stop although pipeline blocks it: 8 stops"), "{words}");
    let prompt =
        json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "go on"});
    hook(&environment, host, &prompt);
    assert!(told_to_go_on(host, &hook(&environment, host, stop)).is_some(), "a new turn");
}

#[test]
fn explain_tells_of_it() {
    let environment = environment();
    instruct(&environment, &holding());
    let explain = |event: &str| {
        let mut command = environment.command(&["explain", event]);
        command.env("ANYHOOK_AGENT_ID", AGENT);
        run(command, b"")
    };
    let told = explain("before_stop").stdout;
    assert!(
        told.contains("\nthen the pipeline blocks the stop: say that you are done\n"),
        "{told}"
    );
    assert!(!explain("session_start").stdout.contains("pipeline"));
}

/// Nothing waits in the settings, and a pipeline has nobody at the agent's dialog.
#[test]
fn a_permission_waits_for_a_person() {
    for choice in ["allow", "deny"] {
        let environment = environment();
        instruct(&environment, &AgentDirectives { ask_permission: true, ..told() });
        let mut command = environment.command(&["hook", "claude-code", "--deadline-ms", "600000"]);
        command.env("ANYHOOK_AGENT_ID", AGENT);
        let waits = begin(command, permission(&environment, "ls").to_string().as_bytes());
        let id = asked(&environment);
        let shown = environment.run(&["decision", "show", &id, "--json"]).json();
        assert_eq!(shown["inquiry"]["agent"], AGENT, "{shown:#}");
        let at = |key: &str| shown["inquiry"][key].as_str().unwrap().parse::<jiff::Timestamp>();
        let waited = at("until").unwrap().duration_since(at("created").unwrap());
        // As long as the host waits, and not as long as the settings say.
        assert!((590..600).contains(&waited.as_secs()), "{waited:?}");
        assert_eq!(environment.run(&["decision", "resolve", &id, choice]).code, 0);
        let reply = finish(waits).json();
        assert_eq!(reply["hookSpecificOutput"]["decision"]["behavior"], choice, "{reply:#}");
    }
}

#[test]
fn an_ask_waits_for_a_person_too() {
    let environment = environment();
    environment.user_hook(
        "asker",
        "trigger: before_tool",
        r#"echo '{"decision": "ask", "reason": "sure?"}'"#,
    );
    instruct(&environment, &AgentDirectives { ask_permission: true, ..told() });
    let call = json!({"hook": "tool.execute.before", "directory": environment.project(),
        "input": {"tool": "bash", "sessionID": "s", "callID": "c"},
        "output": {"args": {"command": "ls"}}});
    let mut command = environment.command(&["hook", "opencode"]);
    command.env("ANYHOOK_AGENT_ID", AGENT);
    let waits = begin(command, call.to_string().as_bytes());
    let id = asked(&environment);
    assert_eq!(environment.run(&["decision", "resolve", &id, "allow"]).code, 0);
    let ran = finish(waits);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "the call goes on: {ran:?}");
}

#[test]
fn without_instructions_nobody_waits() {
    let environment = environment();
    instruct(&environment, &holding());
    let asks = permission(&environment, "ls");
    let silent = hook_of(&environment, None, "claude-code", &asks);
    let with_id = hook(&environment, "claude-code", &asks);
    assert_eq!((with_id.code, with_id.stdout, with_id.stderr), (0, silent.stdout, silent.stderr));
    assert!(environment.daemon().is_none(), "no daemon is needed");
}

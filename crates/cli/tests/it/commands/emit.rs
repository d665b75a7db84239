//! `anyhook emit`: told through the journal, daemon or not.

use anyhook_testkit::TestEnv;
use serde_json::{Value, json};

use crate::environment;

fn told(environment: &TestEnv) -> Vec<Value> {
    environment.journal().iter().map(|record| record["payload"].clone()).collect()
}

#[test]
fn what_is_emitted_is_in_the_journal_without_a_daemon() {
    let environment = environment();
    for arguments in [
        ["emit", "agent:idle", "--agent", "a"].as_slice(),
        &["emit", "agent:prompt", "--agent", "a", "--type", "permission"],
        &["emit", "agent:prompt", "--agent", "a", "--type", "other"],
        &["emit", "agent:prompt", "--agent", "a"],
        &["emit", "agent:signal", "--agent", "a"],
        &[
            "emit",
            "agent:signal",
            "--agent",
            "a",
            "escalate",
            "--message",
            "a \"person\"\nis needed",
        ],
        &["emit", "agent:signal", "--agent", "a", "continue"],
    ] {
        let ran = environment.run(arguments);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (0, "", ""),
            "{arguments:?}"
        );
    }
    let base = |name: &str| json!({"type": name, "agent": "a", "source": "notification"});
    let with = |mut base: Value, more: Value| {
        base.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        base
    };
    assert_eq!(
        told(&environment),
        [
            base("agent:idle"),
            with(base("agent:prompt"), json!({"prompt_type": "permission"})),
            with(base("agent:prompt"), json!({"prompt_type": "other"})),
            with(base("agent:prompt"), json!({"prompt_type": "other"})),
            with(base("agent:signal"), json!({"kind": "complete"})),
            with(
                base("agent:signal"),
                json!({"kind": "escalate", "message": "a \"person\"\nis needed"})
            ),
            with(base("agent:signal"), json!({"kind": "continue"})),
        ]
    );
    assert!(environment.daemon().is_none(), "nothing was started");
    // The daemon reads it when it comes.
    let agents = environment.run(&["agent", "list", "--json"]).json();
    assert_eq!(agents[0]["id"], "a");
    assert_eq!(
        (agents[0]["state"].as_str(), agents[0]["source"].as_str()),
        (Some("prompting"), Some("notification"))
    );
    let decisions = environment.run(&["decision", "list", "--json"]).json();
    assert_eq!(decisions[0]["inquiry"]["question"], "a \"person\"\nis needed");
}

#[test]
fn the_agent_is_the_one_that_emits() {
    let environment = environment();
    let mut command = environment.command(&["emit", "agent:idle"]);
    command.env("ANYHOOK_AGENT_ID", "mine");
    assert_eq!(anyhook_testkit::run(command, b"").code, 0);
    assert_eq!(told(&environment)[0]["agent"], "mine");
    let ran = environment.run(&["emit", "agent:idle"]);
    assert_run!(environment, ran, @"
    exit code: 64
    ----- stderr -----
    error: no agent given
    hint: pass --agent NAME; `anyhook agent list` shows the names
    ");
    assert_eq!(environment.run(&["emit", "agent:idle", "--agent", " "]).code, 64);
}

#[test]
fn an_unknown_type_is_an_error() {
    let environment = environment();
    let ran = environment.run(&["emit", "agent:prompt", "--agent", "a", "--type", "perm"]);
    assert_eq!(ran.code, 64, "{ran:?}");
    assert_eq!(
        ran.stderr,
        "error: invalid value 'perm' for '--type <TYPE>'\n  \
         [possible values: permission, idle, plan_approval, question, other]\n\
         hint: did you mean `permission`?\n"
    );
    assert!(environment.journal().is_empty());
}

#[test]
fn an_agent_that_asks_for_a_person_is_shown_to_need_one() {
    let environment = environment();
    for agent in ["b", "a"] {
        environment.run(&["emit", "agent:idle", "--agent", agent]);
    }
    environment.run(&["emit", "agent:signal", "--agent", "a", "escalate", "--message", "look"]);
    let listed = environment.run(&["agent", "list"]).stdout;
    let states: Vec<&str> = listed.lines().skip(1).collect();
    assert!(states[0].starts_with("a ") && states[0].contains(", needs you"), "{listed}");
    assert!(states[1].starts_with("b ") && !states[1].contains("needs you"), "{listed}");
}

#[test]
fn the_log_shows_it() {
    let environment = environment();
    environment.run(&["emit", "agent:signal", "--agent", "a", "escalate", "--message", "look"]);
    let log = environment.run(&["log"]);
    assert!(log.stdout.contains("agent:signal"), "{log:?}");
    let id = environment.journal()[0]["id"].as_str().unwrap().to_owned();
    let shown = environment.run(&["log", "show", &id]);
    assert!(shown.stdout.contains("\"message\": \"look\""), "{shown:?}");
}

#[test]
fn what_is_too_long_is_said_so() {
    let environment = environment();
    let long = "x".repeat(5000);
    let message =
        environment.run(&["emit", "agent:signal", "--agent", "a", "escalate", "--message", &long]);
    assert_eq!(message.code, 65, "{message:?}");
    assert!(message.stderr.contains("a message can have at most 4096 bytes"), "{message:?}");
    let agent = environment.run(&["emit", "agent:idle", "--agent", &long]);
    assert_eq!(agent.code, 65, "{agent:?}");
    assert!(environment.journal().is_empty());
}

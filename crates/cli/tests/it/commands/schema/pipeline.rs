//! Whether what is said of pipelines keeps to its schemas.

use std::os::unix::net::UnixStream;

use anyhook_model::daemon::Hello;
use anyhook_socket::frame;
use serde_json::{Value, json};

use super::{assert_valid, is_valid};
use crate::pipelines::{World, wait};

const RUNBOOK: &str = r#"
pipeline "story" {
  vars = { who = "me" }

  step "first" {
    run     = "echo ${var.who}"
    timeout = "1m"
    on_done = { step = "agent" }
  }

  step "agent" {
    run     = { agent = "worker" }
    on_done = { step = "last" }
  }

  step "last" {
    run = "false"
  }
}

agent "worker" {
  run     = "./worker"
  prompt  = "go"
  on_idle = { action = "gate", run = "true", attempts = 2, cooldown = "1ms" }
}
"#;

/// Everything that is printed and said of a pipeline that runs, waits, goes on and fails.
#[test]
fn what_is_said_of_pipelines_keeps_to_its_schemas() {
    let world = World::new(RUNBOOK);
    let environment = &world.environment;
    world.agent(
        "worker",
        "anyhook emit agent:signal escalate --message look; while read -r line; do :; done",
    );
    let plan = world.run(&["pipeline", "run", "story", "--dry-run"]).json();
    assert_valid(environment, "pipeline-plan", &plan);
    world.run(&["daemon", "start"]);
    let mut socket = connect(&world);
    frame::write(&mut socket, &json!({"follow": {}})).unwrap();
    let begun = world.run(&["pipeline", "run", "story", "--json"]).json();
    assert_valid(environment, "pipeline", &begun);
    let id = begun["id"].as_str().unwrap().to_owned();
    let decision = world.wait_decision(&id);
    let waits = world.run(&["pipeline", "list", "--json"]).json();
    assert_valid(environment, "pipelines", &waits);
    assert_eq!(waits[0]["decision"], decision["id"]);
    let sent = world.run(&["agent", "send", &id, "go on"]);
    assert_eq!(sent.code, 0, "{sent:?}");
    world.decide(&world.wait_decision(&id), "done");
    assert_valid(environment, "pipeline", &world.wait_phase(&id, "failed"));
    let ran = world.run(&["pipeline", "wait", &id, "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_valid(environment, "pipelines", &ran.json());
    for line in world.run(&["pipeline", "logs", &id, "--json"]).stdout.lines() {
        assert_valid(environment, "pipeline-line", &serde_json::from_str(line).unwrap());
    }

    let mut types = Vec::new();
    while !types.contains(&"pipeline:failed".to_owned()) {
        let told: Value = frame::read(&mut socket).unwrap();
        assert_valid(environment, "daemon-response", &told);
        let event = &told["told"]["event"];
        assert_valid(environment, "happening", event);
        types.push(event["type"].as_str().unwrap().to_owned());
    }
    for expected in [
        "pipeline:created",
        "pipeline:advanced",
        "step:started",
        "step:waiting",
        "step:completed",
        "step:failed",
        "session:created",
        "session:input",
        "shell:exited",
    ] {
        assert!(types.iter().any(|seen| seen == expected), "{expected} in {types:?}");
    }
    for wrong in [json!({"type": "step:started"}), json!({"type": "shell:exited", "exit_code": 0})]
    {
        assert!(!is_valid(environment, "happening", &wrong), "{wrong}");
    }
}

/// Requests about pipelines, and what is answered, refusals among it.
#[test]
fn what_is_asked_about_pipelines_keeps_to_its_schemas() {
    let world = World::new(RUNBOOK);
    let environment = &world.environment;
    world.agent("worker", "read -r line; read -r line");
    let plan = world.run(&["pipeline", "run", "story", "--dry-run"]).json();
    let id = plan["id"].as_str().unwrap().to_owned();
    let variables = json!({"PATH": std::env::var("PATH").unwrap(), "HOME": environment.home()});
    world.run(&["daemon", "start"]);
    let mut socket = connect(&world);
    let mut ask = |request: Value, answer: &str| {
        assert_valid(environment, "daemon-request", &request);
        frame::write(&mut socket, &request).unwrap();
        let response: Value = frame::read(&mut socket).unwrap();
        assert_valid(environment, "daemon-response", &response);
        let is_it = response.as_str() == Some(answer) || response.get(answer).is_some();
        assert!(is_it, "{answer}: {response:#}");
        response
    };
    let run = json!({"run_pipeline": {"plan": plan, "environment": variables, "by": "me"}});
    ask(run.clone(), "pipeline");
    let again = ask(run, "refused");
    assert_eq!(again["refused"]["code"], "bad_request");
    let agent = format!("{id}.agent.2");
    wait("the agent's session", || world.run(&["agent", "peek", &agent]).code == 0);
    ask(json!("pipelines"), "pipelines");
    ask(json!({"pipeline_log": {"id": &id[..6]}}), "pipeline_log");
    ask(json!({"session": {"agent": agent}}), "session");
    ask(json!({"send": {"agent": agent, "text": "hello", "by": "me"}}), "done");
    let early = ask(json!({"resume_pipeline": {"id": id, "by": "me"}}), "refused");
    assert_eq!(early["refused"]["code"], "not_now");
    ask(json!({"kill": {"agent": agent, "by": "me"}}), "done");
    ask(json!({"cancel_pipeline": {"id": id, "by": "me"}}), "pipeline");
    world.wait_phase(&id, "cancelled");
    let step = json!({"resume_pipeline": {"id": id, "step": "nowhere", "by": "me"}});
    assert_eq!(ask(step, "refused")["refused"]["code"], "no_such_choice");
    for (request, code) in [
        (json!({"session": {"agent": "nobody"}}), "unknown"),
        (json!({"pipeline_log": {"id": "nobody", "after": 3}}), "unknown"),
        (json!({"cancel_pipeline": {"id": "nobody", "by": "me"}}), "unknown"),
        (json!({"send": {"agent": "nobody", "text": "", "by": "me"}}), "unknown"),
        (json!({"kill": {"agent": "nobody", "by": "me"}}), "unknown"),
    ] {
        assert_eq!(ask(request, "refused")["refused"]["code"], code);
    }
}

fn connect(world: &World) -> UnixStream {
    let path = world.environment.state().join("daemon/socket");
    let mut socket = UnixStream::connect(path).unwrap();
    frame::write(&mut socket, &Hello::ours()).unwrap();
    frame::read::<Value>(&mut socket).unwrap();
    socket
}

//! kill -9 of the daemon in the middle of anything: every step is done once, and sessions live on.

use anyhook_daemon::failpoints::POINTS;
use anyhook_testkit::{kill, kill_tests};

use super::*;

const RUNBOOK: &str = r#"
pipeline "story" {
  workspace = "folder"

  step "first" {
    run     = "echo first >> ../../../../../../ran"
    on_done = { step = "agent" }
  }

  step "agent" {
    run     = { agent = "worker" }
    on_done = { step = "last" }
  }

  step "last" {
    run = "echo last >> ../../../../../../ran"
  }
}

agent "worker" {
  run     = "${PROJECT}/worker"
  on_idle = { action = "gate", run = "echo gate >> ../../../../../../ran" }
}
"#;

fn story(point: &str, time: u32) {
    let told = format!("{point}, time {time}");
    let world = World::new(RUNBOOK);
    let file = world.environment.root().join("ran");
    let ran = || fs::read_to_string(&file).unwrap_or_default();
    // Paths are the test's own.
    let relative = "../../../../../../ran";
    let text =
        fs::read_to_string(world.environment.project().join(".agents/runbooks/test.hcl")).unwrap();
    world.runbook(&text.replace(relative, &file.to_string_lossy()));
    world.agent("worker", "say began; anyhook emit agent:idle; read -r line");
    let mut start = world.environment.command(&["daemon", "start"]);
    start.env("ANYHOOK_FAULT", format!("{point}:{time}"));
    anyhook_testkit::run(start, b"");
    let first = world.environment.daemon();
    let order = || {
        let mut command = world.environment.command(&["pipeline", "run", "story", "--json"]);
        command.env("PROJECT", world.environment.project());
        anyhook_testkit::run(command, b"")
    };
    let begun = order();
    let all = || world.run(&["pipeline", "list", "--all", "--json"]);
    // One that died before it had the order stored says so, and the order is given again.
    if begun.code != 0 && all().json().as_array().unwrap().is_empty() {
        assert_eq!(order().code, 0, "{told}");
    }
    let list = all().json();
    assert_eq!(list.as_array().unwrap().len(), 1, "{told}: {list:#}");
    let id = list[0]["id"].as_str().unwrap().to_owned();
    let view = world.wait_phase(&id, "completed");
    assert_eq!(ran(), "first\ngate\nlast\n", "{told}: every step is done once: {view:#}");
    assert_eq!(world.said(), ["began"], "{told}: one agent");
    let visits = world.steps(&id).len();
    assert_eq!(visits, 3, "{told}");
    assert_ne!(world.environment.daemon(), first, "{told}: it was killed");
    // The next one makes nothing more of it.
    world.environment.kill_daemon();
    assert_eq!(world.view(&id)["phase"], "completed", "{told}");
    assert_eq!(ran(), "first\ngate\nlast\n", "{told}");
}

kill_tests! {
    story:
    core_stored = "core.stored" [first 1, second 2, third 3, fourth 4, fifth 5, sixth 6, seventh 7, eighth 8];
    core_acted = "core.acted" [first 1, second 2, third 3, fourth 4, fifth 5, sixth 6, seventh 7, eighth 8];
    core_pipeline_environment = "core.pipeline.environment" [first 1];
    core_job_asked = "core.job.asked" [first 1, second 2, third 3, fourth 4, fifth 5, sixth 6];
    pipelines_job_done = "pipelines.job.done" [first 1, second 2, third 3, fourth 4, fifth 5, sixth 6];
    task_begin_started = "task.begin.started" [first 1];
}

/// How often a run of the story comes by a point, as far as the tests go.
fn times(point: &str) -> u32 {
    match point {
        _ if point.starts_with("pipelines.") || point.starts_with("core.job.") => 6,
        "core.stored" | "core.acted" => 8,
        _ if point.starts_with("core.pipeline.") || point.starts_with("task.begin.") => 1,
        _ => 0,
    }
}

#[test]
fn every_point_has_its_tests() {
    kill::assert_complete(TESTED, POINTS, times);
}

#[test]
fn at_any_time() {
    let world = World::new(
        r#"
pipeline "long" {
  step "a" {
    run     = "echo a >> ran; while ! [ -e go ]; do sleep 0.05; done"
    on_done = { step = "b" }
  }

  step "b" {
    run     = { agent = "worker" }
    on_done = { step = "c" }
  }

  step "c" {
    run = "echo c >> ran"
  }
}

agent "worker" {
  run = "./worker"
}
"#,
    );
    world.agent("worker", "say began; echo 'here I am'; read -r line; say \"$line\"; anyhook emit agent:signal complete; sleep 600");
    let id = world.begin("long");
    let project = world.environment.project();
    let ran = || fs::read_to_string(project.join("ran")).unwrap_or_default();
    wait("the first step", || ran() == "a\n");
    world.environment.kill_daemon();
    // It ends while nobody looks.
    write(&project.join("go"), "", 0o644);
    wait("the agent", || {
        world.view(&id);
        world.said() == ["began"]
    });
    for _ in 0..3 {
        world.environment.kill_daemon();
        wait("the session that lives on", || {
            world.run(&["agent", "peek", &id]).stdout.contains("here I am")
        });
    }
    assert_eq!(world.run(&["agent", "send", &id, "hello"]).code, 0);
    world.wait_phase(&id, "completed");
    assert_eq!(
        (ran().as_str(), world.said()),
        ("a\nc\n", vec!["began".to_owned(), "hello".to_owned()])
    );
}

#[test]
fn a_command_whose_keeper_was_killed_is_retried_by_a_person() {
    keeper_killed("retry", "completed", 2);
}

#[test]
fn a_command_whose_keeper_was_killed_is_skipped_by_a_person() {
    keeper_killed("skip", "completed", 1);
}

#[test]
fn a_command_whose_keeper_was_killed_is_given_up_by_a_person() {
    keeper_killed("fail", "failed", 1);
}

/// Kills the process that looks after a command: a person decides what becomes of the step.
fn keeper_killed(choice: &str, phase: &str, lines: usize) {
    let world = World::new(
        r#"
pipeline "doubt" {
  step "a" {
    run = "echo a >> ran; test -e go || ./stay"
  }
}
"#,
    );
    // Also one that a signal to the command's group does not reach.
    let stay = "#!/bin/sh
trap '' HUP
sh -c 'echo $$ >> processes; exec sleep 600' &
setsid sh -c 'echo $$ >> processes; exec sleep 600' &
echo $$ >> processes
wait
";
    write(&world.environment.project().join("stay"), stay, 0o755);
    let id = world.begin("doubt");
    let project = world.environment.project();
    let ran = || fs::read_to_string(project.join("ran")).unwrap_or_default();
    let processes = || fs::read_to_string(project.join("processes")).unwrap_or_default();
    wait("the step", || processes().lines().count() == 3);
    assert_eq!(ran(), "a\n");
    let folder = world.environment.state().join(format!("daemon/pipelines/{id}/jobs/1"));
    let claim: Value = serde_json::from_slice(&fs::read(folder.join("claim")).unwrap()).unwrap();
    let keeper = claim["process"]["pid"].to_string();
    let killed = std::process::Command::new("kill").args(["-9", &keeper]).status().unwrap();
    assert!(killed.success());
    let decision = world.wait_decision(&id);
    assert_eq!(options(&decision), ["retry", "skip", "fail"]);
    let left: Vec<String> =
        processes().lines().filter(|process| lives(process)).map(str::to_owned).collect();
    assert!(left.is_empty(), "what might be done again is still being done: {left:?}");
    write(&project.join("go"), "", 0o644);
    world.decide(&decision, choice);
    world.wait_phase(&id, phase);
    assert_eq!(ran().lines().count(), lines, "{choice}");
}

fn lives(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[test]
fn a_nudge_that_was_about_to_be_typed_is_typed() {
    let world = World::new(
        r#"
pipeline "nudged" {
  step "a" {
    run = { agent = "worker" }
  }
}

agent "worker" {
  run = "./worker"
}
"#,
    );
    world.agent("worker", "anyhook emit agent:idle; read -r line; say \"$line\"; anyhook emit agent:signal complete; sleep 600");
    let mut start = world.environment.command(&["daemon", "start"]);
    start.env("ANYHOOK_FAULT", "core.types");
    anyhook_testkit::run(start, b"");
    let first = world.environment.daemon();
    let id = world.begin("nudged");
    wait("it to be killed", || world.environment.daemon() != first);
    world.wait_phase(&id, "completed");
    assert!(world.said()[0].contains("Continue."), "{:?}", world.said());
}

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn steps_run_in_order_and_what_they_print_is_kept() {
    let world = World::new(
        r#"
pipeline "three" {
  vars = { who = "world" }

  step "a" {
    run     = "echo hello ${var.who}; pwd; env | grep ^ANYHOOK_ | sort"
    on_done = { step = "b" }
  }

  step "b" {
    run     = "echo to the error >&2; exit 3"
    on_fail = { step = "c" }
  }

  step "c" {
    run = "true"
  }
}
"#,
    );
    let ran = world.run(&["pipeline", "run", "three", "--wait", "--var", "who=it's $(id) \"me\""]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let id = ran.stdout.split(' ').next().unwrap();
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let project = world.environment.project();
    for line in [
        "  | hello it's $(id) \"me\"",
        &format!("  | {}", project.display()),
        "  | ANYHOOK_PIPELINE=three",
        &format!("  | ANYHOOK_PIPELINE_ID={id}"),
        "  | ANYHOOK_STEP=a",
        &format!("  | ANYHOOK_WORKSPACE={}", project.display()),
        "  | to the error",
        &format!("{id} completed"),
    ] {
        assert!(lines.contains(&line), "{line:?} in {}", ran.stdout);
    }
    let states = [("a", "completed"), ("b", "failed"), ("c", "completed")];
    assert_eq!(world.steps(id), states.map(|(step, state)| (step.to_owned(), state.to_owned())));
    let again = world.run(&["pipeline", "logs", id]);
    assert!(again.stdout.contains("step failed: exit code 3: to the error"), "{}", again.stdout);
}

#[test]
fn the_end_of_a_pipeline_is_the_end_of_waiting() {
    let world = World::new(
        r#"
pipeline "good" {
  step "a" {
    run = "true"
  }
}

pipeline "bad" {
  step "a" {
    run = "false"
  }
}

pipeline "long" {
  step "a" {
    run = "sleep 600"
  }
}
"#,
    );
    let (good, bad, long) = (world.begin("good"), world.begin("bad"), world.begin("long"));
    assert_eq!(world.run(&["pipeline", "wait", &good]).code, 0);
    let ran = world.run(&["pipeline", "wait", &good, &bad]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains(&format!("{bad} failed: step `a` failed: exit code 1")));
    let ran = world.run(&["pipeline", "wait", &long, "--timeout", "1s"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.starts_with(&format!("error: pipeline {long} did not finish in time")));
    let ran = world.run(&["pipeline", "list", "--json"]);
    assert_eq!(ran.json().as_array().unwrap().len(), 1);
    let ran = world.run(&["pipeline", "list", "--all", "--json"]);
    assert_eq!(ran.json().as_array().unwrap().len(), 3);
}

#[test]
fn a_pipeline_that_is_cancelled_ends_what_it_started() {
    let world = World::new(
        r#"
pipeline "long" {
  on_cancel = { step = "tidy" }

  step "a" {
    run = "sh -c 'sleep 600 & echo $! > pid; wait'"
  }

  step "tidy" {
    run = "echo tidied > tidy"
  }
}
"#,
    );
    let id = world.begin("long");
    let project = world.environment.project();
    let pid = || fs::read_to_string(project.join("pid")).unwrap_or_default().trim().to_owned();
    wait("the command to run", || !pid().is_empty());
    assert_eq!(world.run(&["pipeline", "cancel", &id]).code, 0);
    let view = world.wait_phase(&id, "cancelled");
    assert!(view["why"].as_str().unwrap().starts_with("cancelled by"));
    // One that nobody has waited for is still listed.
    let state = fs::read_to_string(format!("/proc/{}/stat", pid())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "it is ended: {state}");
    assert!(project.join("tidy").exists());
    let ran = world.run(&["pipeline", "cancel", &id]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("is cancelled"), "{ran:?}");
}

#[test]
fn it_is_cancelled_in_time_even_before_anything_runs() {
    let world = World::new(
        r#"
pipeline "quick" {
  step "a" {
    run = "sleep 600"
  }
}
"#,
    );
    for _ in 0..10 {
        let id = world.begin("quick");
        assert_eq!(world.run(&["pipeline", "cancel", &id]).code, 0);
        world.wait_phase(&id, "cancelled");
    }
}

#[test]
fn what_failed_is_taken_up_again() {
    let world = World::new(
        r#"
pipeline "flaky" {
  step "a" {
    run     = "echo a >> ran"
    on_done = { step = "b" }
  }

  step "b" {
    run     = "echo b >> ran; test -e ready"
    on_done = { step = "c" }
  }

  step "c" {
    run = "echo c >> ran"
  }
}
"#,
    );
    let id = world.begin("flaky");
    world.wait_phase(&id, "failed");
    let project = world.environment.project();
    write(&project.join("ready"), "", 0o644);
    let ran = world.run(&["pipeline", "resume", &id, "--from", "z"]);
    assert_eq!(ran.code, 65, "{ran:?}");
    assert!(ran.stderr.contains("has no step `z`; available: a, b, c"), "{ran:?}");
    assert_eq!(world.run(&["pipeline", "resume", &id]).code, 0);
    world.wait_phase(&id, "completed");
    assert_eq!(fs::read_to_string(project.join("ran")).unwrap(), "a\nb\nb\nc\n");
    let ran = world.run(&["pipeline", "resume", &id]);
    assert_eq!(ran.code, 1, "{ran:?}");
}

#[test]
fn the_environment_of_who_began_it_is_kept_apart_and_only_as_long_as_it_runs() {
    let world = World::new(
        r#"
pipeline "secret" {
  step "a" {
    run = "echo $TOKEN $ANYHOOK_AGENT_ID $TMUX; while ! [ -e go ]; do sleep 0.05; done"
  }
}
"#,
    );
    let mut order = world.environment.command(&["pipeline", "run", "secret", "--json"]);
    order.env("TOKEN", "hush-hush").env("ANYHOOK_AGENT_ID", "me").env("TMUX", "x");
    let begun = anyhook_testkit::run(order, b"");
    let id = begun.json()["id"].as_str().unwrap().to_owned();
    let folder = world.environment.state().join("daemon");
    let file = folder.join(format!("pipelines/{id}/environment.json"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    write(&world.environment.project().join("go"), "", 0o644);
    world.wait_phase(&id, "completed");
    assert!(!file.exists(), "nobody needs it any more");
    let logs = world.run(&["pipeline", "logs", &id]).stdout;
    assert!(logs.contains("  | hush-hush\n"), "{logs}");
    world.run(&["daemon", "stop"]);
    for entry in fs::read_dir(folder.join("store")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        // What a command printed is told; what it was given is not.
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("\"TOKEN\""), "the environment is not stored");
    }
}

#[test]
fn a_command_that_takes_too_long_fails() {
    let world = World::new(
        r#"
pipeline "slow" {
  step "a" {
    run     = "echo begun; sleep 600"
    timeout = "1s"
  }
}
"#,
    );
    let id = world.begin("slow");
    let view = world.wait_phase(&id, "failed");
    assert_eq!(view["why"], "step `a` failed: it timed out: begun");
}

#[test]
fn a_person_is_told_of_its_moments() {
    let world = World::new(
        r#"
pipeline "loud" {
  notify = {
    on_start = "here we go"
    on_done  = "all good"
    on_fail  = "not good"
  }

  step "a" {
    run = "true"
  }
}
"#,
    );
    let told = world.environment.root().join("told");
    let command =
        format!("echo \\\"$ANYHOOK_NOTICE_TITLE: $ANYHOOK_NOTICE_BODY\\\" >> {}", told.display());
    let settings =
        format!("[notify]\non = [\"decision\"]\ndesktop = false\ncommand = \"{command}\"\n");
    write(&world.environment.home().join(".config/agents/anyhook.toml"), settings, 0o644);
    let id = world.begin("loud");
    world.wait_phase(&id, "completed");
    let text = || fs::read_to_string(&told).unwrap_or_default();
    wait("both notices", || text().contains("all good") && text().contains("here we go"));
    assert!(text().contains("Pipeline loud-project completed"), "{}", text());
    assert!(!text().contains("not good"));
}

#[test]
fn a_run_has_a_name() {
    let world = World::new(
        r#"
pipeline "long" {
  vars = { task = "" }

  step "a" {
    run = "echo ${var.task}; sleep 600"
  }
}
"#,
    );
    let begin = |more: &[&str]| {
        let ran = world.run(&[&["pipeline", "run", "long", "--json"], more].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        (ran.json()["id"].as_str().unwrap().to_owned(), ran.json()["run_name"].clone())
    };
    let (id, name) = begin(&["--var", "task=Fix the parser!"]);
    assert_eq!(name, "long-fix-the-parser");
    assert_eq!(begin(&["--var", "task=Fix the parser!"]).1, "long-fix-the-parser-2");
    assert_eq!(begin(&["--var", "task="]).1, "long-project");
    assert_eq!(begin(&["--var", "task=", "--name", "mine"]).1, "mine");
    assert_eq!(world.run(&["pipeline", "show", "mine", "--json"]).json()["run_name"], "mine");
    assert_eq!(
        world.run(&["pipeline", "show", "long-fix-the-parser", "--json"]).json()["id"],
        id.as_str()
    );
    assert!(world.run(&["pipeline", "list"]).stdout.contains("long-fix-the-parser-2"));
    let several = world.run(&["pipeline", "cancel", "long"]);
    assert_eq!(several.code, 65);
    assert!(several.stderr.contains("`long` matches several pipelines: "), "{several:?}");
    let taken = world.run(&["pipeline", "run", "long", "--var", "task=", "--name", "mine"]);
    assert_eq!(taken.code, 65, "{taken:?}");
    assert!(taken.stderr.contains("an active pipeline is already named `mine`"));
    assert_eq!(world.run(&["pipeline", "run", "long", "--name", "-x y"]).code, 64);
    assert_eq!(world.run(&["pipeline", "cancel", "mine"]).code, 0);
}

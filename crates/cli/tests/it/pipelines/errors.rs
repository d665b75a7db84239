//! What cannot begin is said before anything begins.

use std::process::Command;

use super::*;

const RUNBOOK: &str = r#"
pipeline "needy" {
  vars = {
    version = {}
    colour  = "red"
  }

  step "a" {
    run = "echo ${var.version} ${NOBODY_HAS_SET_THIS}"
  }
}

pipeline "seated" {
  step "a" {
    run = { agent = "worker" }
  }
}

agent "worker" {
  run     = "./worker"
  session = "tmux"
}
"#;

fn refused(world: &World, arguments: &[&str]) -> String {
    let ran = world.run(&[&["pipeline", "run"], arguments].concat());
    let all = world.run(&["pipeline", "list", "--all", "--json"]).json();
    assert_eq!(all.as_array().unwrap().len(), 0, "nothing has begun: {arguments:?}");
    format!("$ anyhook pipeline run {}\n{}exit {}\n", arguments.join(" "), ran.stderr, ran.code)
}

#[test]
fn all_of_them() {
    let world = World::new(RUNBOOK);
    let cases: &[&[&str]] = &[
        &["nothing"],
        &["needi"],
        &["needy"],
        &["needy", "--var", "version=1", "--var", "colur=blue"],
        &["needy", "--var", "version=1", "--var", "version=2"],
        &["needy", "--var", "version"],
        &["needy", "--runbook", "nowhere.hcl"],
    ];
    let said: String = cases.iter().map(|case| refused(&world, case)).collect();
    insta::assert_snapshot!(world.environment.normal(&said));
}

#[test]
fn a_broken_runbook() {
    let world =
        World::new("pipeline \"p\" {\n  step \"a\" {\n    run = { agent = \"nobody\" }\n  }\n}\n");
    insta::assert_snapshot!(world.environment.normal(&refused(&world, &["p"])));
}

#[test]
fn no_tmux() {
    let world = World::new(RUNBOOK);
    let mut command: Command = world.environment.command(&["pipeline", "run", "seated"]);
    command.env("PATH", world.environment.root().join("empty"));
    let ran = anyhook_testkit::run(command, b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    insta::assert_snapshot!(ran.stderr);
    let all = world.run(&["pipeline", "list", "--all", "--json"]).json();
    assert_eq!(all.as_array().unwrap().len(), 0, "nothing has begun");
}

//! What cannot begin is said before anything begins.

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
fn a_runbook_that_nobody_trusted() {
    let world = World::new("");
    let file = world.environment.project().join(".agents/runbooks/test.hcl");
    let text = "pipeline \"p\" {\n  step \"a\" {\n    run = \"touch ran\"\n  }\n}\n";
    write(&file, text, 0o644);
    let said = refused(&world, &["p"]);
    write(&world.environment.home().join("other.hcl"), text, 0o644);
    let said = said + &refused(&world, &["p", "--runbook", "../other.hcl"]);
    insta::assert_snapshot!(world.environment.normal(&said), @"
    $ anyhook pipeline run p
    error: `.agents/runbooks/test.hcl` has changed since it was trusted, so its pipelines do not run
    hint: anyhook trust .agents/runbooks/test.hcl
    exit 1
    $ anyhook pipeline run p --runbook ../other.hcl
    error: `../other.hcl` is not trusted, so its pipelines do not run
    hint: anyhook trust ../other.hcl
    exit 1
    ");
    assert_eq!(world.run(&["pipeline", "run", "p", "--dry-run"]).code, 0, "nothing runs");
    // In the session of an agent it is not for it to say yes.
    let mut command = world.environment.command(&["pipeline", "run", "p"]);
    command.env("CLAUDECODE", "1");
    let ran = anyhook_testkit::run(command, b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    let ran = world.run(&["trust", ".agents/runbooks/test.hcl"]);
    insta::assert_snapshot!(world.environment.normal(&ran.stdout), @r#"
    .agents/runbooks/test.hcl  ~/project/.agents/runbooks/test.hcl
      pipelines: p
      it was trusted before, with different content
      ── .agents/runbooks/test.hcl (56 bytes)
      │ pipeline "p" {
      │   step "a" {
      │     run = "touch ran"
      │   }
      │ }
    trusted .agents/runbooks/test.hcl
    "#);
    // What a person trusted, an agent may run.
    let mut command = world.environment.command(&["pipeline", "run", "p", "--json"]);
    command.env("CLAUDECODE", "1");
    let ran = anyhook_testkit::run(command, b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    world.wait_phase(ran.json()["id"].as_str().unwrap(), "completed");
    assert_eq!(world.run(&["untrust", "test.hcl"]).code, 0);
    assert_eq!(world.run(&["pipeline", "run", "p"]).code, 1);
}

#[test]
fn the_users_own_runbooks_need_no_trust() {
    let world = World::new("");
    let file = world.environment.home().join(".config/agents/runbooks/mine.hcl");
    write(&file, "pipeline \"mine\" {\n  step \"a\" {\n    run = \"true\"\n  }\n}\n", 0o644);
    let id = world.begin("mine");
    world.wait_phase(&id, "completed");
}

#[test]
fn in_an_agents_session_every_runbook_needs_trust() {
    let world = World::new("");
    let text = "pipeline \"mine\" {\n  step \"a\" {\n    run = \"uname > ran\"\n  }\n}\n";
    let (home, project) = (world.environment.home(), world.environment.project());
    let own = home.join(".config/agents/runbooks/mine.hcl");
    let agents = home.join("agents-own/agents/runbooks/mine.hcl");
    let as_agent = |variables: &[(&str, String)]| {
        let mut command = world.environment.command(&["pipeline", "run", "mine", "--json"]);
        command.env("CLAUDECODE", "1").envs(variables.iter().map(|(name, value)| (name, value)));
        anyhook_testkit::run(command, b"")
    };
    let elsewhere = ("XDG_CONFIG_HOME", home.join("agents-own").display().to_string());
    for (file, variables) in [(&own, &[][..]), (&agents, &[elsewhere])] {
        write(file, text, 0o644);
        let ran = as_agent(variables);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
        assert!(ran.stderr.contains("`anyhook pipeline run` is refused: only a person"), "{ran:?}");
        let hint = format!("anyhook trust ~/{}", file.strip_prefix(&home).unwrap().display());
        assert!(ran.stderr.contains(&hint), "{ran:?}");
    }
    assert_eq!(world.run(&["install", "claude-code"]).code, 0);
    let ran = world.run(&["trust", &own.to_string_lossy()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    // An agent's trust is not a person's.
    let theirs = ("XDG_STATE_HOME", home.join("agents-own").display().to_string());
    let store = TrustStore::new(&home.join("agents-own/anyhook"));
    store.trust_file(&agents, text.as_bytes(), now()).unwrap();
    let elsewhere = ("XDG_CONFIG_HOME", home.join("agents-own").display().to_string());
    assert_eq!(as_agent(&[theirs, elsewhere]).code, 1);
    // What a person trusted runs with the programs that a person has, and not with the agent's.
    let evil = home.join("evil");
    write(&evil.join("uname"), "#!/bin/sh\ntouch escaped\n", 0o755);
    let path = std::env::var("PATH").unwrap();
    let ran = as_agent(&[("PATH", format!("{}:{path}", evil.display()))]);
    assert_eq!(ran.code, 0, "{ran:?}");
    world.wait_phase(ran.json()["id"].as_str().unwrap(), "completed");
    assert!(!project.join("escaped").exists() && project.join("ran").exists());
    write(&own, text.replace("uname", "true"), 0o644);
    assert_eq!(as_agent(&[]).code, 1, "it has changed");
}

/// Sessions could be in tmux once.
#[test]
fn session_in_tmux() {
    let runbook = r#"
pipeline "one" {
  step "a" {
    run = { agent = "worker" }
  }
}

agent "worker" {
  run     = "./worker"
  session = "tmux"
}
"#;
    let ran = refused(&World::new(runbook), &["one"]);
    insta::assert_snapshot!(ran, @r#"
    $ anyhook pipeline run one
    error[retired]: tmux sessions are no longer supported
      --> .agents/runbooks/test.hcl:10:13
       |
    10 |   session = "tmux"
       |             ^^^^^^
       |
       = hint: remove it: use `anyhook agent attach` to open any agent's session

    error: 1 problem in `.agents/runbooks/test.hcl`
    exit 65
    "#);
}

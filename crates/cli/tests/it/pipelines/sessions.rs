//! Looking at agents, typing to them, from any terminal.

use super::*;

const RUNBOOK: &str = r#"
pipeline "one" {
  step "a" {
    run = { agent = "worker" }
  }
}

agent "worker" {
  run = "./worker"
}
"#;

#[test]
fn what_an_agent_shows_is_seen_while_it_works_and_afterwards() {
    let world = World::new(RUNBOOK);
    world.agent(
        "worker",
        "echo 'what shall I do?'; read -r line; echo \"I will: $line\"; read -r line",
    );
    let id = world.begin("one");
    let peek = || world.run(&["agent", "peek", &id]).stdout;
    wait("its question on the screen", || peek().contains("what shall I do?"));
    let sent = world.environment.run_with_input(&["agent", "send", &id, "-"], "a 'b' \"c\" $d;\n");
    assert_eq!(sent.code, 0, "{sent:?}");
    wait("its answer on the screen", || peek().contains("I will: a 'b' \"c\" $d;"));
    assert_eq!(world.run(&["pipeline", "cancel", &id]).code, 0);
    world.wait_phase(&id, "cancelled");
    let logs = world.run(&["pipeline", "logs", &id]).stdout;
    assert!(logs.contains("I will: a 'b'"), "{logs}");
    let later = peek();
    assert!(later.contains("I will: a 'b'"), "{later}");
}

#[test]
fn only_agents_of_pipelines_have_sessions_here() {
    let world = World::new(RUNBOOK);
    world.run(&["emit", "agent:idle", "--agent", "mine"]);
    for (arguments, message) in [
        (
            &["agent", "peek", "mine"][..],
            "agent `mine` has no session here: no pipeline started it",
        ),
        (&["agent", "attach", "nobody"], "there is no agent `nobody`"),
        (&["agent", "send", "nobody", "x"], "there is no agent `nobody`"),
        (&["agent", "kill", "mine"], "agent `mine` has no session here: no pipeline started it"),
        (&["pipeline", "show", "zzz"], "there is no pipeline `zzz`"),
        (&["pipeline", "logs", "zzz"], "there is no pipeline `zzz`"),
        (&["pipeline", "cancel", "zzz"], "there is no pipeline `zzz`"),
        (&["pipeline", "wait", "zzz"], "there is no pipeline `zzz`"),
    ] {
        let ran = world.run(arguments);
        assert_ne!(ran.code, 0, "{arguments:?}");
        assert!(ran.stderr.starts_with(&format!("error: {message}\nhint: ")), "{ran:?}");
    }
}

#[test]
fn a_person_sits_down_at_an_agent_and_leaves_it_working() {
    let world = World::new(RUNBOOK);
    world.agent(
        "worker",
        "echo 'here I am'; read -r line; say \"typed: $line\"; anyhook emit agent:signal complete; sleep 600",
    );
    let id = world.begin("one");
    wait("it", || world.run(&["agent", "peek", &id]).stdout.contains("here I am"));
    // A terminal of the person's own, which is tmux here.
    let socket = world.environment.root().join("person");
    let tmux = |arguments: &[&str]| {
        let mut command = std::process::Command::new("tmux");
        command.arg("-S").arg(&socket).args(["-f", "/dev/null"]).args(arguments);
        command.env_clear().env("HOME", world.environment.home()).env("LANG", "C.UTF-8");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let program = env!("CARGO_BIN_EXE_anyhook");
    let attach = format!("'{program}' agent attach {id}; echo left: $?; sleep 600");
    tmux(&["new-session", "-d", "-x", "100", "-y", "30", &attach]);
    let screen = || tmux(&["capture-pane", "-p"]);
    wait("the session in the person's terminal", || screen().contains("here I am"));
    tmux(&["send-keys", "-l", "by hand"]);
    wait("what is typed", || screen().contains("by hand"));
    // Left and come back, it is as it was.
    tmux(&["send-keys", "C-b"]);
    tmux(&["send-keys", "d"]);
    wait("the person to have left", || screen().contains("left: 0"));
    assert_eq!(world.view(&id)["phase"], "running");
    let sent = world.run(&["agent", "send", &id, " and more"]);
    assert_eq!(sent.code, 0, "{sent:?}");
    world.wait_phase(&id, "completed");
    assert_eq!(world.said(), ["typed: by hand and more"]);
    tmux(&["kill-server"]);
}

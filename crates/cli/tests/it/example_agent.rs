//! The example of an agent without an adapter, `examples/agent`, run with a scripted model.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhook_testkit::model_server::{ModelServer, ModelTurn, tells};
use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{CommandRun, TestEnv, require, run};
use serde_json::{Value, json};

use crate::environment;

/// What became of a conversation.
struct Conversation {
    environment: TestEnv,
    ran: CommandRun,
    requests: Vec<Value>,
}

impl Conversation {
    /// Tells whether the model heard a text with a request, and not before.
    fn is_first_told(&self, request: usize, text: &str) -> bool {
        self.requests.iter().position(|request| tells(request, text)) == Some(request)
    }

    fn events(&self) -> Vec<String> {
        let event = |record: &Value| record["event"].as_str().unwrap().to_owned();
        self.environment.journal().iter().map(event).collect()
    }
}

fn shell(command: &str) -> ModelTurn {
    ModelTurn::tool("Shell", json!({"command": command}))
}

fn hold(environment: TestEnv, program: &str, options: &[&str]) -> Conversation {
    let turns = vec![
        shell("touch forbidden"),
        shell("echo original"),
        shell("exit 3"),
        ModelTurn::tool("WriteFile", json!({"path": "new.txt", "content": "new"})),
        ModelTurn::text("I stop here"),
        shell("touch finished"),
        ModelTurn::text("that was all"),
    ];
    play(environment, program, options, turns)
}

fn play(
    environment: TestEnv,
    program: &str,
    options: &[&str],
    turns: Vec<ModelTurn>,
) -> Conversation {
    let server = ModelServer::start(turns).unwrap();
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agent/agent.py");
    let mut command = Command::new("python3");
    command.args(["-B", "-W", "error"]).arg(agent).args(options).arg("do it");
    command.current_dir(environment.project()).env_clear();
    for (name, value) in environment.command(&[]).get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.env("ANYHOOK_BIN", program);
    command.env("MODEL_URL", format!("http://{}/v1", server.address().unwrap()));
    let ran = run(command, b"");
    Conversation { environment, ran, requests: server.requests() }
}

fn hooked() -> TestEnv {
    let environment = environment();
    let hook = |name, matter, script| drop(environment.user_hook(name, matter, script));
    hook(
        "guard",
        "trigger: before_tool\nmatcher:\n  pattern: forbidden",
        "echo not here >&2; exit 2",
    );
    hook(
        "change",
        "trigger: before_tool\nmatcher:\n  pattern: original",
        r#"echo '{"modified_input": {"command": "echo changed"}, "additional_context": "it was changed"}'"#,
    );
    hook("welcome", "trigger: session_start", r#"echo '{"additional_context": "be kind"}'"#);
    hook("advice", "trigger: after_tool_failure", r#"echo '{"additional_context": "look again"}'"#);
    hook("gate", "trigger: before_stop", "[ -e finished ] || { echo unfinished >&2; exit 2; }");
    environment
}

fn is_guarded(options: &[&str]) {
    require!(MachineNeed::Program("python3"));
    let environment = hooked();
    let program = crate::program();
    let talk = hold(environment, &program, options);
    let CommandRun { code, stdout, stderr } = &talk.ran;
    assert_eq!((*code, stdout.as_str()), (0, "that was all\n"), "{stderr}");
    let project = talk.environment.project();
    assert!(!project.join("forbidden").exists());
    assert_eq!(fs::read_to_string(project.join("new.txt")).unwrap(), "new");
    for (request, text) in [
        (0, "be kind"),
        (1, "not run: not here"),
        (2, "changed\n"),
        (2, "it was changed"),
        (3, "exit code 3"),
        (3, "look again"),
        (5, "unfinished"),
    ] {
        assert!(talk.is_first_told(request, text), "{text} in {request}: {:#?}", talk.requests);
    }
    assert_eq!(
        talk.events(),
        [
            "session_start",
            "before_agent",
            "before_tool",
            "before_tool",
            "after_tool",
            "before_tool",
            "after_tool_failure",
            "before_tool",
            "after_tool",
            "before_stop",
            "before_tool",
            "after_tool",
            "before_stop",
            "after_agent",
            "after_stop",
            "session_end",
        ]
    );
}

#[test]
fn it_is_guarded_by_a_process_for_each_event() {
    is_guarded(&[]);
}

#[test]
fn it_is_guarded_by_one_process_for_all_events() {
    is_guarded(&["--serve"]);
}

#[test]
fn it_runs_nothing_without_anyhook() {
    require!(MachineNeed::Program("python3"));
    for options in [&[][..], &["--serve"]] {
        let talk = hold(environment(), "/nowhere/anyhook", options);
        assert_eq!(talk.ran.code, 1, "{:?}", talk.ran);
        assert!(talk.ran.stderr.contains("stopped: anyhook could not be asked"), "{:?}", talk.ran);
        assert!(talk.requests.is_empty());
    }
}

#[test]
fn a_session_that_is_stopped_ends_nevertheless() {
    require!(MachineNeed::Program("python3"));
    let environment = environment();
    environment.user_hook("closed", "trigger: before_agent", "echo not today >&2; exit 2");
    let talk = play(environment, &crate::program(), &[], Vec::new());
    assert_eq!(talk.ran.code, 1, "{:?}", talk.ran);
    assert!(talk.ran.stderr.contains("stopped: not today"), "{:?}", talk.ran);
    assert_eq!(talk.events(), ["session_start", "before_agent", "session_end"]);
}

#[test]
fn a_call_that_cannot_be_read_does_not_run() {
    require!(MachineNeed::Program("python3"));
    let turns = vec![ModelTurn::tool("Shell", json!("{\"command\": ")), ModelTurn::text("well")];
    let talk = play(environment(), &crate::program(), &[], turns);
    assert_eq!(talk.ran.code, 0, "{:?}", talk.ran);
    assert!(
        talk.is_first_told(1, "not run: its arguments are not a JSON object"),
        "{:#?}",
        talk.requests
    );
}

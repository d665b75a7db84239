//! A stop that a pipeline holds: the real agents go on until they are let go.

use anyhook_engine::agent_directives;
use anyhook_model::agent_directives::{AgentDirectives, INSTRUCTIONS_VERSION};
use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;

use crate::environment;

const MESSAGE: &str = "say that you are done before you stop";

fn is_held_until_it_is_let_go(agent: Agent) {
    let Some(mut bed) = AgentSandbox::within(environment(), agent) else { return };
    let installed = bed.environment().run(&["install", agent.name()]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let holding = AgentDirectives {
        v: INSTRUCTIONS_VERSION,
        agent: "fix".to_owned(),
        host: Some(agent.name().to_owned()),
        hold_stop: Some(MESSAGE.to_owned()),
        ..AgentDirectives::default()
    };
    let state = bed.environment().state();
    agent_directives::write(&state, &holding).unwrap();
    bed.set_variable("ANYHOOK_AGENT_ID", "fix");
    let file = agent_directives::path(&state, "fix");
    let let_go = bed.shell_tool(&format!("rm '{}'", file.display()));
    let outcome =
        bed.run("do it", [ModelTurn::text("I stop"), let_go, ModelTurn::text("I am done")]);
    assert_eq!(outcome.exit_code, 0, "{outcome:?}");
    assert!(!outcome.told(0, MESSAGE) && outcome.told(1, MESSAGE), "{outcome:?}");
    assert_eq!(outcome.requests.len(), 3, "{outcome:?}");
    let mut stops = bed.environment().journal();
    stops.retain(|record| record["event"] == "before_stop");
    let by: Vec<_> = stops.iter().map(|stop| stop["verdict"]["by"].as_str()).collect();
    assert_eq!(by, [Some("pipeline"), None], "{stops:#?}");
}

#[test]
fn claude_code() {
    is_held_until_it_is_let_go(Agent::ClaudeCode);
}

#[test]
fn codex() {
    is_held_until_it_is_let_go(Agent::Codex);
}

#[test]
fn gemini_cli() {
    is_held_until_it_is_let_go(Agent::GeminiCli);
}

#[test]
fn opencode() {
    is_held_until_it_is_let_go(Agent::OpenCode);
}

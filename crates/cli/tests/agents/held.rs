//! A stop that a pipeline holds: the real agents go on until they are let go.

use anyhook_engine::agent_directives;
use anyhook_model::agent_directives::{AgentDirectives, INSTRUCTIONS_VERSION};
use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::every_agent;
use anyhook_testkit::model_server::ModelTurn;

use super::can_hold;
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
    let edit = agent.is_held_after_edits_only().then(|| bed.write_tool("new.txt", "new\n"));
    let before = usize::from(edit.is_some());
    let stop = [ModelTurn::text("I stop"), let_go, ModelTurn::text("I am done")];
    let outcome = bed.run("do it", edit.into_iter().chain(stop).collect::<Vec<_>>());
    if !can_hold(agent) {
        assert_eq!(outcome.requests.len(), 1, "it cannot be held: {outcome:?}");
        return;
    }
    assert_eq!(outcome.exit_code, 0, "{outcome:?}");
    assert!(!outcome.told(before, MESSAGE) && outcome.told(before + 1, MESSAGE), "{outcome:?}");
    assert_eq!(outcome.requests.len(), before + 3, "{outcome:?}");
    let mut stops = bed.environment().journal();
    stops.retain(|record| record["event"] == "before_stop");
    let by: Vec<_> = stops.iter().map(|stop| stop["verdict"]["by"].as_str()).collect();
    let expected: &[Option<&str>] =
        if agent.asks_again_at_stop() { &[Some("pipeline"), None] } else { &[Some("pipeline")] };
    assert_eq!(by, expected, "{stops:#?}");
}

/// Without a change of a file, it stops however many hooks say no.
#[test]
fn hermes_without_edits() {
    let Some(bed) = AgentSandbox::within(environment(), Agent::Hermes) else { return };
    bed.environment().user_hook("gate", "trigger: before_stop", "echo no >&2\nexit 2");
    let installed = bed.environment().run(&["install", "hermes"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let outcome = bed.run("do it", [ModelTurn::text("I stop")]);
    assert_eq!((outcome.exit_code, outcome.requests.len()), (0, 1), "{outcome:?}");
    let journal = bed.environment().journal();
    let events: Vec<_> = journal.iter().filter_map(|record| record["event"].as_str()).collect();
    assert!(events.contains(&"after_stop") && !events.contains(&"before_stop"), "{events:?}");
}

every_agent!(is_held_until_it_is_let_go);

//! Tokens and turns of a real agent that keeps its sessions in a database.

use anyhook_testkit::agents::{AGENT_PATIENCE, Agent, AgentSandbox};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::wait_within;
use serde_json::{Value, json};

use crate::environment;

#[test]
fn opencode_tells_what_it_used() {
    let Some(bed) = AgentSandbox::within(environment(), Agent::OpenCode) else { return };
    let anyhook = |arguments: &[&str]| bed.environment().run(arguments);
    let agents = || anyhook(&["agent", "list", "--all", "--json"]).json();
    // The daemon is there before the agent.
    assert_eq!(agents(), json!([]));
    let outcome = bed.run("do it", [bed.shell_tool("true"), ModelTurn::text("that was all")]);
    assert_eq!(outcome.exit_code, 0, "{outcome:?}");
    wait_within(AGENT_PATIENCE, "the agent's log", || agents()[0]["log"].is_string());
    let id = agents()[0]["id"].as_str().map(str::to_owned).unwrap();
    let usage = || anyhook(&["agent", "show", &id, "--json"]).json()["usage"].clone();
    // The model takes 100 tokens and writes 10 at each request.
    let wanted: Value = json!({
        "turns": 1, "input_tokens": 200, "output_tokens": 20,
        "cache_read_tokens": 0, "cache_write_tokens": 0,
    });
    assert_eq!(usage(), wanted);
    let shown = anyhook(&["agent", "show", &id]).stdout;
    assert!(shown.contains("200 in, 20 out, 0 from the cache, 0 to the cache"), "{shown}");
}

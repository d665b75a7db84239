//! Every tool an agent offers its model is in one of our tables: a tool that runs commands under a
//! new name would pass every guard of `Shell`.

use std::collections::BTreeSet;

use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::every_agent;
use anyhook_testkit::model_server::ModelTurn;
use serde_json::Value;

use crate::environment;

/// Returns the names of the tools in a request to the model, in whichever protocol.
fn offered(request: &Value) -> BTreeSet<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    let mut names = BTreeSet::new();
    for tool in tools {
        // Gemini groups its declarations; Codex some of its tools.
        let group = tool["functionDeclarations"].as_array().or_else(|| tool["tools"].as_array());
        let single = std::slice::from_ref(tool);
        for tool in group.map_or(single, Vec::as_slice) {
            let fields = [&tool["name"], &tool["function"]["name"], &tool["type"]];
            let name = fields.into_iter().find_map(Value::as_str);
            names
                .insert(name.unwrap_or_else(|| panic!("a tool without a name: {tool}")).to_owned());
        }
    }
    names
}

/// Returns the names in the first message of Claude Code's own protocol, which also tells of tools
/// that are loaded later.
fn announced(stdout: &str) -> BTreeSet<String> {
    let messages = stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let init = messages.into_iter().find(|message| message["subtype"] == "init");
    let tools = init.as_ref().and_then(|init| init["tools"].as_array()).cloned();
    tools.into_iter().flatten().filter_map(|name| Some(name.as_str()?.to_owned())).collect()
}

fn compare(agent: Agent, model: Option<&str>, expected: &[ModelTurn]) {
    let Some(mut bed) = AgentSandbox::within(environment(), agent) else { return };
    if let Some(model) = model {
        bed.set_model(model);
    }
    if agent == Agent::ClaudeCode {
        for argument in ["--output-format", "stream-json", "--verbose"] {
            bed.add_argument(argument);
        }
    }
    let outcome = bed.run("hi", vec![ModelTurn::text("done")]);
    let mut names = offered(outcome.requests.first().unwrap());
    names.extend(announced(&outcome.stdout));
    let host = agent.spec();
    let is_known = |name: &str| {
        host.protocol.tools.iter().any(|tool| tool.native == name)
            || host.other_tools.iter().any(|tool| tool.name == name)
    };
    let unknown: Vec<_> = names.iter().filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "{} has tools that no table knows: {unknown:?}", host.title);
    // The list was found at all.
    for turn in expected {
        let ModelTurn::Tools(calls) = turn else { panic!("{turn:?} calls no tool") };
        assert!(names.contains(&calls[0].name), "{turn:?} is not among {names:?}");
    }
}

fn knows_every_tool(agent: Agent) {
    let patch = agent.patch_tool("");
    compare(agent, None, &[agent.shell_tool("true"), agent.write_tool("/x", "x")]);
    // With models of this name it has other tools.
    if let Some(model) = agent.patching_model() {
        compare(agent, Some(model), &[agent.shell_tool("true"), patch.unwrap()]);
    }
}

every_agent!(knows_every_tool);

/// `Monitor` runs a command as `Bash` does, and a guard of `Shell` keeps it from doing so.
#[test]
fn a_command_under_another_tools_name_is_denied() {
    let Some(bed) = AgentSandbox::within(environment(), Agent::ClaudeCode) else { return };
    let environment = bed.environment();
    environment.user_hook(
        "no-touch",
        "trigger: before_tool\nmatcher: {tool: Shell, pattern: touch PWNED}",
        "echo the guard says no >&2\nexit 2",
    );
    let installed = environment.run(&["install", "claude-code"]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let select = ModelTurn::tool("ToolSearch", serde_json::json!({"query": "select:Monitor"}));
    let input = serde_json::json!({
        "command": "touch PWNED", "description": "watch", "timeout_ms": 5000, "persistent": false,
    });
    let monitor = ModelTurn::tool("Monitor", input);
    let outcome = bed.run("watch it", vec![select, monitor, ModelTurn::text("done")]);
    assert!(outcome.told(2, "the guard says no"), "{outcome:#?}");
    assert!(!bed.project().join("PWNED").exists());
}

//! What is read of the daemon, and that none is started to read it.

use anyhook_testkit::{finish, wait_until};
use serde_json::{Value, json};

use super::{TOOLS, call, call_all, failure};
use crate::commands::decision::{asked, hook, permission, waiting};
use crate::environment;

/// A token that looks like a real one.
const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

#[test]
fn without_a_daemon_it_says_so_and_starts_none() {
    let environment = environment();
    environment.shell("ls");
    let living = ["list_agents", "list_decisions", "list_pipelines"];
    for tool in living {
        let told = failure(&environment, tool, json!({}));
        assert_eq!(told, "the daemon is not running\nhint: anyhook daemon start", "{tool}");
    }
    for (tool, name) in [("show_agent", "agent"), ("show_decision", "decision")] {
        let told = failure(&environment, tool, json!({name: "x"}));
        assert!(told.starts_with("the daemon is not running\n"), "{tool}: {told}");
    }
    assert!(environment.daemon().is_none(), "a tool that reads has started a daemon");

    // One that a person has stopped stays stopped, and the answer says since when.
    assert_eq!(environment.run(&["daemon", "start"]).code, 0);
    assert_eq!(environment.run(&["daemon", "stop"]).code, 0);
    for tool in living {
        let told = failure(&environment, tool, json!({}));
        assert!(told.starts_with("the daemon is not running: it was stopped at "), "{told}");
    }
    let found = call(&environment, "search_journal", json!({"tool": "Shell"}));
    assert_eq!(found["records"].as_array().unwrap().len(), 1);
    let id = found["records"][0]["id"].clone();
    for (tool, arguments) in [
        ("show_record", json!({"record": id})),
        ("hooks_in_force", json!({})),
        ("stats", json!({})),
    ] {
        call(&environment, tool, arguments);
    }
    assert!(environment.daemon().is_none(), "a tool that reads has started a daemon");
}

/// Every tool, at an agent that waits for a decision: what commands print, within the schemas.
#[test]
fn agents_and_decisions_are_those_of_the_commands() {
    let environment = waiting(300);
    environment.shell("ls");
    let command = format!("curl -H 'Authorization: Bearer {TOKEN}' https://example.com");
    let held = hook(&environment, "claude-code", &permission(&environment, &command));
    let decision = asked(&environment);
    wait_until("the agent to be known", || {
        let agents = environment.run(&["agent", "list", "--json"]).json();
        agents[0]["state"] == "prompting"
    });

    let agents = call(&environment, "list_agents", json!({"project": "project"}));
    assert_eq!(agents["agents"], environment.run(&["agent", "list", "--json"]).json());
    assert_eq!(agents["agents"][0]["decision"], decision.as_str(), "{agents:#}");
    let none = call(&environment, "list_agents", json!({"state": ["working", "gone"]}));
    assert_eq!(none, json!({"agents": []}));

    let shown = call(&environment, "show_agent", json!({"agent": agents["agents"][0]["id"]}));
    assert_eq!(shown["agent"]["id"], agents["agents"][0]["id"]);
    assert!(shown["last_events"].is_array(), "{shown:#}");

    let still = |mut value: Value| {
        // It goes on waiting.
        value["waited_ms"].take();
        value
    };
    let listed = call(&environment, "list_decisions", json!({"tool": "Shell", "about": "curl*"}));
    let printed = environment.run(&["decision", "show", &decision, "--json"]).json();
    assert_eq!(still(listed["decisions"][0].clone()), still(printed.clone()));
    assert_eq!(
        call(&environment, "list_decisions", json!({"tool": "Write"})),
        json!({"decisions": []})
    );
    let one = call(&environment, "show_decision", json!({"decision": &decision[..5]}));
    assert_eq!(still(one["decision"].clone()), still(printed));
    assert_eq!(call(&environment, "list_pipelines", json!({})), json!({"pipelines": []}));

    let told = failure(&environment, "show_agent", json!({"agent": "nobody"}));
    assert_eq!(told, "there is no agent `nobody`\nhint: anyhook agent list --all");

    let calls: Vec<(&str, Value)> = TOOLS
        .into_iter()
        .map(|tool| match tool {
            "show_agent" => (tool, json!({"agent": "claude"})),
            "show_decision" => (tool, json!({"decision": decision})),
            "show_record" => (tool, json!({"record": environment.journal()[0]["id"]})),
            tool => (tool, json!({})),
        })
        .collect();
    for ((tool, _), result) in calls.iter().zip(call_all(&environment, &calls)) {
        assert_eq!(result["isError"], false, "{tool}: {result:#}");
        assert!(!result.to_string().contains(TOKEN), "{tool}: {result:#}");
    }
    // It still waits: reading has answered nothing.
    assert_eq!(asked(&environment), decision);
    assert_eq!(environment.run(&["decision", "resolve", &decision, "deny"]).code, 0);
    assert_eq!(finish(held).code, 0);
    let made = call(&environment, "list_decisions", json!({"all": true}));
    assert_eq!(made["decisions"][0]["resolution"]["choice"], "deny", "{made:#}");
    assert_eq!(call(&environment, "list_decisions", json!({})), json!({"decisions": []}));
}

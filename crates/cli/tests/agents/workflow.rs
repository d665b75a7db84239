//! The pack `delivery-workflow` in the real agents: context in, checks at the end, gates between.

use std::thread;

use anyhook_testkit::agents::{Agent, AgentRun, AgentSandbox};
use anyhook_testkit::model_server::{ModelTurn, tells};
use anyhook_testkit::{wait_until, write};
use serde_json::{Value, json};

use crate::environment;
use crate::workflow_fixture::{artifact, artifact_path, signal, signal_path, state_of};

/// An agent with the pack, in a project whose workflow has begun.
fn bed_with_pack(agent: Agent) -> Option<AgentSandbox> {
    let bed = AgentSandbox::within(environment(), agent)?;
    let ok = |arguments: &[&str]| {
        let ran = bed.environment().run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
    };
    let config = json!({"project_name": "shop", "risk_level": "low"});
    write(&bed.project().join("project-config.json"), config.to_string(), 0o644);
    ok(&["install", agent.name()]);
    ok(&["add", "pack/delivery-workflow"]);
    ok(&["workflow", "init"]);
    Some(bed)
}

fn approve(bed: &AgentSandbox, stage: &str) {
    let ran = bed.environment().run(&["workflow", "approve", stage, "--by", "ann"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// Makes an agent of the workflow a subagent of Claude Code.
fn employ(bed: &AgentSandbox, name: &str) {
    let text = format!(
        "---\nname: {name}\ndescription: The {name} of the workflow\n---\nDo your stage.\n"
    );
    write(&bed.project().join(format!(".claude/agents/{name}.md")), text, 0o644);
}

/// Has a subagent of Claude Code do something, and waits for it.
fn delegate(subagent: &str) -> ModelTurn {
    delegate_in(subagent, false)
}

fn delegate_in(subagent: &str, background: bool) -> ModelTurn {
    let input = json!({"subagent_type": subagent, "description": "do your stage", "prompt": "Begin.", "run_in_background": background});
    ModelTurn::tool("Agent", input)
}

fn written(bed: &AgentSandbox, path: &str, value: &Value) -> ModelTurn {
    bed.write_tool(path, &value.to_string())
}

/// Returns the requests that tell a text.
fn telling(outcome: &AgentRun, text: &str) -> Vec<usize> {
    let requests = outcome.requests.iter().enumerate();
    requests.filter(|(_, request)| tells(request, text)).map(|(number, _)| number).collect()
}

#[test]
fn a_main_agent_delegates_to_subagents() {
    let Some(bed) = bed_with_pack(Agent::ClaudeCode) else { return };
    for name in ["product-manager", "system-architect"] {
        employ(&bed, name);
    }
    let (packet, handover) = (artifact_path("requirements"), artifact_path("architecture"));
    let bad = json!({"project_name": "shop", "summary": "A shop.", "requirements": []});
    let script = [
        delegate("product-manager"),
        written(&bed, &packet, &bad),
        written(&bed, &signal_path("product_manager"), &signal("requirements", &[&packet])),
        ModelTurn::text("The requirements are written."),
        // It is sent back, and mends what it is told.
        written(&bed, &packet, &artifact("requirements", "full_system")),
        ModelTurn::text("Now they are right."),
        // A person has not approved yet.
        delegate("system-architect"),
        bed.shell_tool("until [ -e approved ]; do sleep 0.1; done"),
        delegate("system-architect"),
        written(&bed, &handover, &artifact("architecture", "full_system")),
        written(&bed, &signal_path("system_architect"), &signal("architecture", &[&handover])),
        ModelTurn::text("The architecture is there."),
        ModelTurn::text("Both are done."),
    ];
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let denied = |record: &Value| {
                record["tool"] == "Subagent" && record["verdict"]["decision"] == "deny"
            };
            wait_until("the gate keeps the architect back", || {
                bed.environment().journal().iter().any(denied)
            });
            approve(&bed, "requirements");
            write(&bed.project().join("approved"), "", 0o644);
        });
        bed.run("Deliver the shop.", script)
    });
    assert_eq!(outcome.exit_code, 0, "{outcome:?}");
    assert_eq!(outcome.requests.len(), 13, "{outcome:#?}");

    // The main agent is told who comes first; the subagent gets its task and its schema.
    assert!(outcome.told(0, "Start the subagent `product_manager` to do the stage `requirements`"));
    assert!(outcome.told(1, "Your stage is `requirements`") && outcome.told(1, "pm-output"));
    // Every error of the bad artifact is told, once it wants to stop.
    for error in ["`execution_mode` is missing", "`risk_level` is missing", "/requirements:"] {
        assert!(!outcome.told(3, error) && outcome.told(4, error), "{error}: {outcome:#?}");
    }
    // The main agent learns that a person is waited for, and the gate is closed until then.
    assert!(outcome.told(6, "The stage `requirements` is waiting for a person"), "{outcome:#?}");
    assert!(outcome.told(7, "it is not `system_architect`'s turn"), "{outcome:#?}");
    // What the one has made is in the first request of the other.
    assert!(outcome.told(9, "Your stage is `architecture`"), "{outcome:#?}");
    assert!(outcome.told(9, "xylophone"), "{outcome:#?}");
    assert!(telling(&outcome, "xylophone").iter().all(|number| ![0, 1, 6, 7, 8].contains(number)));

    let state = state_of(bed.environment());
    assert_eq!(state["paused_at"], "architecture");
    assert_eq!(state["stages"]["requirements"]["attempts"], 1);
    assert_eq!(bed.environment().run(&["verify"]).code, 0);
}

#[test]
fn a_main_agent_is_told_that_a_subagent_in_the_background_is_done() {
    let Some(mut bed) = bed_with_pack(Agent::ClaudeCode) else { return };
    employ(&bed, "product-manager");
    bed.add_argument("--permission-mode");
    bed.add_argument("acceptEdits");
    let turns = [
        delegate_in("product-manager", true),
        ModelTurn::text("It works in the background."),
        ModelTurn::text("A person is waited for."),
    ];
    let Some(screen) = bed.open(turns) else { return };
    let packet = artifact_path("requirements");
    let part = vec![
        written(&bed, &packet, &artifact("requirements", "full_system")),
        written(&bed, &signal_path("product_manager"), &signal("requirements", &[&packet])),
        ModelTurn::text("The requirements are written."),
    ];
    screen.model().add_part("Your stage is `requirements`", part);
    screen.submit("Deliver the shop.");
    let waits = "The stage `requirements` is waiting for a person";
    screen.wait_until("the main agent is told", |_| {
        screen.model().requests().iter().any(|request| tells(request, waits))
    });
    assert_eq!(state_of(bed.environment())["paused_at"], "requirements");
    screen.close();
}

/// An agent of which each session is one agent of the workflow.
fn a_session_is_an_agent(agent: Agent) {
    let Some(mut bed) = bed_with_pack(agent) else { return };
    bed.set_variable("ANYHOOK_WORKFLOW_AGENT", "product_manager");
    let path = artifact_path("requirements");
    let good = artifact("requirements", "full_system");
    let script = [
        written(&bed, &signal_path("product_manager"), &signal("requirements", &[&path])),
        ModelTurn::text("I am done."),
        // It is sent back: there is no artifact.
        written(&bed, &path, &good),
        ModelTurn::text("Now I am."),
    ];
    let outcome = bed.run("Begin.", script);
    assert_eq!(outcome.exit_code, 0, "{outcome:?}");
    assert_eq!(outcome.requests.len(), 4, "{outcome:#?}");
    assert!(outcome.told(0, "Your stage is `requirements`"), "{outcome:#?}");
    let missing = format!("`{path}` is missing");
    assert!(!outcome.told(1, &missing) && outcome.told(2, &missing), "{outcome:#?}");
    assert_eq!(state_of(bed.environment())["paused_at"], "requirements");
    approve(&bed, "requirements");

    bed.set_variable("ANYHOOK_WORKFLOW_AGENT", "system_architect");
    let (path, architect) = (artifact_path("architecture"), signal_path("system_architect"));
    let script = [
        written(&bed, &path, &artifact("architecture", "full_system")),
        written(&bed, &architect, &signal("architecture", &[&path])),
        ModelTurn::text("I am done."),
    ];
    let outcome = bed.run("Begin.", script);
    assert_eq!(outcome.exit_code, 0, "{outcome:?}");
    assert!(outcome.told(0, "xylophone"), "what the other made: {outcome:#?}");
    assert_eq!(state_of(bed.environment())["paused_at"], "architecture");
}

#[test]
fn a_session_of_claude_code() {
    a_session_is_an_agent(Agent::ClaudeCode);
}

#[test]
fn a_session_of_codex() {
    a_session_is_an_agent(Agent::Codex);
}

#[test]
fn a_session_of_gemini_cli() {
    a_session_is_an_agent(Agent::GeminiCli);
}

#[test]
fn a_session_of_opencode() {
    a_session_is_an_agent(Agent::OpenCode);
}

//! `anyhook doctor --prove` with the real agents: they run offline, with a model in the program, and are
//! seen to heed a denial; without our entries they are not.

use std::fs;

use anyhook_testkit::agents::{Agent, AgentSandbox};
use anyhook_testkit::{CommandRun, every_agent, run};
use serde_json::Value;

use crate::environment;

/// Runs the program where the agent's is on the `PATH`.
fn anyhook(bed: &AgentSandbox, arguments: &[&str]) -> CommandRun {
    let path = std::env::var_os("PATH").unwrap();
    let path = [bed.home().join("bin")].into_iter().chain(std::env::split_paths(&path));
    let mut command = bed.environment().command(arguments);
    command.env("PATH", std::env::join_paths(path).unwrap());
    run(command, b"")
}

/// Returns what `doctor` finds bad about the agent.
fn bad(bed: &AgentSandbox) -> Vec<String> {
    let report = anyhook(bed, &["doctor", "--json"]).json();
    let findings = report["findings"].as_array().unwrap().iter();
    let bad = findings.filter(|it| it["about"] == bed.agent().name() && it["severity"] == "bad");
    bad.map(|finding| finding["message"].as_str().unwrap().to_owned()).collect()
}

/// Makes the settings what they were, behind anyhook's back.
fn remove_entries(bed: &AgentSandbox) {
    let name = format!("installed/{}-user.json", bed.agent().name());
    let record = fs::read(bed.environment().state().join(name)).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    for (file, change) in record["files"].as_object().unwrap() {
        match change["before"].as_str() {
            Some(before) => fs::write(file, before).unwrap(),
            None => fs::remove_file(file).unwrap(),
        }
    }
}

fn is_proven(agent: Agent) {
    let Some(bed) = AgentSandbox::within(environment(), agent) else { return };
    let name = agent.name();
    bed.put_program();
    let installed = anyhook(&bed, &["install", name]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let ran = anyhook(&bed, &["doctor", "--prove", name, "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let proof = &ran.json()[0];
    assert_eq!(proof["run"]["outcome"], "denied", "{proof}");
    // It may be too slow to tell its version where many agents run at once.
    if let Some(version) = proof["version"].as_str() {
        assert_eq!(version, agent.version(), "{proof}");
    }
    let events = proof["events"].as_array().unwrap();
    assert!(!events.is_empty() && events.iter().all(|event| event["denied"] == true), "{proof}");
    assert_eq!(bad(&bed), [""; 0]);
    // It left nothing, and none of it counts as work.
    let state = bed.environment().state();
    assert!(!state.join("proofs/scratch").exists());
    let records = bed.environment().journal();
    let call = |record: &&Value| record["event"] == "before_tool" && record["tool"] == "Shell";
    assert!(records.iter().filter(call).count() >= 2, "the entry and the agent: {records:?}");
    // What an agent tells of a call that failed is counted: it may have run.
    let mut calls = records.iter().filter(call);
    assert!(calls.all(|record| record["canary"] == true), "{records:?}");

    remove_entries(&bed);
    let ran = anyhook(&bed, &["doctor", "--prove", name, "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.json()[0]["fault"].as_str().unwrap().contains("not call anyhook"), "{ran:?}");
    assert!(!bad(&bed).is_empty());
}

every_agent!(is_proven);

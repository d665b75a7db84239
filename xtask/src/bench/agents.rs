//! Measures how soon the daemon knows what an agent waits for, with the real agents.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::run_example;
use crate::Workspace;

/// The most that our part may take in 95 of 100 cases, in milliseconds.
const GOAL: f64 = 100.0;
/// Phases that the goal does not apply to: they include the agent's own time.
const WITH_AGENT: &str = "model";

/// Measures; returns times in milliseconds, by agent, what it waits for and who knows it.
pub fn measure(
    workspace: &Workspace,
    anyhook: &Path,
    profile: &str,
    rounds: usize,
) -> Result<Value> {
    let rounds = rounds.to_string();
    let arguments = [anyhook, Path::new(&rounds)];
    run_example(workspace, "anyhook-daemon", "agent_state", profile, &arguments)
}

/// Prints the results, as a table that can be copied into the documentation.
pub fn print(found: &Value) {
    println!("\n{} rounds, in ms; goal: p95 of our part at most {GOAL}\n", found["rounds"]);
    println!(
        "| {:<11} | {:<10} | {:<41} | {:>7} | {:>7} | {:>7} | {:<6} |",
        "agent", "waits for", "from → to", "p50", "p95", "max", "goal"
    );
    println!("|---|---|---|--:|--:|--:|---|");
    for row in found["rows"].as_array().into_iter().flatten() {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
        let goal = match text("leg").starts_with(WITH_AGENT) {
            true => "",
            false if number("p95") <= GOAL => "met",
            false => "missed",
        };
        println!(
            "| {:<11} | {:<10} | {:<41} | {:>7.1} | {:>7.1} | {:>7.1} | {goal:<6} |",
            text("agent"),
            text("kind"),
            text("leg"),
            number("p50"),
            number("p95"),
            number("max")
        );
    }
}

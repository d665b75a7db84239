//! Measures what hooks cost an agent that has them built in.

use anyhow::Result;
use serde_json::Value;

use super::run_example;
use crate::Workspace;

/// The maximum cost of a blocking hook that does nothing, in microseconds.
const GOAL: f64 = 1.0;

/// Measures; returns medians in microseconds.
pub fn measure(workspace: &Workspace, profile: &str) -> Result<Value> {
    run_example(workspace, "anyhook-sdk", "hook_cost", profile, &[])
}

/// Prints the results.
pub fn print(found: &Value) {
    let number = |key: &str| found[key].as_f64().unwrap_or(f64::NAN);
    println!("\n{:<44} | {:>9}", "hooks in a program of one's own", "median µs");
    for (name, key) in [
        ("a run of an agent that says nothing", "run_us"),
        ("a blocking pre-hook that does nothing", "blocking_hook_us"),
        ("a tool hook, functions alone", "tool_hook_us"),
        ("the same, with HOOK.md folders looked for", "tool_hook_with_folders_us"),
        ("the same, journaled", "tool_hook_with_journal_us"),
    ] {
        println!("{name:<44} | {:>9.2}", number(key));
    }
    let word = if number("blocking_hook_us") <= GOAL { "met" } else { "missed" };
    println!("goal: at most {GOAL:.0} µs a blocking hook without a journal: {word}");
}

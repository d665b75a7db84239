//! What hooks cost an agent that has them built in.

use std::process::Stdio;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::Workspace;

/// The most that a blocking hook that does nothing may cost, in microseconds.
const GOAL: f64 = 1.0;

/// Measures; returns medians in microseconds.
pub fn measure(workspace: &Workspace, profile: &str) -> Result<Value> {
    let mut example = workspace.cargo();
    example.args(["run", "--quiet", "--locked", "--package", "anyhook-sdk", "--profile", profile]);
    let output = example.args(["--example", "hook_cost"]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("the example `hook_cost` ended with {}", output.status);
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Prints what was found.
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

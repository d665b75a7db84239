//! Measures the daemon: idle, under load, how soon it raises an alarm, and with a full journal when it
//! starts.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::run_example;
use crate::Workspace;

/// The minimum of events per second, under load and when it catches up.
const RATE: f64 = 10_000.0;
/// The maximum lag, in milliseconds.
const LAG: f64 = 1000.0;
/// The maximum time from the line of a log about a call to the alarm that no hook was asked about it, in
/// milliseconds.
const ALARM: f64 = 1000.0;
/// The maximum memory, in MiB.
const MEMORY: f64 = 100.0;
/// The maximum CPU usage of an idle one, in percent.
const IDLE: f64 = 0.5;

/// Measures; returns the results.
pub fn measure(workspace: &Workspace, anyhook: &Path, profile: &str) -> Result<Value> {
    run_example(workspace, "anyhook-daemon", "load", profile, &[anyhook])
}

/// Prints the results, as a table that can be copied into the documentation.
pub fn print(found: &Value) {
    let number = |path: &str| found.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let row = |what: &str, is: f64, unit: &str, goal: Option<(bool, String)>| {
        let (word, goal) = match goal {
            None => ("", String::new()),
            Some((true, goal)) => ("met", goal),
            Some((false, goal)) => ("missed", goal),
        };
        println!("| {what:<48} | {is:>10.1} {unit:<9} | {goal:<9} | {word:<6} |");
    };
    let at_most = |path: &str, limit: f64| Some((number(path) <= limit, format!("≤ {limit}")));
    let at_least = |path: &str, limit: f64| Some((number(path) >= limit, format!("≥ {limit}")));
    println!("\n| {:<48} | {:>20} | {:<9} | {:<6} |", "what", "is", "goal", "");
    println!("|---|--:|---|---|");
    let path = "/idle/processor_percent";
    row("idle: processor", number(path), "%", at_most(path, IDLE));
    let (sent, arrived) = (number("/load/sent"), number("/load/arrived"));
    let path = "/load/written_per_second";
    row("1,000 agents, one follower: rate", number(path), "events/s", at_least(path, RATE * 0.99));
    row("  events sent", sent, "", None);
    row("  events that arrived", arrived, "", Some((arrived >= sent, "all".to_owned())));
    for percent in ["p50", "p95"] {
        let path = format!("/load/lag_ms/{percent}");
        row(&format!("  event → follower, {percent}"), number(&path), "ms", None);
    }
    let path = "/load/lag_ms/max";
    row("  event → follower, most", number(path), "ms", at_most(path, LAG));
    row("  processor", number("/load/processor_percent"), "%", None);
    row("  peak memory", number("/load/peak_mib"), "MiB", at_most("/load/peak_mib", MEMORY));
    row("calls that no hook was asked about", number("/alarms/calls"), "", None);
    for percent in ["p50", "p95"] {
        let path = format!("/alarms/ms/{percent}");
        row(
            &format!("  line of the log → alarm in the journal, {percent}"),
            number(&path),
            "ms",
            None,
        );
    }
    let path = "/alarms/ms/max";
    let what = "  line of the log → alarm in the journal, most";
    row(what, number(path), "ms", at_most(path, ALARM));
    let path = "/catch_up/events_per_second";
    row("200,000 records at the start: rate", number(path), "events/s", at_least(path, RATE));
    row("  first answer to a client", number("/catch_up/first_answer_ms"), "ms", None);
    let path = "/catch_up/peak_mib";
    row("  peak memory", number(path), "MiB", at_most(path, MEMORY));
}

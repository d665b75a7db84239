//! Measures what a durable entry costs in the daemon's store, compared with `SQLite`.

use anyhow::Result;
use serde_json::Value;

use super::run_example;
use crate::Workspace;

/// The minimum of durable entries per second, 64 at a time.
const GOAL_RATE: f64 = 100_000.0;
/// The maximum time of 99 of 100 durable entries, in microseconds.
const GOAL_ONE: f64 = 1000.0;

/// Measures; returns rates, and times in microseconds.
pub fn measure(workspace: &Workspace, profile: &str) -> Result<Value> {
    // Not in a temporary folder, which may be in memory.
    let folder = tempfile::tempdir_in(&workspace.root)?;
    run_example(workspace, "anyhook-daemon", "store_cost", profile, &[folder.path()])
}

/// Prints the results.
pub fn print(found: &Value) {
    let number = |path: &str| found.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    println!("\nentries of {} bytes kept, a second\n", number("/entry_bytes"));
    println!(
        "{:<28} | {:>8} | {:>8} | {:>8} | {:>9} | {:>9} | {:>12} | {:>5}",
        "", "1 each", "64 each", "1024", "1: p50 µs", "1: p99 µs", "100,000 back", "MB"
    );
    for (name, key) in [
        ("store, durable", "store_synced"),
        ("SQLite, WAL, FULL", "sqlite_full"),
        ("store, not waiting", "store"),
        ("SQLite, WAL, NORMAL", "sqlite_normal"),
    ] {
        let of = |path: &str| number(&format!("/{key}/{path}"));
        let rate = |batch: u32| of(&format!("batch_{batch}/entries_per_second"));
        println!(
            "{name:<28} | {:>8.0} | {:>8.0} | {:>8.0} | {:>9.0} | {:>9.0} | {:>9.0} ms | {:>5.1}",
            rate(1),
            rate(64),
            rate(1024),
            of("batch_1/p50_us"),
            of("batch_1/p99_us"),
            of("recovery_ms"),
            of("bytes") / 1e6,
        );
    }
    let word = |met: bool| if met { "met" } else { "missed" };
    let rate = number("/store_synced/batch_64/entries_per_second");
    println!(
        "goal: at least {GOAL_RATE:.0} durable entries a second, 64 at a time: {}",
        word(rate >= GOAL_RATE)
    );
    let one = number("/store_synced/batch_1/p99_us");
    println!(
        "goal: at most {GOAL_ONE:.0} µs for 99 of 100 durable entries: {}",
        word(one <= GOAL_ONE)
    );
}

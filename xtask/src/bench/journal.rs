//! Measures what the journal costs: appending on the hook path, reading, checking, replaying.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::measure::rounded;
use super::project::BenchHook;
use super::run_example;
use crate::Workspace;

/// The maximum cost of the journal on the hook path, in microseconds.
const GOAL: f64 = 60.0;
/// How often each command over the whole journal is timed.
const TURNS: usize = 5;

/// Measures; returns the results, in microseconds and as ratios.
pub fn measure(workspace: &Workspace, anyhook: &Path, profile: &str) -> Result<Value> {
    let folder = tempfile::tempdir()?;
    let state = folder.path().join("state/anyhook");
    let mut found = run_example(workspace, "anyhook-engine", "journal_cost", profile, &[&state])?;

    // A hook whose event occurs in every record, but which never runs: its pattern matches nothing.
    BenchHook { name: "bench-never", pattern: "never-000", exit_code: 2, lines: "" }
        .write(folder.path())?;
    let hook = folder.path().join("config/agents/hooks/bench-never");
    let hook = hook.to_str().context("the temporary folder's name is no UTF-8")?;
    let commands: [(&str, &[&str]); 3] = [
        ("log", &["log", "--json", "-n", "0"]),
        ("verify", &["verify"]),
        ("replay", &["replay", "--limit", "0", "--since", "2000-01-01", "--hook", hook]),
    ];
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..TURNS {
        for ((_, arguments), times) in commands.iter().zip(&mut times) {
            times.push(time(anyhook, arguments, folder.path())?);
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let [log, verify, replay] = times.each_mut().map(median);
    found["read_all_ms"] = json!(rounded(log));
    found["verify_to_read"] = json!(rounded(verify / log));
    found["replay_to_read"] = json!(rounded(replay / log));
    Ok(found)
}

/// Runs a command over the journal and returns how long it took, in milliseconds.
fn time(anyhook: &Path, arguments: &[&str], home: &Path) -> Result<f64> {
    let mut command = Command::new(anyhook);
    command.args(arguments).current_dir(home).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home).env("XDG_CONFIG_HOME", home.join("config"));
    command.env("XDG_STATE_HOME", home.join("state"));
    command.stdin(File::open("/dev/null")?).stdout(Stdio::null());
    let began = Instant::now();
    let status = command.status()?;
    if !status.success() {
        bail!("`anyhook {}` ended with {status}", arguments.join(" "));
    }
    Ok(began.elapsed().as_secs_f64() * 1e3)
}

/// Prints the results.
pub fn print(found: &Value) {
    let number = |path: &str| found.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    println!("\njournal, {} bytes a record\n", number("/record_bytes"));
    println!("{:<34} | {:>9} | {:>9} | {:>9}", "append, µs", "median", "p95", "p99");
    for (name, key) in [
        ("no hook was due", "append_silent"),
        ("a hook blocked", "append_decided"),
        ("the same, synced to the disk", "append_synced"),
    ] {
        let of = |part: &str| number(&format!("/{key}/{part}_us"));
        println!("{name:<34} | {:>9.0} | {:>9.0} | {:>9.0}", of("p50"), of("p95"), of("p99"));
    }
    let append = number("/append_decided/p50_us");
    let word = if append <= GOAL { "met" } else { "missed" };
    println!("goal: at most {GOAL:.0} µs on the hook path: {word}");
    println!("\n{:<34} | {:>9}", "over the whole journal", "ratio");
    println!("{:<34} | {:>9} ({:.0} ms)", "reading it (log --json)", 1, number("/read_all_ms"));
    println!("{:<34} | {:>9.2}", "verify", number("/verify_to_read"));
    println!("{:<34} | {:>9.2}", "replay of a hook never due", number("/replay_to_read"));
}

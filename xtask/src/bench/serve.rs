//! Measures what an event costs through a warm `anyhook serve`, compared with a process of its own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::events;
use super::measure::{WARM_UP, microseconds, percentile, rounded};
use super::project::BenchProject;

/// Measures with ten hooks of which none matches; returns microseconds.
pub fn measure(anyhook: &Path, runs: usize) -> Result<Value> {
    let folder = tempfile::tempdir()?;
    let place = BenchProject::make(folder.path())?;
    let home = place.home("home", 10)?;
    let event = events::command(&place.project, events::SMALL)?;
    let file = place.file("event.json", &event)?;
    let request = format!("{{\"id\": 1, \"event\": {}}}\n", event.trim_end());

    let mut child = place
        .command(anyhook, &home)
        .args(["serve", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .context("`anyhook serve` cannot be started")?;
    let mut stdin = child.stdin.take().context("it has no standard input")?;
    let mut stdout = BufReader::new(child.stdout.take().context("it has no standard output")?);
    let mut line = String::new();
    stdout.read_line(&mut line)?;

    let (mut warm, mut fresh) = (Vec::with_capacity(runs), Vec::with_capacity(runs));
    for turn in 0..WARM_UP + runs {
        let began = Instant::now();
        stdin.write_all(request.as_bytes())?;
        line.clear();
        stdout.read_line(&mut line)?;
        let round_trip = began.elapsed();
        if line != "{\"id\": 1, \"verdict\": {}}\n" {
            bail!("`anyhook serve` answered {line}");
        }
        let mut hook = place.hook_call(anyhook, &home, &file)?;
        let began = Instant::now();
        let status = hook.status()?;
        let process = began.elapsed();
        if !status.success() {
            bail!("`anyhook hook` ended with {status}");
        }
        if turn >= WARM_UP {
            warm.push(round_trip);
            fresh.push(process);
        }
    }
    drop(stdin);
    child.wait()?;
    let both = |times: &mut Vec<Duration>| {
        times.sort();
        let of = |percent| rounded(microseconds(percentile(times, percent)));
        json!({"median_us": of(50), "p95_us": of(95)})
    };
    Ok(json!({"round_trip": both(&mut warm), "process": both(&mut fresh)}))
}

/// Prints the results.
pub fn print(found: &Value) {
    println!("\n{:<34} | {:>9} | {:>9}", "10 hooks, none matches, µs", "median", "p95");
    for (name, key) in [
        ("through a warm `anyhook serve`", "round_trip"),
        ("one `anyhook hook` process", "process"),
    ] {
        let number = |part: &str| found[key][part].as_f64().unwrap_or(f64::NAN);
        println!("{name:<34} | {:>9.0} | {:>9.0}", number("median_us"), number("p95_us"));
    }
}

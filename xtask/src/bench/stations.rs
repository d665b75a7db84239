//! Where the time goes on the path on which no hook matches.
//!
//! `strace` tells which system call belongs to which station, for it shows the paths; `perf trace`
//! tells when each began, for it costs little and always the same. A station's time is that of its
//! calls and of the computing after each. Both are started several times, and what the tracer adds
//! to each call, which is what the quickest one takes, is left out.

use std::ffi::OsStr;
use std::fs;

use anyhow::{Context as _, Result, bail};

use super::dispatches::{Dispatches, USUAL};
use super::measure::{percentile, rounded};
use super::system_calls;
use crate::tools;

/// How often the path is traced.
const TURNS: usize = 200;

/// The stations in their order, with the words that a call of each has in its paths.
const STATIONS: [(&str, &[&str]); 7] = [
    ("start: the runtime, the environment", &["execve("]),
    ("the event: reading, decoding", &["read(0<"]),
    ("the session", &["/sessions/"]),
    ("the hooks: changed or not, matching", &["/index", "/hooks", "/trust/", "/.agents"]),
    ("settings", &["anyhook.toml"]),
    ("the journal", &["/journal/", "alarms.jsonl"]),
    ("the reply, the end", &["write(1<", "exit_group("]),
];

/// What one station takes.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Station {
    pub name: String,
    pub system_calls: usize,
    pub microseconds: f64,
}

/// Traces the path and sums up.
pub fn measure(dispatches: &Dispatches) -> Result<Vec<Station>> {
    let perf = tools::on_path("perf").context("perf is missing (Debian package linux-perf)")?;
    let trace = system_calls::trace(dispatches)?;
    let lines: Vec<&str> =
        trace.lines().filter(|line| system_calls::name(line).is_some()).collect();
    let names: Vec<&str> = lines.iter().copied().filter_map(system_calls::name).collect();
    let report = dispatches.report();
    let mut runs = Vec::new();
    for _ in 0..TURNS {
        let arguments = ["trace", "-o"].map(OsStr::new).into_iter().chain([report.as_os_str()]);
        dispatches.run(dispatches.find(USUAL)?, Some(&perf), arguments)?;
        let calls = beginnings(&fs::read_to_string(&report)?);
        // A lost event would put every later time to the wrong call.
        if calls.iter().map(|(name, _)| name.as_str()).eq(names.iter().copied()) {
            runs.push(calls.into_iter().map(|(_, at)| at).collect::<Vec<_>>());
        }
    }
    if runs.len() < TURNS / 2 {
        bail!("perf saw other system calls than strace in {} of {TURNS} turns", TURNS - runs.len());
    }
    Ok(sum_up(&lines, &runs))
}

/// Prints the table.
pub fn print(stations: &[Station]) {
    print!("\n{}", table(stations));
}

/// The table.
pub fn table(stations: &[Station]) -> String {
    let mut table = "| station | system calls | µs |\n|---|--:|--:|\n".to_owned();
    let (mut calls, mut time) = (0, 0.0);
    for station in stations {
        calls += station.system_calls;
        time += station.microseconds;
        table.push_str(&format!(
            "| {} | {} | {:.0} |\n",
            station.name, station.system_calls, station.microseconds
        ));
    }
    table.push_str(&format!("| together | {calls} | {time:.0} |\n"));
    table
}

/// Each call of `perf trace` with the microsecond in which it began. The first, `execve`, began
/// before anybody looked, and ends at 0.
fn beginnings(trace: &str) -> Vec<(String, f64)> {
    let mut calls = Vec::new();
    for line in trace.lines() {
        if line.contains("[continued]: execve(") {
            calls.push(("execve".to_owned(), 0.0));
            continue;
        }
        // `     0.059 ( 0.018 ms): anyhook/9172 mmap(len: 736) = 0x7f`
        let Some((at, rest)) = line.trim_start().split_once(' ') else { continue };
        let Some((_, rest)) = rest.split_once("): ") else { continue };
        let Some((_, call)) = rest.split_once(' ') else { continue };
        if let (Ok(at), Some(name)) = (at.parse::<f64>(), system_calls::name(call.trim_start())) {
            calls.push((name.to_owned(), at * 1e3));
        }
    }
    calls
}

/// Gives each call to its station and adds up the time until the next call began.
fn sum_up(lines: &[&str], runs: &[Vec<f64>]) -> Vec<Station> {
    // The last call never ends.
    let times: Vec<f64> = (1..lines.len())
        .map(|index| {
            let mut times: Vec<f64> = runs.iter().map(|run| run[index] - run[index - 1]).collect();
            times.sort_by(f64::total_cmp);
            percentile(&times, 50)
        })
        .collect();
    let tracer = times.iter().copied().fold(f64::INFINITY, f64::min);
    let mut stations: Vec<Station> = STATIONS
        .iter()
        .map(|(name, _)| Station { name: (*name).to_owned(), system_calls: 0, microseconds: 0.0 })
        .collect();
    let mut current = 0;
    for (index, line) in lines.iter().enumerate() {
        // What names no path, as memory does, belongs to what went before.
        current = station(line).unwrap_or(current);
        stations[current].system_calls += 1;
        if let Some(time) = times.get(index) {
            stations[current].microseconds += time - tracer;
        }
    }
    for station in &mut stations {
        station.microseconds = rounded(station.microseconds);
    }
    stations
}

/// The station that a call's words name.
fn station(line: &str) -> Option<usize> {
    STATIONS.iter().position(|(_, words)| words.iter().any(|word| line.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERF: &str = "\
         ? (         ): anyhook/7  ... [continued]: execve())                    = 0
     0.059 ( 0.018 ms): anyhook/7 mmap(len: 736, prot: READ|WRITE)               = 0x7f
     0.101 ( 0.013 ms): anyhook/7 read(buf: 0x7f, count: 8192)                   = 201
     1.612 (         ): anyhook/7 exit_group()                                   = ?
";

    #[test]
    fn beginnings_are_read() {
        let calls = beginnings(PERF);
        let wanted = [("execve", 0.0), ("mmap", 59.0), ("read", 101.0), ("exit_group", 1612.0)];
        assert_eq!(calls.len(), wanted.len());
        for ((name, at), (wanted, when)) in calls.iter().zip(wanted) {
            assert_eq!(name, wanted);
            assert!((at - when).abs() < 1e-6);
        }
    }

    #[test]
    fn a_station_has_its_calls_and_the_computing_after_them() {
        let lines = [
            "7 execve(\"/a\", …) = 0",
            "7 mmap(NULL, 736) = 0x7f",
            "7 read(0</tmp/event.json>, \"\", 8192) = 201",
            "7 stat(\"/s/anyhook/sessions/1/start\") = 0",
            "7 write(3</s/anyhook/journal/1.jsonl>, \"\", 1) = 1",
            "7 munmap(0x7f, 4096) = 0",
            "7 write(1</dev/null>, \"\", 3) = 3",
            "7 exit_group(0) = ?",
        ];
        // The tracer takes 10; the median of three runs counts.
        let run = |add: f64| vec![0.0, 30.0, 40.0, 90.0 + add, 110.0, 130.0, 145.0, 160.0];
        let stations = sum_up(&lines, &[run(0.0), run(-1.0), run(15.0)]);
        let found: Vec<_> =
            stations.iter().map(|one| (one.system_calls, one.microseconds)).collect();
        assert_eq!(
            found,
            [(2, 20.0), (1, 40.0), (1, 10.0), (0, 0.0), (0, 0.0), (2, 15.0), (2, 5.0)]
        );
    }

    #[test]
    fn the_table_ends_with_the_sum() {
        let station = |name: &str, system_calls, microseconds| Station {
            name: name.to_owned(),
            system_calls,
            microseconds,
        };
        let text = table(&[station("a", 2, 20.4), station("b", 1, 3.0)]);
        assert!(text.ends_with("| a | 2 | 20 |\n| b | 1 | 3 |\n| together | 3 | 23 |\n"), "{text}");
    }
}

//! Counts the system calls of the path on which no hook matches.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;

use anyhow::{Context as _, Result};

use super::dispatches::{BenchDispatch, Dispatches, MATCHING, USUAL};
use crate::tools;

/// How often each is called, by name.
pub type Calls = BTreeMap<String, u64>;

/// Counts them with `strace`.
pub fn count(dispatches: &Dispatches) -> Result<Calls> {
    Ok(tally(&trace(dispatches)?))
}

/// Returns the processes that a dispatch inspects whose hook ran and ended by itself: there must be
/// none, as it would take longer with every process on the machine.
pub fn looks_at_others(dispatches: &Dispatches) -> Result<Vec<String>> {
    Ok(others(&trace_of(dispatches, dispatches.find(MATCHING)?)?))
}

/// Returns the lines of `strace`, with the paths of open files.
pub fn trace(dispatches: &Dispatches) -> Result<String> {
    trace_of(dispatches, dispatches.find(USUAL)?)
}

fn trace_of(dispatches: &Dispatches, dispatch: &BenchDispatch) -> Result<String> {
    let strace = tools::on_path("strace").context("strace is missing")?;
    let report = dispatches.report();
    let arguments = ["-f", "-y", "-o"].map(OsStr::new).into_iter().chain([report.as_os_str()]);
    dispatches.run(dispatch, Some(&strace), arguments)?;
    Ok(fs::read_to_string(&report)?)
}

/// Prints the table.
pub fn print(calls: &Calls) {
    print!("\n{}", table(calls));
}

/// Returns the table, the most frequent calls first.
pub fn table(calls: &Calls) -> String {
    let mut list: Vec<_> = calls.iter().collect();
    list.sort_by(|one, other| other.1.cmp(one.1).then(one.0.cmp(other.0)));
    let mut table = "| system call | times |\n|---|--:|\n".to_owned();
    for (name, times) in list {
        table.push_str(&format!("| `{name}` | {times} |\n"));
    }
    table.push_str(&format!("| together | {} |\n", calls.values().sum::<u64>()));
    table
}

/// Returns what differs, if anything.
pub fn difference(committed: &Calls, found: &Calls) -> Option<String> {
    let names: std::collections::BTreeSet<_> = committed.keys().chain(found.keys()).collect();
    let differ: Vec<_> = names
        .into_iter()
        .filter_map(|name| {
            let times = |calls: &Calls| calls.get(name).copied().unwrap_or(0);
            let (before, now) = (times(committed), times(found));
            (before != now).then(|| format!("{name} {before} → {now}"))
        })
        .collect();
    (!differ.is_empty()).then(|| differ.join(", "))
}

fn tally(trace: &str) -> Calls {
    let mut calls = Calls::new();
    for name in trace.lines().filter_map(name) {
        *calls.entry(name.to_owned()).or_default() += 1;
    }
    calls
}

/// Returns the lines that read the list of processes, or one other than the caller.
fn others(trace: &str) -> Vec<String> {
    let looks = |line: &&str| {
        line.split("\"/proc").skip(1).any(|path| {
            // At the end of the path, in the list itself, or at a process by its id.
            let path = path.trim_start_matches('/');
            path.starts_with('"') || path.starts_with(|letter: char| letter.is_ascii_digit())
        })
    };
    trace.lines().filter(looks).map(str::to_owned).collect()
}

/// Returns the system call that a line starts, after the process id. Lines about signals, exits and
/// resumed calls have none.
pub fn name(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(|letter: char| letter.is_ascii_digit()).trim_start();
    let (name, _) = line.split_once('(')?;
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (!name.is_empty() && name.bytes().all(is_name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "\
7  execve(\"/a\", [\"/a\"], 0x7f /* 4 vars */) = 0
7  read(0</tmp/event.json>, \"{\\\"a(b)\\\"\"..., 8192) = 201
7  wait4(8, <unfinished ...>
8  read(3</x>, \"\", 32) = 0
8  +++ exited with 0 +++
7  <... wait4 resumed>NULL, 0, NULL) = 8
7  --- SIGCHLD {si_signo=SIGCHLD} ---
7  exit_group(0) = ?
7  +++ exited with 0 +++
";

    fn calls(list: &[(&str, u64)]) -> Calls {
        list.iter().map(|&(name, times)| (name.to_owned(), times)).collect()
    }

    #[test]
    fn every_call_is_counted_once() {
        let wanted = calls(&[("execve", 1), ("exit_group", 1), ("read", 2), ("wait4", 1)]);
        assert_eq!(tally(TRACE), wanted);
    }

    #[test]
    fn a_look_at_another_process_is_seen() {
        assert!(others(TRACE).is_empty());
        let own = "7  readlink(\"/proc/self/exe\", \"/a\"..., 256) = 2\n";
        assert!(others(own).is_empty());
        for path in ["/proc", "/proc/", "/proc/12/stat"] {
            let line = format!("7  openat(AT_FDCWD</>, \"{path}\", O_RDONLY) = 3</proc>");
            assert_eq!(others(&format!("{own}{line}\n")), [line]);
        }
    }

    #[test]
    fn the_table_begins_with_the_most_frequent() {
        assert_eq!(
            table(&calls(&[("brk", 1), ("read", 2), ("mmap", 1)])),
            "| system call | times |\n|---|--:|\n| `read` | 2 |\n| `brk` | 1 |\n| `mmap` | 1 |\n\
             | together | 4 |\n"
        );
    }

    #[test]
    fn a_difference_names_both_counts() {
        let before = calls(&[("brk", 1), ("read", 2)]);
        assert_eq!(difference(&before, &before), None);
        let now = calls(&[("read", 3), ("stat", 1)]);
        let words = difference(&before, &now).unwrap();
        assert_eq!(words, "brk 1 → 0, read 2 → 3, stat 0 → 1");
    }
}

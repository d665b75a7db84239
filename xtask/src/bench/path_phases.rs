//! Profiles the path on which no hook matches: where its time goes.
//!
//! `perf` samples every fifth of a millisecond what the process is doing, over some thousand calls
//! one after another: in its own instructions, or in the kernel, and by which entry point. Sampling
//! has little overhead, whereas tracing each call would take longer than the call.

use std::ffi::OsStr;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::dispatches::{Dispatches, USUAL};
use super::measure::rounded;
use crate::dist::package::SMALL;
use crate::{process, tools};

/// Runs the path repeatedly. Each time with the event from its start: reopening standard input does
/// that.
const LOOP: &str =
    "i=0; while [ $i -lt 3000 ]; do \"$0\" \"$@\" < /dev/stdin || exit; i=$((i+1)); done";
/// The sampling frequency of `perf`, per second.
const FREQUENCY: &str = "5000";
/// Fewer samples than this are meaningless.
const LEAST: usize = 1000;

/// The entry points into the kernel, with the Linux functions at their start. The first match
/// counts, from the innermost function on.
const WAYS: [(&str, &[&str]); 8] = [
    ("page faults: pages loaded or created on first access", &["asm_exc_page_fault"]),
    ("start: the kernel loads the program", &["__x64_sys_execve", "ret_from_fork_asm"]),
    ("looking at files and folders", &["newfstatat", "newstat", "newfstat", "vfs_fstatat"]),
    ("opening and closing files", &["do_sys_openat2", "__x64_sys_open", "__x64_sys_close"]),
    ("reading", &["ksys_read", "__x64_sys_pread64"]),
    ("writing", &["ksys_write", "__x64_sys_flock", "__do_sys_flock"]),
    ("exit: the kernel frees all resources", &["do_exit", "__x64_sys_exit_group"]),
    ("other calls: memory, time, user ids", &["entry_SYSCALL_64_after_hwframe", "do_syscall_64"]),
];
const OWN: &str = "the program's own instructions";

/// A phase that takes a part of the time.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PathPhase {
    pub name: String,
    pub percent: f64,
}

/// Samples and sums up.
pub fn measure(dispatches: &Dispatches) -> Result<Vec<PathPhase>> {
    let perf = tools::on_path("perf").context("perf is missing (Debian package linux-perf)")?;
    let report = dispatches.report();
    let arguments = ["record", "-q", "-g", "-e", "cpu-clock", "-F", FREQUENCY, "-o"];
    let arguments = arguments.iter().map(OsStr::new).chain([report.as_os_str()]);
    let below = ["--", "/bin/sh", "-c", LOOP].map(OsStr::new);
    dispatches.run(dispatches.find(USUAL)?, Some(&perf), arguments.chain(below))?;
    let mut script = Command::new(perf);
    script.args(["script", "--comm", SMALL, "-F", "ip,sym", "-i"]).arg(&report);
    sum_up(&process::output(&mut script)?)
}

/// Prints the table.
pub fn print(stations: &[PathPhase]) {
    print!("\n{}", table(stations));
}

/// The table.
pub fn table(stations: &[PathPhase]) -> String {
    let mut table = "| what | % of the time |\n|---|--:|\n".to_owned();
    for station in stations {
        table.push_str(&format!("| {} | {:.1} |\n", station.name, station.percent));
    }
    table
}

/// Assigns each sample to its entry point, the most frequent first. A sample is a stack, from the
/// innermost function on, and ends with an empty line.
fn sum_up(script: &str) -> Result<Vec<PathPhase>> {
    let mut looks = vec![0_u32; WAYS.len() + 1];
    for stack in script.split("\n\n").filter(|stack| !stack.trim().is_empty()) {
        looks[way(stack).unwrap_or(WAYS.len())] += 1;
    }
    let all: u32 = looks.iter().sum();
    if (all as usize) < LEAST {
        bail!("perf has seen too little: {all} looks");
    }
    if looks[0] == 0 {
        bail!("perf cannot see into the system: run it as root");
    }
    let names = WAYS.iter().map(|(name, _)| *name).chain([OWN]);
    let mut stations: Vec<PathPhase> = names
        .zip(looks)
        .map(|(name, looks)| {
            let percent = f64::from(looks) * 100.0 / f64::from(all);
            PathPhase { name: name.to_owned(), percent: rounded(percent) }
        })
        .collect();
    stations.sort_by(|one, other| other.percent.total_cmp(&one.percent));
    Ok(stations)
}

/// Returns the entry point by which a stack came into the kernel; `None` for the program's own
/// instructions.
fn way(stack: &str) -> Option<usize> {
    stack.lines().find_map(|line| {
        let function = line.split_whitespace().nth(1)?;
        WAYS.iter().position(|(_, functions)| {
            let bare = function.strip_prefix("__do_sys_").or(function.strip_prefix("__x64_sys_"));
            functions.iter().any(|known| function == *known || bare == Some(known))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_belongs_to_the_innermost_way() {
        let fault_in_a_call = "  ff1 clear_page\n  ff2 asm_exc_page_fault\n  ff3 ksys_read\n";
        assert_eq!(way(fault_in_a_call), Some(0));
        assert_eq!(
            way("  ff1 mas_walk\n  ff2 __do_sys_newfstatat\n  ff3 do_syscall_64\n"),
            Some(2)
        );
        assert_eq!(way("  ff1 do_sys_poll\n  ff3 do_syscall_64\n"), Some(7));
        assert_eq!(way("  401 memcpy\n  402 main\n"), None);
    }

    #[test]
    fn the_table_begins_with_what_takes_most() {
        let own = "  401 memcpy\n\n".repeat(900);
        let pages = "  ff2 asm_exc_page_fault\n\n".repeat(300);
        let stations = sum_up(&(own.clone() + &pages)).unwrap();
        let table = table(&stations);
        assert!(
            table.contains("|---|--:|\n| the program's own instructions | 75.0 |\n"),
            "{table}"
        );
        assert!(sum_up(&own).is_err(), "too little");
        assert!(sum_up(&own.repeat(2)).is_err(), "nothing of the system");
    }
}

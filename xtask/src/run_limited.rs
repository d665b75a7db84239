//! `xtask keep REPORT SECONDS PROGRAM …`: runs a program with a time limit, and kills and names
//! every process that outlives it.
//!
//! A test that leaves a process behind slows down, or breaks, what comes after it. Suites run their
//! programs through this: orphans are reparented to the nearest subreaper, so everything that the
//! program has started remains a descendant of ours as long as it lives.
//!
//! It is a process of its own because it has to reap every orphan at once (tests wait for processes
//! to be gone, and a zombie is not), which would take the exit codes of a process's own children.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, pidfd_send_signal,
    set_child_subreaper,
};

/// The task's name. It is not in the help: it is for internal use.
pub const TASK: &str = "keep";

/// How long processes that were just told to end may take.
const GRACE: Duration = Duration::from_secs(10);
/// How long to wait for killed processes.
const GONE_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The exit code for a program that took too long, as with `timeout`.
pub const TOO_LONG: u8 = 124;

/// Programs that build tools start once and share.
const SHARED: [&str; 1] = ["sccache"];

/// Returns a command that runs this program again, with another task.
pub fn ourselves() -> Command {
    // Not the path: cargo may have replaced the program there since we were started.
    Command::new("/proc/self/exe")
}

/// Returns a command that runs another one with a time limit and writes which processes it leaves
/// behind to a file.
///
/// It inherits the command's arguments, working folder and variables, and our own streams.
pub fn kept(command: &Command, report: &Path, limit: Duration) -> Command {
    let mut keeper = ourselves();
    keeper.arg(TASK).arg(report).arg(limit.as_secs().to_string());
    keeper.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        keeper.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => keeper.env(name, value),
            None => keeper.env_remove(name),
        };
    }
    keeper
}

/// Runs the task: exits as the program does.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let [report, seconds, program, rest @ ..] = arguments else {
        bail!("usage: keep REPORT SECONDS PROGRAM …")
    };
    let limit = seconds.to_str().and_then(|seconds| seconds.parse().ok());
    let limit = Duration::from_secs(limit.context("SECONDS is not a whole number")?);
    set_child_subreaper(Some(rustix::process::getpid()))?;
    let child = Command::new(program).args(rest).spawn();
    let child = child.with_context(|| format!("{} cannot be started", program.display()))?;
    let status = wait_for(Pid::from_child(&child), limit)?;
    // After a timeout there is no grace period.
    let left = end_what_is_left(if status.is_some() { GRACE } else { Duration::ZERO });
    fs::write(report, left).with_context(|| format!("{} cannot be written", report.display()))?;
    Ok(status.map_or(ExitCode::from(TOO_LONG), exit_code))
}

/// Waits for the program, reaping every orphan meanwhile; `None` if it took too long and was
/// killed.
fn wait_for(child: Pid, limit: Duration) -> Result<Option<WaitStatus>> {
    // A handle, not the id, which may be reused once this process is reaped.
    let handle = pidfd_open(child, PidfdFlags::empty())?;
    let (ended, end) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        let took_too_long = end.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        if took_too_long {
            // It may be gone by now.
            let _ = pidfd_send_signal(&handle, Signal::KILL);
        }
        took_too_long
    });
    let status = loop {
        match rustix::process::wait(WaitOptions::empty())? {
            Some((pid, status)) if pid == child => break status,
            _ => {}
        }
    };
    drop(ended);
    Ok((!watch.join().unwrap_or_default()).then_some(status))
}

/// Waits for all descendants to end, kills those that do not, and names them, one per line.
fn end_what_is_left(grace: Duration) -> String {
    let left = wait_for_none(grace);
    let mut lines = String::new();
    for process in &left {
        let _ = writeln!(lines, "pid {}: {}", process.pid, process.command_line());
    }
    let until = Instant::now() + GONE_WITHIN;
    let mut left = left;
    while !left.is_empty() && Instant::now() < until {
        for pid in left.iter().filter_map(|process| Pid::from_raw(process.pid)) {
            // It may be gone by now.
            let _ = kill_process(pid, Signal::KILL);
        }
        // Processes they have started since become ours.
        left = wait_for_none(LOOK_EVERY);
    }
    lines
}

/// Returns the descendants that still exist after the limit.
fn wait_for_none(limit: Duration) -> Vec<Process> {
    let until = Instant::now() + limit;
    loop {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        let left = descendants();
        if left.is_empty() || Instant::now() >= until {
            // What died since the last check would be left to a process that may not reap it soon.
            while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
            return left;
        }
        sleep(LOOK_EVERY);
    }
}

/// The relevant fields of a process.
#[derive(Debug)]
struct Process {
    pid: i32,
    parent: i32,
    name: String,
    is_dead: bool,
}

impl Process {
    /// Parses the line in `/proc/PID/stat`.
    fn parse(stat: &str) -> Option<Self> {
        // The name is in parentheses and may contain some itself.
        let (before, after) = (stat.split_once(" (")?, stat.rsplit_once(") ")?.1);
        let name = before.1.rsplit_once(") ")?.0.to_owned();
        let mut fields = after.split(' ');
        let is_dead = matches!(fields.next()?, "Z" | "X");
        Some(Self {
            pid: before.0.parse().ok()?,
            parent: fields.next()?.parse().ok()?,
            name,
            is_dead,
        })
    }

    /// Returns its command line, or its name if that is not available.
    fn command_line(&self) -> String {
        let line = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.trim().is_empty() { format!("({})", self.name) } else { line.trim().to_owned() }
    }
}

/// Returns all living descendants of ours that are not shared.
fn descendants() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let stat = |entry: fs::DirEntry| fs::read(entry.path().join("stat")).ok();
    let all = entries.filter_map(stat);
    let all = all.filter_map(|stat| Process::parse(&String::from_utf8_lossy(&stat))).collect();
    below(i32::try_from(std::process::id()).unwrap_or(0), all)
}

fn below(top: i32, all: Vec<Process>) -> Vec<Process> {
    let mut family = HashSet::from([top]);
    // A child may come before its parent in the list.
    loop {
        let before = family.len();
        for process in &all {
            if family.contains(&process.parent) && !SHARED.contains(&process.name.as_str()) {
                family.insert(process.pid);
            }
        }
        if family.len() == before {
            break;
        }
    }
    family.remove(&top);
    all.into_iter().filter(|process| !process.is_dead && family.contains(&process.pid)).collect()
}

fn exit_code(status: WaitStatus) -> ExitCode {
    // As in a shell, where a signal gives 128 plus its number.
    let code = status.exit_status().or_else(|| Some(128 + status.terminating_signal()?));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(stat: &str) -> Process {
        Process::parse(stat).unwrap()
    }

    #[test]
    fn a_line_is_read_whatever_the_name_is() {
        let read = process("12 (a) S (b) R 3 12 12 0 -1");
        assert_eq!((read.pid, read.parent, read.name.as_str()), (12, 3, "a) S (b"));
        assert!(process("12 (sh) Z 3 12 12").is_dead);
        assert!(Process::parse("12 (sh").is_none());
    }

    #[test]
    fn descendants_are_found_in_any_order_but_for_the_dead_and_the_shared() {
        let all = ["9 (sh) S 8 ", "8 (sh) S 5 ", "7 (sh) Z 5 ", "6 (sccache) S 5 ", "4 (sh) S 1 "];
        let found = below(5, all.into_iter().map(process).collect());
        assert_eq!(found.iter().map(|process| process.pid).collect::<Vec<_>>(), [9, 8]);
    }
}

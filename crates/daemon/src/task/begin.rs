//! Starts the supervisor of a task, and stops it.

use std::io::{self, Read};
use std::path::{Path, absolute};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhook_engine::process_name;
use anyhook_engine::run::descendants::{ASIDE, MARK};
use anyhook_engine::run::{detached, process_tree};
use anyhook_model::ProcessName;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

use super::claim::{TaskClaim, TaskOwner};
use super::{
    ARGUMENT, SHUTDOWN_GRACE, TASK_VERSION, TaskError, TaskResult, TaskStatus, claim, make_folder,
    read, status, write_json,
};
use crate::failpoints;

/// How long to wait for a supervisor to claim its task.
const LIMIT: Duration = Duration::from_secs(10);
/// What a supervisor prints when it has claimed the task.
pub(crate) const CLAIMED: &[u8] = b"+";
/// The maximum length of its error message, which is one line.
const WORDS: u64 = 4096;

/// Starts a task, and returns when a supervisor has claimed it. Does nothing if it was already
/// started.
pub fn begin(folder: &Path, binary: &Path) -> Result<(), TaskError> {
    if claim::is_there(folder) {
        return Ok(());
    }
    let folder = &absolute(folder).map_err(TaskError::file(folder))?;
    if read(folder)?.terminal {
        return Err(TaskError::NeedsTerminal(folder.clone()));
    }
    let not_begun = |why: String| TaskError::NotBegun { folder: folder.clone(), why };
    let (answer, tell) = io::pipe().map_err(|error| not_begun(error.to_string()))?;
    // It calls `setsid` itself, which would fail for the leader of a process group.
    let supervisor = Command::new(binary)
        .arg(ARGUMENT)
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(tell)
        .stderr(Stdio::null())
        .env(MARK, ASIDE)
        .current_dir("/")
        .spawn()
        .map_err(|error| not_begun(format!("`{}`: {error}", binary.display())))?;
    detached::remember_detached(supervisor);
    failpoints::point("task.begin.started");
    let said = first_words(answer);
    // What matters is the claim, whoever made it.
    if claim::is_there(folder) {
        return Ok(());
    }
    Err(not_begun(match said {
        Ok(words) if words.is_empty() => "its supervisor exited".to_owned(),
        Ok(words) => words,
        Err(error) => format!("its supervisor does not answer: {error}"),
    }))
}

/// Returns what a supervisor prints first: that it has claimed the task, or why not.
pub(crate) fn first_words(mut answer: io::PipeReader) -> io::Result<String> {
    let until = Instant::now() + LIMIT;
    let mut words = Vec::new();
    while !words.starts_with(CLAIMED) {
        let left = until.saturating_duration_since(Instant::now());
        let mut descriptors = [PollFd::new(&answer, PollFlags::IN)];
        match poll(&mut descriptors, Timespec::try_from(left).ok().as_ref()) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        let mut bytes = [0; 256];
        match answer.read(&mut bytes)? {
            0 => break,
            length if words.len() as u64 <= WORDS => words.extend_from_slice(&bytes[..length]),
            _ => {}
        }
    }
    Ok(String::from_utf8_lossy(&words).trim().to_owned())
}

/// Ends a task with all processes it has started; its supervisor then exits. A task that was not
/// started never will be, and if its supervisor is gone, the processes left behind are ended here.
pub fn stop(folder: &Path) -> Result<(), TaskError> {
    match status(folder)? {
        TaskStatus::Running(process) => signal(&process, Signal::TERM),
        TaskStatus::NotBegun => return forbid(folder),
        TaskStatus::InDoubt => return end_leftovers(folder).map(drop),
        TaskStatus::Ended(_) => {}
    }
    Ok(())
}

/// Ends the processes that a killed supervisor has left running, within seconds. Does nothing if
/// the task is not in doubt. Returns whether all of them are gone.
///
/// They are identified only by their mark: so any process may call this, at any later time, and no
/// other process is affected. A process that has cleared its environment and lost its parents is
/// not found; nor is any where the system does not show environments.
pub fn end_leftovers(folder: &Path) -> Result<bool, TaskError> {
    if status(folder)? != TaskStatus::InDoubt {
        return Ok(true);
    }
    let mark = claim::owner(folder)?.and_then(|owner| owner.mark);
    Ok(cfg!(target_os = "linux")
        && mark.is_some_and(|mark| process_tree::end_marked(&mark, SHUTDOWN_GRACE)))
}

/// Claims the task like a supervisor, so that none can start it any more.
fn forbid(folder: &Path) -> Result<(), TaskError> {
    make_folder(folder)?;
    let Some(_claim) =
        TaskClaim::make(folder, &TaskOwner::ours(None)).map_err(TaskError::file(folder))?
    else {
        // A supervisor was faster.
        return stop(folder);
    };
    let ended = TaskResult {
        v: TASK_VERSION,
        code: None,
        signal: None,
        timed_out: false,
        killed: true,
        why: None,
        at: anyhook_engine::now(),
    };
    write_json(&folder.join("ended"), &ended)
}

/// Sends a signal to a running supervisor, if it is still that process.
pub(crate) fn signal(process: &ProcessName, signal: Signal) {
    let is_it = match process_name::of(process.pid) {
        Some(now) => now == *process,
        // If the system cannot confirm it, its lock has shown that it is alive.
        None => !cfg!(target_os = "linux"),
    };
    let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
    if let (true, Some(pid)) = (is_it, pid) {
        let _ = kill_process(pid, signal);
    }
}

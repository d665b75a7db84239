//! Detached hooks: started in the background, not waited for, journaled when they end.
//!
//! A detached hook outlives us, and still has its time limit and its line in the journal. So
//! another process of ours supervises it: it gets a [`DetachedJob`] on standard input and has a
//! process group of its own, out of reach for a host that ends ours.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhook_model::{Record, StdoutUse};
use serde::{Deserialize, Serialize};

use super::descendants::{ASIDE, MARK};
use super::environment::of_places;
use super::process::{ProcessCommand, ProcessRunner};
use crate::atomic_file;
use crate::dispatch::RunResult;
use crate::failure_streak;
use crate::journal::Journal;
use crate::output::interpret;
use crate::places::Places;
use crate::settings::JournalSettings;

/// The argument that makes the program supervise a job.
pub const ARGUMENT: &str = "__detached";

/// The argument that makes the program seal and drop segments of the journal.
pub const KEEPER: &str = "__keep";

/// One hook to run detached.
#[derive(Debug, Serialize, Deserialize)]
pub struct DetachedJob {
    /// What to start.
    pub command: ProcessCommand,
    /// Its standard input.
    pub input: String,
    /// The timeout in milliseconds.
    pub limit_ms: u64,
    /// How its output is read.
    pub stdout: StdoutUse,
    /// The state folder, for the journal.
    pub state: Option<OsString>,
    /// How the journal is kept.
    pub journal: JournalSettings,
    /// The record to complete: one run, still without outcome.
    pub record: Record,
}

/// Starts a process of ours that supervises the job. Does not wait.
pub fn launch(binary: &Path, job: &DetachedJob) -> io::Result<()> {
    let mut file = scratch_file()?;
    serde_json::to_writer(io::BufWriter::new(&mut file), job)?;
    file.rewind()?;
    start(binary, ARGUMENT, file.into(), Vec::new())
}

/// Starts a process of ours that seals closed segments of the journal. Does not wait.
pub fn launch_retention(binary: &Path, places: &Places) -> io::Result<()> {
    start(binary, KEEPER, Stdio::null(), of_places(places))
}

fn start(
    binary: &Path,
    argument: &str,
    stdin: Stdio,
    variables: Vec<(OsString, OsString)>,
) -> io::Result<()> {
    std::process::Command::new(binary)
        .arg(argument)
        .stdin(stdin)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Not part of the run that started us: ending that run must not end this.
        .env(MARK, ASIDE)
        .envs(variables)
        .current_dir("/")
        .process_group(0)
        .spawn()
        .map(remember_detached)
}

/// Remembers a process that is not waited for, until [`reap`] finds that it has ended.
pub fn remember_detached(child: Child) {
    reap();
    launched().push(child);
}

/// Reaps the ended processes that we started: in a long-lived process each would stay in the
/// process table as a zombie. Other children are not touched.
pub fn reap() {
    launched().retain_mut(|child| matches!(child.try_wait(), Ok(None)));
}

fn launched() -> MutexGuard<'static, Vec<Child>> {
    static LAUNCHED: Mutex<Vec<Child>> = Mutex::new(Vec::new());
    LAUNCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a file without a name.
pub fn scratch_file() -> io::Result<File> {
    #[cfg(target_os = "linux")]
    if let Ok(fd) = rustix::fs::memfd_create("anyhook-job", rustix::fs::MemfdFlags::CLOEXEC) {
        return Ok(File::from(fd));
    }
    atomic_file::anonymous_temp_file()
}

/// Completes the record of a detached hook.
pub fn complete(record: &mut Record, stdout: StdoutUse, result: RunResult) {
    record.took_us = u64::try_from(result.took.as_micros()).unwrap_or(u64::MAX);
    if let Some(run) = record.runs.first_mut() {
        let RunResult { outcome, stdout: printed, stderr, .. } = &result;
        let said = interpret(&run.hook, &record.event, stdout, outcome, printed, stderr);
        run.outcome = Some(result.outcome);
        run.decision = said.decision;
        run.failure = said.failure;
        run.notes = said.notes;
        run.stdout = result.stdout;
        run.stderr = result.stderr;
        run.took_us = record.took_us;
    }
}

/// Supervises the job on `input`: runs it, then journals its outcome.
pub fn look_after(mut input: impl Read) -> io::Result<()> {
    let mut text = Vec::new();
    input.read_to_end(&mut text)?;
    let DetachedJob { command, input, limit_ms, stdout, state, journal, mut record } =
        serde_json::from_slice(&text)?;
    drop(text);
    let result = ProcessRunner::adopting().run(&command, &input, Duration::from_millis(limit_ms));
    complete(&mut record, stdout, result);
    match state {
        // The process that closes the next segment does the pending work for this one.
        Some(state) => {
            let state = Path::new(&state);
            record.runs.iter().for_each(|run| failure_streak::remember(state, run));
            Journal::with(state, journal).append(vec![record]).map(drop)
        }
        None => Ok(()),
    }
}

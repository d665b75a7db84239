//! One run of a hook's program: starts it, feeds its input, reads its output, and answers in time.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhook_model::RunOutcome;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::capture::Capture;
use super::descendants::{MARK, RunFamily, adopt_orphans, own_children};
use super::environment::{Inherits, SYSTEM_PATH, find_program};
use super::interruption::{Interruption, IsIgnored};
use crate::dispatch::RunResult;
use crate::hook::EntryPoint;
use crate::script_check;

/// The time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(100);
/// The answer comes at most this long after a run's limit.
const END_WITHIN: Duration = Duration::from_millis(200);
/// The polling interval where the system cannot wake us.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// A script that is being written cannot be started; editors and copies are quick.
const BUSY_TRIES: u32 = 10;
/// The maximum capacity of a pipe, so after the exit no more can be waiting in it.
const PIPE_MOST: usize = 1024 * 1024;

/// What is to be started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProcessCommand {
    /// The program: a script, or the interpreter that reads it.
    program: OsString,
    arguments: Vec<OsString>,
    work_dir: OsString,
    inherits: Inherits,
    environment: Vec<(OsString, OsString)>,
}

impl ProcessCommand {
    /// Makes the command for a hook's entry.
    pub fn new(
        entry: &EntryPoint,
        work_dir: PathBuf,
        inherits: Inherits,
        environment: Vec<(OsString, OsString)>,
    ) -> Self {
        let script = entry.script.clone().into_os_string();
        let (program, arguments) = match entry.interpreter {
            Some(interpreter) => (interpreter.into(), vec![script]),
            None => (script, Vec::new()),
        };
        Self { program, arguments, work_dir: work_dir.into_os_string(), inherits, environment }
    }

    /// Makes the command for a program that is not a hook.
    pub fn of_program(
        program: OsString,
        arguments: Vec<OsString>,
        work_dir: PathBuf,
        environment: Vec<(OsString, OsString)>,
    ) -> Self {
        let work_dir = work_dir.into_os_string();
        Self { program, arguments, work_dir, inherits: Inherits::All, environment }
    }

    /// Starts it in a process group of its own. The standard library uses `posix_spawn` for this,
    /// whose cost does not depend on our size.
    fn spawn(&self, mark: &str) -> io::Result<Child> {
        let inherited = self.inherits.variables();
        let mut command = std::process::Command::new(self.found_program(&inherited));
        command
            .args(&self.arguments)
            .current_dir(&self.work_dir)
            .env_clear()
            .envs(inherited)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env(MARK, mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut tries = 0;
        loop {
            match command.spawn() {
                Err(error)
                    if error.kind() == ErrorKind::ExecutableFileBusy && tries < BUSY_TRIES =>
                {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(2));
                }
                result => return result,
            }
        }
    }
}

impl ProcessCommand {
    /// Returns the program's path: found in the `PATH` it will have itself, and given as a path
    /// because the standard library uses the fast way of starting only for a path.
    fn found_program<'a>(&'a self, inherited: &'a [(OsString, OsString)]) -> Cow<'a, OsStr> {
        if self.program.as_bytes().contains(&b'/') {
            return Cow::Borrowed(&self.program);
        }
        let given = self.environment.iter().rev().chain(inherited);
        let path = given.into_iter().find(|(name, _)| name == "PATH").map(|(_, value)| value);
        let path = path.map_or(OsStr::new(SYSTEM_PATH), OsString::as_os_str);
        match find_program(&self.program, path) {
            Some(found) => Cow::Owned(found.into_os_string()),
            None => Cow::Borrowed(&self.program),
        }
    }
}

/// Runs commands one after another.
#[derive(Debug, Default)]
pub struct ProcessRunner {
    /// Whether to adopt orphans of our descendants.
    adopts_orphans: bool,
    /// Whether they are adopted already.
    adopts_now: Cell<bool>,
    /// The marks of earlier runs.
    marks: RefCell<Vec<String>>,
    /// Determines which signals are ignored, if a signal that asks us to end ends the run first.
    heeds_signals: Option<IsIgnored>,
    /// Listens for such signals, from the first run on.
    interruption: OnceCell<Option<Interruption>>,
}

impl ProcessRunner {
    /// Makes a runner that adopts orphans of its runs, from the first run on.
    pub fn adopting() -> Self {
        Self { adopts_orphans: true, ..Self::default() }
    }

    /// Makes a signal that asks this process to end (INT, TERM, HUP) end the run first; further
    /// runs are not started. What happens to the process then is up to the caller
    /// ([`Self::interrupted`]).
    pub fn heed_signals(&mut self, is_ignored: IsIgnored) {
        self.heeds_signals = Some(is_ignored);
    }

    /// Returns the signal that has asked this process to end since the first run, if any.
    pub fn interrupted(&self) -> Option<i32> {
        self.interruption.get()?.as_ref()?.signal()
    }

    /// Runs a command until it ends or its time limit is reached.
    pub fn run(&self, command: &ProcessCommand, input: &str, limit: Duration) -> RunResult {
        let began = Instant::now();
        // Most of our processes run nothing, and need none of this.
        if self.adopts_orphans && !self.adopts_now.replace(true) {
            adopt_orphans();
            keep_exit_codes();
        }
        let interruption = self.heeds_signals.and_then(|ignored| {
            self.interruption.get_or_init(|| Interruption::listen(ignored)).as_ref()
        });
        if let Some(signal) = self.interrupted() {
            return RunResult {
                outcome: RunOutcome::Interrupted(signal),
                ..RunResult::not_started("")
            };
        }
        let strangers = self.adopts_orphans.then(own_children);
        let mark = new_mark();
        let child = match command.spawn(&mark) {
            Ok(child) => child,
            Err(error) => {
                return RunResult {
                    took: began.elapsed(),
                    ..RunResult::not_started(start_error(command, &error))
                };
            }
        };
        let run = Run::new(
            child,
            RunFamily { leader: Pid::INIT, mark, strangers, earlier: self.marks.borrow().clone() },
        );
        self.marks.borrow_mut().push(run.family.mark.clone());
        let (outcome, stdout, stderr) =
            run.drive(input.as_bytes(), began + limit, limit, interruption);
        RunResult {
            outcome,
            stdout: stdout.into_text(),
            stderr: stderr.into_text(),
            took: began.elapsed(),
        }
    }
}

/// Makes sure that exit codes reach us, even if our parent ignores SIGCHLD.
pub fn keep_exit_codes() {
    // Any handler will do: the system discards exit codes only while the signal is ignored.
    let _ =
        signal_hook::flag::register(signal_hook::consts::SIGCHLD, Arc::new(AtomicBool::new(false)));
}

/// Says why a command could not be started, and what was tried.
fn start_error(command: &ProcessCommand, error: &io::Error) -> String {
    let program = Path::new(&command.program);
    let work_dir = Path::new(&command.work_dir);
    let shown = program.display();
    if !work_dir.is_dir() {
        return format!("its working directory does not exist: {}", work_dir.display());
    }
    match (error.kind(), command.arguments.first()) {
        (ErrorKind::NotFound, Some(_))
            if matches!(command.inherits, Inherits::Clean(_)) && !program.is_absolute() =>
        {
            format!(
                "`{shown}` is not on a guard's PATH; run `anyhook install` to record yours, or set `env: [PATH]` in HOOK.md to use the agent's"
            )
        }
        (ErrorKind::NotFound, Some(script)) if !program.is_absolute() => {
            format!("`{shown}` not found; it is needed to run {}", script.display())
        }
        (ErrorKind::NotFound, _) if program.symlink_metadata().is_err() => {
            format!("not found: {shown}")
        }
        (kind, _) => {
            let why = script_check::unstartable(program).unwrap_or_else(|| match kind {
                ErrorKind::PermissionDenied => "it is not executable".to_owned(),
                _ => error.to_string(),
            });
            format!("{why}: {shown}")
        }
    }
}

/// Makes a value that marks one run.
fn new_mark() -> String {
    format!("{:016x}", random_bits())
}

/// Returns random bits for a name, not for a secret.
pub(crate) fn random_bits() -> u64 {
    // What hash tables are seeded with: the process has already asked the system for it.
    RandomState::new().build_hasher().finish()
}

/// A run in progress.
struct Run {
    child: Child,
    family: RunFamily,
    exit_notice: Option<OwnedFd>,
    stdin: Option<std::process::ChildStdin>,
    stdout: Stream<std::process::ChildStdout>,
    stderr: Stream<std::process::ChildStderr>,
}

/// One end of a pipe and what was read from it.
struct Stream<P> {
    pipe: Option<P>,
    kept: Capture,
}

impl<P: Read + AsFd> Stream<P> {
    fn new(pipe: Option<P>) -> Self {
        if let Some(pipe) = &pipe {
            set_nonblocking(pipe.as_fd());
        }
        Self { pipe, kept: Capture::default() }
    }

    /// Reads what is available, at most `most` bytes; closes the pipe at its end.
    fn drain(&mut self, most: usize) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut buffer = [0; 16 * 1024];
        let mut taken = 0;
        while taken < most {
            match pipe.read(&mut buffer) {
                Ok(0) => {
                    self.pipe = None;
                    return;
                }
                Ok(length) => {
                    taken += length;
                    self.kept.push(&buffer[..length]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.pipe = None;
                    return;
                }
            }
        }
    }
}

/// Makes the end of a new pipe non-blocking. It has no other flags that could get lost.
fn set_nonblocking(fd: BorrowedFd<'_>) {
    let _ = rustix::fs::fcntl_setfl(fd, rustix::fs::OFlags::NONBLOCK);
}

impl Run {
    fn new(mut child: Child, mut family: RunFamily) -> Self {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        family.leader = pid.unwrap_or(Pid::INIT);
        let stdin = child.stdin.take();
        if let Some(stdin) = &stdin {
            set_nonblocking(stdin.as_fd());
        }
        Self {
            exit_notice: pid.and_then(exit_notice),
            stdout: Stream::new(child.stdout.take()),
            stderr: Stream::new(child.stderr.take()),
            stdin,
            child,
            family,
        }
    }

    fn drive(
        mut self,
        mut input: &[u8],
        deadline: Instant,
        limit: Duration,
        interruption: Option<&Interruption>,
    ) -> (RunOutcome, Capture, Capture) {
        // The pipe is empty: most inputs fit at once.
        self.write(&mut input);
        let status = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let may_have_ended = self.wait(&mut input, left, interruption);
            let signal = interruption.and_then(Interruption::signal);
            if may_have_ended || left.is_zero() || signal.is_some() {
                match self.child.try_wait() {
                    Ok(Some(status)) => break Some(status),
                    Ok(None) if signal.is_some() || left.is_zero() => break None,
                    Ok(None) => {}
                    Err(error) => {
                        let why = format!("cannot read its exit code: {error}");
                        return (RunOutcome::NotStarted(why), self.stdout.kept, self.stderr.kept);
                    }
                }
            }
        };
        let outcome = if let Some(status) = status {
            // What the script wrote before it ended is in the pipes by now.
            self.stdout.drain(PIPE_MOST);
            self.stderr.drain(PIPE_MOST);
            ended(status, self.stdout.pipe.is_some() || self.stderr.pipe.is_some())
        } else if let Some(signal) = interruption.and_then(Interruption::signal) {
            self.end(Instant::now());
            RunOutcome::Interrupted(signal)
        } else {
            self.end(deadline);
            RunOutcome::TimedOut(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
        };
        (outcome, self.stdout.kept, self.stderr.kept)
    }

    /// Waits until something can be read or written, the child ends, or the time is up; then reads
    /// and writes. Returns whether the child may have ended.
    fn wait(
        &mut self,
        input: &mut &[u8],
        most: Duration,
        interruption: Option<&Interruption>,
    ) -> bool {
        let most = if self.exit_notice.is_some() { most } else { most.min(LOOK_EVERY) };
        let ready = {
            let fds: [Option<(BorrowedFd<'_>, PollFlags)>; 5] = [
                self.exit_notice.as_ref().map(|notice| (notice.as_fd(), PollFlags::IN)),
                self.stdin.as_ref().map(|stdin| (stdin.as_fd(), PollFlags::OUT)),
                self.stdout.pipe.as_ref().map(|stdout| (stdout.as_fd(), PollFlags::IN)),
                self.stderr.pipe.as_ref().map(|stderr| (stderr.as_fd(), PollFlags::IN)),
                interruption.map(|signal| (signal.as_fd(), PollFlags::IN)),
            ];
            ready(fds, most)
        };
        let [ended, writable, stdout, stderr, _] = ready;
        if writable {
            self.write(input);
        }
        if stdout {
            self.stdout.drain(PIPE_MOST);
        }
        if stderr {
            self.stderr.drain(PIPE_MOST);
        }
        ended || self.exit_notice.is_none()
    }

    fn write(&mut self, input: &mut &[u8]) {
        let Some(stdin) = &mut self.stdin else { return };
        while !input.is_empty() {
            match stdin.write(input) {
                Ok(length) => *input = &input[length..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // A script need not read its input.
                Err(_) => *input = &[],
            }
        }
        self.stdin = None;
    }

    /// Ends the child and all its descendants: SIGTERM, a short wait, then SIGKILL.
    fn end(&mut self, deadline: Instant) {
        self.stdin = None;
        self.family.signal(Signal::TERM);
        let grace = deadline + GRACE;
        let last = deadline + END_WITHIN;
        loop {
            let reaped = matches!(self.child.try_wait(), Ok(Some(_)) | Err(_));
            let now = Instant::now();
            if now >= last {
                // On a busy machine the grace period may be over before SIGKILL was sent even once.
                self.family.signal(Signal::KILL);
                self.family.signal(Signal::KILL);
                break;
            }
            let anybody = if now >= grace {
                self.family.signal(Signal::KILL)
            } else {
                !reaped || self.family.signal(Signal::CONT)
            };
            if reaped && !anybody {
                break;
            }
            self.stdout.drain(PIPE_MOST);
            self.stderr.drain(PIPE_MOST);
            std::thread::sleep(LOOK_EVERY);
        }
        self.stdout.drain(PIPE_MOST);
        self.stderr.drain(PIPE_MOST);
    }
}

/// Waits for one of the given descriptors; returns which of them are ready.
fn ready<const COUNT: usize>(
    fds: [Option<(BorrowedFd<'_>, PollFlags)>; COUNT],
    most: Duration,
) -> [bool; COUNT] {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().flatten().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
    // Interrupted or failed: the loop checks by itself.
    let failed = poll(&mut polled, Timespec::try_from(most).ok().as_ref()).is_err();
    let mut polled = polled.iter();
    fds.map(|fd| {
        let is_ready = |fd: &PollFd<'_>| failed || !fd.revents().is_empty();
        fd.is_some() && polled.next().is_some_and(is_ready)
    })
}

/// Returns a descriptor that becomes readable when the process ends, where the system supports it.
fn exit_notice(pid: Pid) -> Option<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = pid;
        None
    }
}

fn ended(status: ExitStatus, pipes_open: bool) -> RunOutcome {
    match (status.code(), status.signal()) {
        (Some(code), _) if pipes_open => RunOutcome::Leaked(code),
        (Some(code), _) => RunOutcome::Exited(code),
        (None, signal) => RunOutcome::Killed(signal.unwrap_or(0)),
    }
}

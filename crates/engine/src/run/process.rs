//! One run of a hook's program: started, fed, drained, and answered in time.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhook_model::Outcome;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::capture::Capture;
use super::descendants::{Family, MARK, adopt_orphans, own_children};
use crate::dispatch::RunResult;
use crate::hook::Entry;

/// Between asking a run to end and ending it.
const GRACE: Duration = Duration::from_millis(100);
/// After a run's limit, the answer comes no later than this.
const END_WITHIN: Duration = Duration::from_millis(200);
/// How often we look where the system cannot wake us.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// A script that is just being written cannot be started; editors and copies are quick.
const BUSY_TRIES: u32 = 10;
/// A pipe holds no more than this, so after the exit no more can be waiting in it.
const PIPE_MOST: usize = 1024 * 1024;

/// What is to be started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Command {
    /// The program: a script, or the interpreter that reads it.
    program: OsString,
    arguments: Vec<OsString>,
    work_dir: OsString,
    environment: Vec<(OsString, OsString)>,
}

impl Command {
    /// Makes the command for a hook's entry.
    pub fn new(entry: &Entry, work_dir: PathBuf, environment: Vec<(OsString, OsString)>) -> Self {
        let script = entry.script.clone().into_os_string();
        let (program, arguments) = match entry.interpreter {
            Some(interpreter) => (interpreter.into(), vec![script]),
            None => (script, Vec::new()),
        };
        Self { program, arguments, work_dir: work_dir.into_os_string(), environment }
    }

    /// Makes the command for a program that is no hook.
    pub fn of_program(
        program: OsString,
        arguments: Vec<OsString>,
        work_dir: PathBuf,
        environment: Vec<(OsString, OsString)>,
    ) -> Self {
        Self { program, arguments, work_dir: work_dir.into_os_string(), environment }
    }

    /// Starts it in a process group of its own. The standard library uses `posix_spawn` for this,
    /// which costs the same however large we are.
    fn spawn(&self, mark: &str) -> io::Result<Child> {
        let mut command = std::process::Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(&self.work_dir)
            // A hook inside a hook must not take the outer one's tool for its own.
            .env_remove("ANYHOOK_TOOL")
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

/// Runs commands one after another.
#[derive(Debug, Default)]
pub struct Runner {
    /// Whether orphans of our descendants come to us.
    adopts_orphans: bool,
    /// Whether they do by now.
    adopts_now: Cell<bool>,
    /// The marks of the runs so far.
    marks: RefCell<Vec<String>>,
}

impl Runner {
    /// Makes a runner to which orphans of its runs come, from the first run on.
    pub fn adopting() -> Self {
        Self { adopts_orphans: true, ..Self::default() }
    }

    /// Runs a command to its end, or to the end of its time.
    pub fn run(&self, command: &Command, input: &str, limit: Duration) -> RunResult {
        let began = Instant::now();
        // Most processes of ours run nothing, and need nothing of this.
        if self.adopts_orphans && !self.adopts_now.replace(true) {
            adopt_orphans();
            keep_exit_codes();
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
            Family { leader: Pid::INIT, mark, strangers, earlier: self.marks.borrow().clone() },
        );
        self.marks.borrow_mut().push(run.family.mark.clone());
        let (outcome, stdout, stderr) = run.drive(input.as_bytes(), began + limit, limit);
        RunResult {
            outcome,
            stdout: stdout.into_text(),
            stderr: stderr.into_text(),
            took: began.elapsed(),
        }
    }
}

/// Makes sure that exit codes reach us, also where whoever started us ignores the end of children.
pub fn keep_exit_codes() {
    // Any handler will do: the system throws exit codes away only while the signal is ignored.
    let _ =
        signal_hook::flag::register(signal_hook::consts::SIGCHLD, Arc::new(AtomicBool::new(false)));
}

/// Says why a command could not be started, and what was tried.
fn start_error(command: &Command, error: &io::Error) -> String {
    let program = command.program.to_string_lossy();
    match error.kind() {
        ErrorKind::NotFound => {
            format!("`{program}`, its interpreter or its working directory is not there")
        }
        _ => format!("`{program}`: {error}"),
    }
}

/// Makes a value that marks one run.
fn new_mark() -> String {
    format!("{:016x}", random_bits())
}

/// Returns random bits for a name: not for a secret.
pub(crate) fn random_bits() -> u64 {
    // What hash tables are seeded with: the process has asked the system for it already.
    RandomState::new().build_hasher().finish()
}

/// A run under way.
struct Run {
    child: Child,
    family: Family,
    exit_notice: Option<OwnedFd>,
    stdin: Option<std::process::ChildStdin>,
    stdout: Stream<std::process::ChildStdout>,
    stderr: Stream<std::process::ChildStderr>,
}

/// One end of a pipe and what came through it.
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

    /// Reads what is there, at most `most` bytes; closes the pipe at its end.
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

/// Makes the end of a new pipe not wait. It has no other flags that could get lost.
fn set_nonblocking(fd: BorrowedFd<'_>) {
    let _ = rustix::fs::fcntl_setfl(fd, rustix::fs::OFlags::NONBLOCK);
}

impl Run {
    fn new(mut child: Child, mut family: Family) -> Self {
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
    ) -> (Outcome, Capture, Capture) {
        // The pipe is empty: most inputs fit at once.
        self.write(&mut input);
        let status = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let may_have_ended = self.wait(&mut input, left);
            if may_have_ended || left.is_zero() {
                match self.child.try_wait() {
                    Ok(Some(status)) => break Some(status),
                    Ok(None) if left.is_zero() => break None,
                    Ok(None) => {}
                    Err(error) => {
                        let why = format!("its exit code could not be read: {error}");
                        return (Outcome::NotStarted(why), self.stdout.kept, self.stderr.kept);
                    }
                }
            }
        };
        let outcome = if let Some(status) = status {
            // What the script wrote before it ended is in the pipes by now.
            self.stdout.drain(PIPE_MOST);
            self.stderr.drain(PIPE_MOST);
            ended(status, self.stdout.pipe.is_some() || self.stderr.pipe.is_some())
        } else {
            self.end(deadline);
            Outcome::TimedOut(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
        };
        (outcome, self.stdout.kept, self.stderr.kept)
    }

    /// Waits until something can be read or written, or the child ends, or the time is over; then
    /// reads and writes. Returns whether the child may have ended.
    fn wait(&mut self, input: &mut &[u8], most: Duration) -> bool {
        let most = if self.exit_notice.is_some() { most } else { most.min(LOOK_EVERY) };
        let ready = {
            let fds: [Option<(BorrowedFd<'_>, PollFlags)>; 4] = [
                self.exit_notice.as_ref().map(|notice| (notice.as_fd(), PollFlags::IN)),
                self.stdin.as_ref().map(|stdin| (stdin.as_fd(), PollFlags::OUT)),
                self.stdout.pipe.as_ref().map(|stdout| (stdout.as_fd(), PollFlags::IN)),
                self.stderr.pipe.as_ref().map(|stderr| (stderr.as_fd(), PollFlags::IN)),
            ];
            ready(fds, most)
        };
        let [ended, writable, stdout, stderr] = ready;
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

    /// Ends the child and all its descendants: asks, waits a little, then insists.
    fn end(&mut self, deadline: Instant) {
        self.stdin = None;
        self.family.signal(Signal::TERM);
        let grace = deadline + GRACE;
        let last = deadline + END_WITHIN;
        loop {
            let reaped = matches!(self.child.try_wait(), Ok(Some(_)) | Err(_));
            let now = Instant::now();
            if now >= last {
                // On a busy machine the grace may be over before we could insist even once.
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

/// Waits for one of the descriptors that are given; tells which of them are ready.
fn ready<const COUNT: usize>(
    fds: [Option<(BorrowedFd<'_>, PollFlags)>; COUNT],
    most: Duration,
) -> [bool; COUNT] {
    let mut polled: Vec<PollFd<'_>> =
        fds.iter().flatten().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
    // Interrupted or failed: the loop looks for itself.
    let failed = poll(&mut polled, Timespec::try_from(most).ok().as_ref()).is_err();
    let mut polled = polled.iter();
    fds.map(|fd| {
        let is_ready = |fd: &PollFd<'_>| failed || !fd.revents().is_empty();
        fd.is_some() && polled.next().is_some_and(is_ready)
    })
}

/// Returns a descriptor that becomes readable when the process ends, where the system has such.
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

fn ended(status: ExitStatus, pipes_open: bool) -> Outcome {
    match (status.code(), status.signal()) {
        (Some(code), _) if pipes_open => Outcome::Leaked(code),
        (Some(code), _) => Outcome::Exited(code),
        (None, signal) => Outcome::Killed(signal.unwrap_or(0)),
    }
}

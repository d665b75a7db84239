//! One run of a hook's program: started, fed, drained, and answered in time.

use std::cell::RefCell;
use std::ffi::OsString;
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
use super::descendants::{Family, MARK, own_children};
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
    /// Whether orphans of our descendants come to us (see [`super::descendants::adopt_orphans`]).
    pub adopts_orphans: bool,
    /// The marks of the runs so far.
    marks: RefCell<Vec<String>>,
}

impl Runner {
    /// Makes a runner to which orphans of its runs come.
    pub fn adopting() -> Self {
        Self { adopts_orphans: true, ..Self::default() }
    }

    /// Runs a command to its end, or to the end of its time.
    pub fn run(&self, command: &Command, input: &str, limit: Duration) -> RunResult {
        let began = Instant::now();
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

/// Returns random bits; where there are none, the time and our process id.
pub(crate) fn random_bits() -> u64 {
    let mut bytes = [0; 8];
    if getrandom::fill(&mut bytes).is_err() {
        let nanos = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().subsec_nanos();
        return u64::from(nanos) << 32 | u64::from(std::process::id());
    }
    u64::from_le_bytes(bytes)
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

fn set_nonblocking(fd: BorrowedFd<'_>) {
    if let Ok(flags) = rustix::fs::fcntl_getfl(fd) {
        let _ = rustix::fs::fcntl_setfl(fd, flags | rustix::fs::OFlags::NONBLOCK);
    }
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
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) => {}
                Err(error) => {
                    let why = format!("its exit code could not be read: {error}");
                    return (Outcome::NotStarted(why), self.stdout.kept, self.stderr.kept);
                }
            }
            let now = Instant::now();
            if now >= deadline {
                break None;
            }
            self.wait(&mut input, deadline - now);
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

    /// Waits until something can be read or written, or the child ends, or the time is over.
    fn wait(&mut self, input: &mut &[u8], most: Duration) {
        if input.is_empty() {
            // End of file: a script that waits for it can go on.
            self.stdin = None;
        }
        let most = if self.exit_notice.is_some() { most } else { most.min(LOOK_EVERY) };
        {
            let mut fds = Vec::with_capacity(4);
            if let Some(notice) = &self.exit_notice {
                fds.push(PollFd::new(notice, PollFlags::IN));
            }
            if let Some(stdin) = &self.stdin {
                fds.push(PollFd::new(stdin, PollFlags::OUT));
            }
            if let Some(stdout) = &self.stdout.pipe {
                fds.push(PollFd::new(stdout, PollFlags::IN));
            }
            if let Some(stderr) = &self.stderr.pipe {
                fds.push(PollFd::new(stderr, PollFlags::IN));
            }
            // Interrupted or failed: the loop looks for itself.
            let _ = poll(&mut fds, Timespec::try_from(most).ok().as_ref());
        }
        self.write(input);
        self.stdout.drain(PIPE_MOST);
        self.stderr.drain(PIPE_MOST);
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

//! The supervisor: the process that runs one task, and nothing else.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhook_engine::run::descendants::{MARK, RunFamily};
use anyhook_engine::run::process_tree;
use anyhook_engine::{new_id, now};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::{flag, low_level::pipe};

use super::begin::CLAIMED;
use super::claim::{self, TaskClaim, TaskOwner};
use super::output::OutputPipe;
use super::{SHUTDOWN_GRACE, TASK_VERSION, Task, TaskError, TaskResult, read, write_json};
use crate::failpoints;

/// The argument by which the supervisor makes its standard input its controlling terminal.
pub const TAKES_TERMINAL: &str = "terminal";

/// The shell.
const SHELL: &str = "/bin/sh";

/// Variables that describe a terminal: they are valid for the supervisor's own terminal only.
const TERMINAL_VARIABLES: [&str; 11] = [
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TERMCAP",
    "TMUX",
    "TMUX_PANE",
    "STY",
    "WINDOW",
    "COLUMNS",
    "LINES",
];

/// The main function of the supervisor: `__keeper FOLDER`. Returns whether it succeeded.
pub fn main(arguments: &[OsString]) -> bool {
    let Some(folder) = arguments.first() else { return false };
    let takes_terminal = arguments.get(1).is_some_and(|word| word == OsStr::new(TAKES_TERMINAL));
    match keep(Path::new(folder), takes_terminal) {
        Ok(()) => true,
        Err(error) => {
            // The process that started us may have exited.
            let _ = writeln!(io::stdout(), "{error}");
            false
        }
    }
}

/// Runs the task in a folder, if it was not started yet.
fn keep(folder: &Path, takes_terminal: bool) -> Result<(), TaskError> {
    if takes_terminal {
        take_terminal()
            .map_err(|error| TaskError::System { what: "cannot take over the terminal", error })?;
    }
    let task = read(folder)?;
    if !task.terminal {
        // Killing the daemon's processes must not affect us.
        let _ = rustix::process::setsid();
    }
    let signals = Signals::heed(task.terminal)
        .map_err(|error| TaskError::System { what: "cannot handle signals", error })?;
    // Recorded before any process has it: later processes must find what we have started.
    let mark = new_id().to_string();
    let owner = TaskOwner::ours(Some(mark.clone()));
    let claim = TaskClaim::make(folder, &owner).map_err(TaskError::file(&claim::path(folder)))?;
    if !task.terminal {
        let _ = io::stdout().write_all(CLAIMED).and_then(|()| io::stdout().flush());
    }
    let Some(claim) = claim else { return Ok(()) };
    failpoints::point("task.keeper.claimed");
    let ended = run(folder, &task, mark, &signals);
    failpoints::point("task.keeper.over");
    let written = write_json(&folder.join("ended"), &ended);
    failpoints::point("task.keeper.written");
    drop(claim);
    written
}

/// Begins a new session, with standard input as its controlling terminal.
fn take_terminal() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(rustix::process::ioctl_tiocsctty(io::stdin())?)
}

/// The signals a supervisor handles.
struct Signals {
    /// Whether it was told to end.
    stop: Arc<AtomicBool>,
    /// Readable when there was a signal.
    woken: UnixStream,
}

impl Signals {
    /// Installs the handlers. A signal that is ignored would also be ignored by the command, so
    /// each has a handler.
    fn heed(on_terminal: bool) -> io::Result<Self> {
        let (woken, wake) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCHLD] {
            // On a terminal, these keys are for the command, which is in the same process group.
            let is_key = on_terminal && matches!(signal, SIGINT | SIGQUIT);
            if !is_key && !matches!(signal, SIGCHLD | SIGTSTP) {
                flag::register(signal, Arc::clone(&stop))?;
            }
            pipe::register(signal, wake.try_clone()?)?;
        }
        Ok(Self { stop, woken })
    }

    fn say_stop(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// Runs the command to its end.
fn run(folder: &Path, task: &Task, mark: String, signals: &Signals) -> TaskResult {
    let mut ended = TaskResult {
        v: TASK_VERSION,
        code: None,
        signal: None,
        timed_out: false,
        killed: false,
        why: None,
        at: now(),
    };
    if signals.say_stop() {
        ended.killed = true;
        return ended;
    }
    let began = Instant::now();
    let mut running = match Running::start(folder, task, &mark) {
        Ok(running) => running,
        Err(why) => {
            ended.why = Some(why);
            return ended;
        }
    };
    failpoints::point("task.keeper.started");
    let limit = task.timeout_ms.map(Duration::from_millis);
    let status = loop {
        if let Ok(Some(status)) = running.child.try_wait() {
            break Some(status);
        }
        ended.killed = signals.say_stop();
        ended.timed_out = limit.is_some_and(|limit| began.elapsed() >= limit);
        if ended.killed || ended.timed_out {
            break running.end(mark);
        }
        running.wait(signals, limit.map(|limit| limit.saturating_sub(began.elapsed())));
    };
    running.finish();
    ended.code = status.and_then(|status| status.code());
    ended.signal = status.and_then(|status| status.signal());
    ended.at = now();
    ended
}

/// A running command.
struct Running {
    child: Child,
    /// Its output, unless it prints to a terminal.
    printed: Option<OutputPipe>,
}

impl Running {
    /// Starts the command; or returns why it cannot be started.
    fn start(folder: &Path, task: &Task, mark: &str) -> Result<Self, String> {
        let mut command = Command::new(SHELL);
        command
            .args(["-c", &task.text, "sh"])
            .args(&task.arguments)
            .env_clear()
            .envs(environment(task)?)
            .env(MARK, mark)
            .current_dir(&task.cwd);
        let mut printed = None;
        if !task.terminal {
            let no_output = |error: io::Error| format!("cannot store its output: {error}");
            let (pipe, stdout) = io::pipe().map_err(no_output)?;
            let stderr = stdout.try_clone().map_err(no_output)?;
            command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).process_group(0);
            printed = Some(OutputPipe::make(folder, pipe).map_err(no_output)?);
        }
        match command.spawn() {
            Ok(child) => Ok(Self { child, printed }),
            Err(_) if !task.cwd.is_dir() => {
                Err(format!("the folder `{}` does not exist", task.cwd.display()))
            }
            Err(error) => Err(format!("`{SHELL}` cannot be started: {error}")),
        }
    }

    /// Waits for output, a signal, the end of the command, or the timeout.
    fn wait(&mut self, signals: &Signals, most: Option<Duration>) {
        let mut descriptors = vec![PollFd::new(&signals.woken, PollFlags::IN)];
        if let Some(pipe) = self.printed.as_ref().and_then(OutputPipe::pipe) {
            descriptors.push(PollFd::new(pipe, PollFlags::IN));
        }
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        // Interrupted or failed: the loop checks everything itself.
        let _ = poll(&mut descriptors, most.as_ref());
        let mut bytes = [0; 64];
        while matches!(rustix::io::read(&signals.woken, &mut bytes), Ok(1..)) {}
        self.take_output();
    }

    fn take_output(&mut self) {
        if let Some(printed) = &mut self.printed {
            printed.take();
        }
    }

    /// Ends it with all processes it has started.
    fn end(&mut self, mark: String) -> Option<ExitStatus> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let leader = pid.unwrap_or(Pid::INIT);
        let family = RunFamily { leader, mark, strangers: None, earlier: Vec::new() };
        let Self { child, printed } = self;
        process_tree::end_child(child, &family, SHUTDOWN_GRACE, || {
            if let Some(printed) = printed {
                printed.take();
            }
        })
    }

    /// Reads the rest of the output. Does not wait for processes left behind that could still
    /// print.
    fn finish(mut self) {
        self.take_output();
        if let Some(printed) = self.printed {
            printed.finish();
        }
    }
}

/// Returns the command's variables: those in the file, those of its terminal, its own.
fn environment(task: &Task) -> Result<BTreeMap<String, OsString>, String> {
    let path = task.environment.display();
    let bytes = fs::read(&task.environment)
        .map_err(|error| format!("its environment in `{path}` cannot be read: {error}"))?;
    let mut variables: BTreeMap<String, OsString> = serde_json::from_slice(&bytes)
        .map(|kept: BTreeMap<String, String>| {
            kept.into_iter().map(|(name, value)| (name, value.into())).collect()
        })
        .map_err(|error| format!("its environment in `{path}` cannot be read: {error}"))?;
    if task.terminal {
        for name in TERMINAL_VARIABLES {
            match std::env::var_os(name) {
                Some(value) => variables.insert(name.to_owned(), value),
                None => variables.remove(name),
            };
        }
    }
    let own = task.variables.iter().map(|(name, value)| (name.clone(), value.into()));
    variables.extend(own);
    Ok(variables)
}

//! The process of an MCP server: started with a mark, and ended with everything that it has
//! started.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhook_engine::run::descendants::{MARK, RunFamily};
use anyhook_engine::run::process_tree::{ShutdownGrace, end_family};
use anyhook_engine::wait::poll_until;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// Maximum number of bytes of a server's standard error that are kept.
const LAST_WORDS: usize = 4096;
/// A server should end when its input is closed; it has this long to do so.
const FAREWELL: Duration = Duration::from_millis(300);
/// How long it has to end after it is asked to.
const SHUTDOWN_GRACE: ShutdownGrace = ShutdownGrace {
    grace: Duration::from_millis(300),
    insist: Duration::from_secs(2),
    look_every: Duration::from_millis(5),
};

/// How the program of a server is shut down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShutdownMode {
    /// It is asked to end, has a short grace period, and is killed after that. Blocks meanwhile:
    /// for a program that does nothing else.
    #[default]
    Asked,
    /// It is killed. Does not block: for use inside a runtime that is shared with others.
    AtOnce,
}

/// A running program. Dropping it ends it, and everything that it has started.
#[derive(Debug)]
pub(super) struct ServerProcess {
    program: Arc<Program>,
    /// How it ended, as soon as it has.
    ended: watch::Receiver<Option<String>>,
    ending: ShutdownMode,
}

#[derive(Debug)]
struct Program {
    /// `None` as soon as it has been reaped.
    child: Mutex<Option<Child>>,
    family: RunFamily,
}

/// Its standard input and output.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
    pub(super) errors: ChildStderr,
}

impl ServerProcess {
    /// Starts a program. Blocks, and must be called within a runtime.
    pub(super) fn start(mut command: Command, ending: ShutdownMode) -> io::Result<(Self, Pipes)> {
        let mark = anyhook_engine::new_id().to_string();
        let mut child = command
            .env(MARK, &mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let leader = Pid::from_child(&child);
        let family = RunFamily { leader, mark, strangers: None, earlier: Vec::new() };
        let program = Arc::new(Program { child: Mutex::new(Some(child)), family });
        let (sender, ended) = watch::channel(None);
        // From here on, every return path ends it.
        let process = Self { program: program.clone(), ended, ending };
        let reaper = std::thread::Builder::new().name("mcp-server".to_owned());
        if let Err(error) = reaper.spawn(move || program.reap(ending, &sender)) {
            let _ = kill_process_group(leader, Signal::KILL);
            if let Some(mut child) = lock(&process.program.child).take() {
                let _ = child.wait();
            }
            return Err(error);
        }
        let (Some(input), Some(output), Some(errors)) = pipes else {
            return Err(io::Error::other("it has no pipes"));
        };
        let pipes = Pipes {
            input: ChildStdin::from_std(input)?,
            output: ChildStdout::from_std(output)?,
            errors: ChildStderr::from_std(errors)?,
        };
        Ok((process, pipes))
    }

    /// Returns whether it has ended.
    pub(super) fn has_ended(&self) -> bool {
        lock(&self.program.child).is_none()
    }

    /// Waits until it ends, and a little longer for its remaining output.
    ///
    /// The end of its output is not a sign of its end: processes that it started may hold the other
    /// end.
    pub(super) async fn wait(&self) {
        // The reaper reports before it exits.
        let _ = self.ended.clone().wait_for(Option::is_some).await;
        tokio::time::sleep(FAREWELL).await;
    }

    /// Returns how it ended, if it does so soon.
    pub(super) async fn ended(&self) -> Option<String> {
        let mut ended = self.ended.clone();
        let ended = tokio::time::timeout(FAREWELL, ended.wait_for(Option::is_some)).await;
        ended.ok()?.ok()?.clone()
    }

    /// Ends it with all its descendants.
    pub(super) fn end(&self) {
        match self.ending {
            ShutdownMode::Asked => {
                end_family(&self.program.family, SHUTDOWN_GRACE, || self.has_ended());
            }
            // No other process can have its id before it is reaped. The reaper ends the processes
            // that have left its group.
            ShutdownMode::AtOnce if !self.has_ended() => {
                let _ = kill_process_group(self.program.family.leader, Signal::KILL);
            }
            ShutdownMode::AtOnce => {}
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.end();
    }
}

impl Program {
    /// Waits until the program ends, and reaps it: with or without a runtime.
    fn reap(&self, ending: ShutdownMode, told: &watch::Sender<Option<String>>) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let ended = loop {
            match waitid(WaitId::Pid(self.family.leader), options) {
                Err(Errno::INTR) => {}
                ended => break ended.ok().flatten(),
            }
        };
        // Reported before it is reaped: that takes longer if it has left processes behind.
        told.send_replace(Some(ended.as_ref().map_or_else(|| UNKNOWN.to_owned(), how)));
        if ending == ShutdownMode::AtOnce {
            poll_until(Instant::now() + SHUTDOWN_GRACE.insist, SHUTDOWN_GRACE.look_every, || {
                (!self.family.signal(Signal::KILL)).then_some(())
            });
        }
        let mut child = lock(&self.child);
        if let Some(mut child) = child.take() {
            let _ = child.wait();
        }
    }
}

/// How a process ended if the system does not report it.
const UNKNOWN: &str = "for an unknown reason";

fn how(status: &WaitIdStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// The end of a server's standard error; read continuously, so that the server never blocks on it.
#[derive(Debug)]
pub(super) struct StderrTail {
    kept: Arc<Mutex<Vec<u8>>>,
    done: watch::Receiver<bool>,
    reader: AbortHandle,
}

impl StderrTail {
    pub(super) fn of(mut errors: ChildStderr) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (sender, done) = watch::channel(false);
        let keeper = kept.clone();
        let reader = tokio::spawn(async move {
            let mut piece = [0; LAST_WORDS];
            while let Ok(length @ 1..) = errors.read(&mut piece).await {
                let mut kept = lock(&keeper);
                kept.extend_from_slice(&piece[..length]);
                let surplus = kept.len().saturating_sub(LAST_WORDS);
                kept.drain(..surplus);
            }
            sender.send_replace(true);
        });
        Self { kept, done, reader: reader.abort_handle() }
    }

    /// Returns the last output of a server that has ended, if there is any.
    pub(super) async fn hear(&self) -> Option<String> {
        // Output from before it ended may not have arrived yet.
        let mut done = self.done.clone();
        let _ = tokio::time::timeout(FAREWELL, done.wait_for(|done| *done)).await;
        let text = String::from_utf8_lossy(&lock(&self.kept)).into_owned();
        // Escape sequences could manipulate a terminal.
        let tricks = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
        let text = text.replace(tricks, " ").trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

impl Drop for StderrTail {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that holds it can panic in between.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

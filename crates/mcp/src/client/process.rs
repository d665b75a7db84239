//! The program of a server: started with a mark, and ended with all that it has started.

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

/// So much of what a server says on its standard error is kept.
const LAST_WORDS: usize = 4096;
/// The end of its input is a server's sign to end; it has so long to heed it.
const FAREWELL: Duration = Duration::from_millis(300);
/// How long it has to end when it is asked to.
const SHUTDOWN_GRACE: ShutdownGrace = ShutdownGrace {
    grace: Duration::from_millis(300),
    insist: Duration::from_secs(2),
    look_every: Duration::from_millis(5),
};

/// How the program of a server is ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShutdownMode {
    /// It is asked, has a little time, and is killed then. Blocks meanwhile: for a program that does
    /// nothing else.
    #[default]
    Asked,
    /// It is killed. Does not block: for use inside a runtime that others use, too.
    AtOnce,
}

/// A running program. Dropping it ends it, and what it has started.
#[derive(Debug)]
pub(super) struct ServerProcess {
    program: Arc<Program>,
    /// How it ended, as soon as it has.
    ended: watch::Receiver<Option<String>>,
    ending: ShutdownMode,
}

#[derive(Debug)]
struct Program {
    /// `None` as soon as it is off the list of processes.
    child: Mutex<Option<Child>>,
    family: RunFamily,
}

/// What we say to it and hear from it.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
    pub(super) errors: ChildStderr,
}

impl ServerProcess {
    /// Starts a program. Blocks, and must be called where a runtime is.
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
        // From here on, every way out ends it.
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

    /// Tells whether it has ended.
    pub(super) fn has_ended(&self) -> bool {
        lock(&self.program.child).is_none()
    }

    /// Waits for its end, and a little longer for what it said before.
    ///
    /// The end of its output does not tell: what it has started may hold the other end.
    pub(super) async fn wait(&self) {
        // The reaper tells before it goes.
        let _ = self.ended.clone().wait_for(Option::is_some).await;
        tokio::time::sleep(FAREWELL).await;
    }

    /// Returns how it ended, if it does so soon.
    pub(super) async fn ended(&self) -> Option<String> {
        let mut ended = self.ended.clone();
        let ended = tokio::time::timeout(FAREWELL, ended.wait_for(Option::is_some)).await;
        ended.ok()?.ok()?.clone()
    }

    /// Ends it with its family.
    pub(super) fn end(&self) {
        match self.ending {
            ShutdownMode::Asked => {
                end_family(&self.program.family, SHUTDOWN_GRACE, || self.has_ended());
            }
            // No other process can have its number before it is off the list. The reaper ends those
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
    /// Waits for the end of the program, and takes it off the list of processes: with or without a
    /// runtime.
    fn reap(&self, ending: ShutdownMode, told: &watch::Sender<Option<String>>) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let ended = loop {
            match waitid(WaitId::Pid(self.family.leader), options) {
                Err(Errno::INTR) => {}
                ended => break ended.ok().flatten(),
            }
        };
        // Told before it is off the list: that takes longer if it has left processes behind.
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

/// How a process ended of which the system does not tell.
const UNKNOWN: &str = "for an unknown reason";

fn how(status: &WaitIdStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => UNKNOWN.to_owned(),
    }
}

/// The end of what a server says on its standard error; read on and on, so that it never waits for
/// us.
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

    /// Returns the last words of a server that has ended, if it had any.
    pub(super) async fn hear(&self) -> Option<String> {
        // What it said before it ended may still be on its way.
        let mut done = self.done.clone();
        let _ = tokio::time::timeout(FAREWELL, done.wait_for(|done| *done)).await;
        let text = String::from_utf8_lossy(&lock(&self.kept)).into_owned();
        // Colours and the like would trick a terminal.
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
    // Nothing that holds it can panic half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

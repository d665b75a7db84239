//! The program of a server: started with a mark, and ended with all that it has started.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhook_engine::run::descendants::{Family, MARK};
use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

/// So much of what a server says on its standard error is kept.
const LAST_WORDS: usize = 4096;
/// The end of its input is a server's sign to end; it has so long to heed it.
const FAREWELL: Duration = Duration::from_millis(300);
/// Between asking and insisting.
const GRACE: Duration = Duration::from_millis(300);
/// Who is insisted on is gone after this, or waits for the disk.
const INSIST: Duration = Duration::from_secs(2);
/// We look so often who is left.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// While it works, we look so often whether it still runs.
const LOOK_NOW_AND_THEN: Duration = Duration::from_millis(50);

/// A running program. Dropping it ends it, and what it has started.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    family: Family,
}

/// What we say to it and hear from it.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
    pub(super) errors: ChildStderr,
}

impl Process {
    /// Starts a program. There must be a runtime around.
    pub(super) fn start(mut command: Command) -> io::Result<(Self, Pipes)> {
        let mark = anyhook_engine::new_id().to_string();
        let child = command
            .env(MARK, &mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let leader = Pid::from_child(&child);
        let family = Family { leader, mark, strangers: None, earlier: Vec::new() };
        // From here on, every way out ends it.
        let mut process = Self { child, family };
        let child = &mut process.child;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
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

    /// Waits for its end, and a little longer for what it said before.
    ///
    /// The end of its output does not tell: what it has started may hold the other end.
    pub(super) async fn wait(&mut self) {
        while matches!(self.child.try_wait(), Ok(None)) {
            tokio::time::sleep(LOOK_NOW_AND_THEN).await;
        }
        tokio::time::sleep(FAREWELL).await;
    }

    /// Returns how it ended, if it does so soon.
    pub(super) async fn ended(&mut self) -> Option<String> {
        let until = Instant::now() + FAREWELL;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(how(status));
            }
            if Instant::now() >= until {
                return None;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Ends it with its family: asks, waits a little, then insists.
    pub(super) fn end(&mut self) {
        let asked = Instant::now();
        self.family.signal(Signal::TERM);
        loop {
            let is_reaped = matches!(self.child.try_wait(), Ok(Some(_)) | Err(_));
            let waited = asked.elapsed();
            let anybody = if waited >= GRACE {
                self.family.signal(Signal::KILL)
            } else {
                // One that is stopped would not hear us.
                self.family.signal(Signal::CONT)
            };
            if (is_reaped && !anybody) || waited >= GRACE + INSIST {
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// The end of what a server says on its standard error; read on and on, so that it never waits for
/// us.
#[derive(Debug)]
pub(super) struct LastWords {
    kept: Arc<Mutex<Vec<u8>>>,
    reader: tokio::task::JoinHandle<()>,
}

impl LastWords {
    pub(super) fn of(mut errors: ChildStderr) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let keeper = kept.clone();
        let reader = tokio::spawn(async move {
            let mut piece = [0; LAST_WORDS];
            while let Ok(length @ 1..) = errors.read(&mut piece).await {
                let mut kept = lock(&keeper);
                kept.extend_from_slice(&piece[..length]);
                let surplus = kept.len().saturating_sub(LAST_WORDS);
                kept.drain(..surplus);
            }
        });
        Self { kept, reader }
    }

    /// Returns the last words of a server that has ended, if it had any.
    pub(super) async fn hear(&mut self) -> Option<String> {
        // What it said before it ended may still be on its way.
        if !self.reader.is_finished() {
            let _ = tokio::time::timeout(FAREWELL, &mut self.reader).await;
        }
        let text = String::from_utf8_lossy(&lock(&self.kept)).into_owned();
        // Colours and the like would trick a terminal.
        let tricks = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
        let text = text.replace(tricks, " ").trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

impl Drop for LastWords {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that holds it can panic half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

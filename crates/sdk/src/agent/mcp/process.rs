//! The process of a server: its pipes, what it says last, and that it ends with us.

use std::io;
use std::os::unix::process::CommandExt;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// So much of what a server says on its standard error is kept for error messages.
const LAST_WORDS: usize = 1024;
/// So long the rest of them may take to come in.
const LAST_WORDS_WAIT: Duration = Duration::from_millis(200);

/// A process with a group of its own. Dropping it kills the group; a thread of its own takes it off
/// the list of processes when it ends, with or without a runtime.
#[derive(Debug)]
pub(super) struct Process {
    /// `None` as soon as it has ended.
    child: Arc<Mutex<Option<Child>>>,
    leader: Pid,
}

/// What we say to a process and hear from it.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) input: ChildStdin,
    pub(super) output: ChildStdout,
    pub(super) errors: ChildStderr,
}

impl Process {
    /// Starts it. Blocks, and must be called where a runtime is.
    pub(super) fn start(mut command: Command) -> io::Result<(Self, Pipes)> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let leader = Pid::from_child(&child);
        let child = Arc::new(Mutex::new(Some(child)));
        // From here on, every way out ends it.
        let process = Self { child: child.clone(), leader };
        let reaper = std::thread::Builder::new().name("mcp-server".to_owned());
        if let Err(error) = reaper.spawn(move || reap(&child, leader)) {
            process.end();
            if let Some(mut child) = lock(&process.child).take() {
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

    pub(super) fn has_ended(&self) -> bool {
        lock(&self.child).is_none()
    }

    /// Kills it and all that it started in its group.
    pub(super) fn end(&self) {
        // Nobody else can have its number while it is not taken off the list.
        if lock(&self.child).is_some() {
            let _ = kill_process_group(self.leader, Signal::KILL);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for the end of a process, ends what it has left in its group, and takes it off the list.
fn reap(child: &Mutex<Option<Child>>, leader: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(Errno::INTR) = waitid(WaitId::Pid(leader), options) {}
    let mut child = lock(child);
    if let Some(mut ended) = child.take() {
        let _ = kill_process_group(leader, Signal::KILL);
        let _ = ended.wait();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that holds it can panic half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end of what a server says on its standard error. Read to the end, so that the server never
/// waits for us.
#[derive(Debug)]
pub(super) struct LastWords {
    kept: Arc<Mutex<Vec<u8>>>,
    done: watch::Receiver<bool>,
    reader: AbortHandle,
}

impl LastWords {
    pub(super) fn of(mut errors: ChildStderr) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (sender, done) = watch::channel(false);
        let keeper = kept.clone();
        let reader = tokio::spawn(async move {
            let mut piece = [0; 4096];
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
        let mut done = self.done.clone();
        let _ = tokio::time::timeout(LAST_WORDS_WAIT, done.wait_for(|done| *done)).await;
        let text = String::from_utf8_lossy(&lock(&self.kept)).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

impl Drop for LastWords {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Reads lines of a bounded length: a longer one is an error, before it is in memory.
#[derive(Debug)]
pub(super) struct BoundedLines<R> {
    inner: R,
    limit: usize,
    length: usize,
    exceeded: Arc<AtomicBool>,
}

impl<R> BoundedLines<R> {
    /// `exceeded` is set when a line was too long.
    pub(super) fn new(inner: R, limit: usize, exceeded: Arc<AtomicBool>) -> Self {
        Self { inner, limit, length: 0, exceeded }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        for piece in buffer.filled()[before..].split_inclusive(|byte| *byte == b'\n') {
            self.length += piece.len();
            if self.length > self.limit {
                self.exceeded.store(true, Ordering::Relaxed);
                return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
            }
            if piece.ends_with(b"\n") {
                self.length = 0;
            }
        }
        Poll::Ready(Ok(()))
    }
}

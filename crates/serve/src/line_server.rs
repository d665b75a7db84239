//! Lines in, lines out, many at once: what every protocol on standard input and output shares.
//!
//! One thread reads lines ([`lines`](crate::lines)) and puts jobs into a bounded
//! [`queue`](crate::queue); a thread pool does them; answers are written as they become ready
//! ([`answers`](crate::answers)). This file starts the threads and decides when to exit.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhook_hook::panic_hook::survive_panics;
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::answers::{AnswerWriter, RequestInFlight};
use crate::lines::{InputLine, InputLines};
use crate::queue::Queue;

/// How long requests in flight may still take after we are told to exit, or nobody reads the
/// answers.
const END_WITHIN: Duration = Duration::from_secs(5);
/// How many requests may wait for a thread; then reading pauses.
const WAITING_MOST: usize = 256;
/// Pipes are read in chunks of this size.
const PIECE: usize = 64 * 1024;

/// What the main thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// The input is closed, and every thread has finished.
    Done,
    /// The input is closed, and everything has been answered; cancelled requests may still run.
    Answered,
    /// A signal asks us to exit.
    Terminated,
    /// Standard output has no reader any more.
    NobodyListens,
}

/// What a protocol makes of lines.
pub trait LineProtocol: Send + Sync + 'static {
    /// A request that is answered in a thread of its own.
    type Job: Send;
    /// The answer to one.
    type Answer: Serialize;
    /// Lines longer than this are skipped.
    const LINE_LIMIT: usize;

    /// Takes in a line. Returns a request to answer later, and how many bytes it holds; everything
    /// else is answered at once.
    fn take_in(
        &self,
        line: InputLine,
        answers: &AnswerWriter,
    ) -> Option<(RequestInFlight, Self::Job, usize)>;

    /// Answers a request. What takes long may end early once the answer is not wanted any more.
    fn answer(
        &self,
        begun: &RequestInFlight,
        job: &Self::Job,
        is_wanted: &dyn Fn() -> bool,
    ) -> Self::Answer;

    /// Returns the answer to a request at which we have panicked.
    fn fault(&self, begun: &RequestInFlight) -> Self::Answer;
}

/// A request that waits for its turn.
pub type WaitingJob<P> = (RequestInFlight, <P as LineProtocol>::Job);

/// Answers the lines of standard input with that many threads, until everything is answered or
/// nobody reads the answers. Writes `greeting` first, if there is one.
pub fn run<P: LineProtocol>(
    protocol: P,
    threads: usize,
    greeting: Option<&impl Serialize>,
) -> io::Result<()> {
    survive_panics();
    let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let watched = stdout.try_clone()?;

    let protocol = Arc::new(protocol);
    let (notify, notices) = mpsc::channel();
    let answers = Arc::new(AnswerWriter::new(Box::new(stdout), notify.clone()));
    // Of bytes, as many as two of the longest lines.
    let queue = Arc::new(Queue::new(WAITING_MOST, P::LINE_LIMIT * 2));
    if let Some(greeting) = greeting {
        answers.write(greeting);
    }
    tell_of_signals(notify.clone())?;
    tell_of_hang_up(watched, notify.clone());

    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let (protocol, queue, answers) =
                (Arc::clone(&protocol), Arc::clone(&queue), Arc::clone(&answers));
            thread::spawn(move || take_turns(&*protocol, &queue, &answers))
        })
        .collect();
    thread::spawn({
        let (queue, answers) = (Arc::clone(&queue), Arc::clone(&answers));
        move || {
            let stdin = BufReader::with_capacity(PIECE, stdin);
            take_in(&*protocol, stdin, &queue, &answers);
            queue.close();
            answers.end();
        }
    });
    thread::spawn(move || {
        for worker in workers {
            // A thread that has panicked answers nothing more; the others do.
            let _ = worker.join();
        }
        let _ = notify.send(ServerEvent::Done);
    });
    wait_for_the_end(&notices, &queue);
    Ok(())
}

/// Puts every line's request into the queue.
pub fn take_in<P: LineProtocol>(
    protocol: &P,
    input: impl BufRead,
    queue: &Queue<WaitingJob<P>>,
    answers: &AnswerWriter,
) {
    let mut lines = InputLines::new(input, P::LINE_LIMIT);
    while let Some(line) = lines.next() {
        if let Some((begun, job, bytes)) = protocol.take_in(line, answers)
            && !queue.push((begun, job), bytes)
        {
            return;
        }
    }
}

/// Answers one job after another until the queue is closed. A bug of ours ends one job, not the
/// process.
pub fn take_turns<P: LineProtocol>(
    protocol: &P,
    queue: &Queue<WaitingJob<P>>,
    answers: &AnswerWriter,
) {
    while let Some((waiting, bytes)) = queue.pop() {
        let (begun, job) = &waiting;
        let is_wanted = || answers.wants(begun);
        if is_wanted() {
            let answer = catch_unwind(AssertUnwindSafe(|| protocol.answer(begun, job, &is_wanted)));
            answers.finish(begun, &answer.unwrap_or_else(|_| protocol.fault(begun)));
        }
        drop(waiting);
        queue.done(bytes);
    }
}

/// Waits until everything is answered, or until requests in flight had their time after we were
/// told to exit.
fn wait_for_the_end<J>(notices: &Receiver<ServerEvent>, queue: &Queue<J>) {
    let mut until: Option<Instant> = None;
    loop {
        let notice = match until {
            None => notices.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => notices.recv_timeout(until.saturating_duration_since(Instant::now())),
        };
        match notice {
            Ok(ServerEvent::Terminated) if until.is_none() => queue.close(),
            Ok(ServerEvent::NobodyListens) => queue.close_and_clear(),
            Ok(ServerEvent::Answered) => {}
            // Told twice, we do not wait; nor if there is nothing to wait for.
            Ok(ServerEvent::Terminated | ServerEvent::Done) | Err(_) => return,
        }
        until.get_or_insert_with(|| Instant::now() + END_WITHIN);
    }
}

/// Reports SIGTERM and SIGINT.
fn tell_of_signals(notify: Sender<ServerEvent>) -> io::Result<()> {
    let (mut receiver, sender) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(SIGTERM, sender.try_clone()?)?;
    signal_hook::low_level::pipe::register(SIGINT, sender)?;
    thread::spawn(move || {
        let mut byte = [0];
        while receiver.read_exact(&mut byte).is_ok() {
            let _ = notify.send(ServerEvent::Terminated);
        }
    });
    Ok(())
}

/// Reports that the reader of standard output is gone, even while there is nothing to write.
fn tell_of_hang_up(stdout: File, notify: Sender<ServerEvent>) {
    use rustix::event::{PollFd, PollFlags, poll};
    thread::spawn(move || {
        loop {
            let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
            match poll(&mut fds, None) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(_) if fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) => break,
                // If it cannot be watched, writing will fail.
                _ => return,
            }
        }
        let _ = notify.send(ServerEvent::NobodyListens);
    });
}

/// Takes a lock that a panic may have poisoned: the data it guards is always consistent.
pub fn locked<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

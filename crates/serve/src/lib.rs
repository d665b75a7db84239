//! One process for many events, for programs in any language: `anyhook serve --stdio`.
//!
//! One thread reads lines (`lines`) and puts jobs into a bounded `queue`; a thread pool decides
//! (`work`), each event with its own engine; answers are written as they become ready (`answers`).
//! This file starts the threads and decides when to exit.

mod answers;
mod lines;
mod queue;
mod work;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhook_engine::run::process::keep_exit_codes;
use anyhook_hook::environment::Environment;
use anyhook_hook::panic_hook::survive_panics;
use anyhook_model::serve::{
    IncomingLine, LINE_LIMIT, PROTOCOL, RejectedLine, ServeAnswer, ServeError, ServeErrorCode,
    ServeHello, read,
};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::answers::AnswerWriter;
use crate::lines::{InputLine, InputLines};
use crate::queue::Queue;
use crate::work::RequestJob;

/// How long requests in flight may still take after we are told to exit, or nobody reads the
/// answers.
const END_WITHIN: Duration = Duration::from_secs(5);
/// How many requests may wait for a thread; then reading pauses.
const WAITING_MOST: usize = 256;
/// How many bytes of requests may be in memory, unless it is a single line; then reading pauses.
const BYTES_MOST: usize = LINE_LIMIT * 2;
/// Pipes are read in chunks of this size.
const PIECE: usize = 64 * 1024;

/// What the main thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerEvent {
    /// The input is closed, and every thread has finished.
    Done,
    /// The input is closed, and everything has been answered; cancelled requests may still run.
    Answered,
    /// A signal asks us to exit.
    Terminated,
    /// Standard output has no reader any more.
    NobodyListens,
}

/// Decides the events that arrive on standard input, with `jobs` threads or 4 per processor, until
/// everything is answered or nobody reads the answers.
pub fn serve_stdio(jobs: Option<u16>, environment: &Environment) -> io::Result<()> {
    survive_panics();
    keep_exit_codes();
    let threads = jobs.map_or_else(default_threads, usize::from);
    let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let watched = stdout.try_clone()?;

    let (notify, notices) = mpsc::channel();
    let answers = Arc::new(AnswerWriter::new(Box::new(stdout), notify.clone()));
    let queue = Arc::new(Queue::new(WAITING_MOST, BYTES_MOST));
    answers
        .write(&ServeHello { anyhook: env!("CARGO_PKG_VERSION").to_owned(), protocol: PROTOCOL });
    tell_of_signals(notify.clone())?;
    tell_of_hang_up(watched, notify.clone());

    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let (queue, answers) = (Arc::clone(&queue), Arc::clone(&answers));
            let environment = environment.clone();
            thread::spawn(move || {
                take_turns(&queue, &answers, |job| work::answer(job, &environment));
            })
        })
        .collect();
    thread::spawn({
        let (queue, answers) = (Arc::clone(&queue), Arc::clone(&answers));
        move || {
            take_in(InputLines::new(BufReader::with_capacity(PIECE, stdin)), &queue, &answers);
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

fn default_threads() -> usize {
    thread::available_parallelism().map_or(4, |processors| processors.get() * 4)
}

/// Puts every line's request into the queue; answers what is not a request immediately.
fn take_in(
    mut lines: InputLines<impl io::BufRead>,
    queue: &Queue<RequestJob>,
    answers: &AnswerWriter,
) {
    while let Some(line) = lines.next() {
        let incoming = match line {
            InputLine::Whole(line) => read(&line),
            InputLine::TooLong(beginning) => Err(RejectedLine::too_large(&beginning)),
        };
        match incoming {
            Ok(IncomingLine::Asked(asked)) => {
                let Some(begun) = answers.begin(asked.id.clone()) else {
                    answers.refuse(duplicate(asked.id));
                    continue;
                };
                let bytes = asked.body.text().len();
                let job = RequestJob {
                    begun,
                    body: asked.body,
                    about: asked.about,
                    came: Instant::now(),
                };
                if !queue.push(job, bytes) {
                    return;
                }
            }
            Ok(IncomingLine::Cancel(id)) => answers.cancel(&id),
            Err(refused) => answers.refuse(refused),
        }
    }
}

fn duplicate(id: anyhook_model::serve::RequestId) -> RejectedLine {
    let error = ServeError {
        code: ServeErrorCode::DuplicateId,
        message: "a request with this id is still in flight".to_owned(),
        hint: Some("reuse an id only after it has been answered".to_owned()),
    };
    RejectedLine { id: Some(id), error: Box::new(error) }
}

/// Answers one job after another until the queue is closed. A bug of ours ends one job, not the
/// process.
fn take_turns(
    queue: &Queue<RequestJob>,
    answers: &AnswerWriter,
    decide: impl Fn(&RequestJob) -> ServeAnswer,
) {
    while let Some((job, bytes)) = queue.pop() {
        if answers.wants(&job.begun) {
            let answer = catch_unwind(AssertUnwindSafe(|| decide(&job)));
            answers.finish(&job.begun, answer.unwrap_or_else(|_| fault()));
        }
        drop(job);
        queue.done(bytes);
    }
}

fn fault() -> ServeAnswer {
    let error = ServeError {
        code: ServeErrorCode::Fault,
        message: "internal error; see standard error for details".to_owned(),
        hint: Some("please report this with the request".to_owned()),
    };
    ServeAnswer { error: Some(error), ..ServeAnswer::default() }
}

/// Waits until everything is answered, or until requests in flight had their time after we were
/// told to exit.
fn wait_for_the_end(notices: &Receiver<ServerEvent>, queue: &Queue<RequestJob>) {
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
fn locked<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use anyhook_model::serve::ServedVerdict;
    use serde_json::{Value, json};

    use super::*;
    use crate::answers::tests::Written;

    /// Reads lines and decides them with two threads; returns the answers.
    fn serve(lines: &str, decide: impl Fn(&RequestJob) -> ServeAnswer + Sync) -> Vec<Value> {
        let written = Written::default();
        let (notify, _notices) = mpsc::channel();
        let answers = AnswerWriter::new(Box::new(written.clone()), notify);
        let queue = Queue::new(2, 1000);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| take_turns(&queue, &answers, &decide));
            }
            take_in(InputLines::new(lines.as_bytes()), &queue, &answers);
            queue.close();
        });
        written.lines()
    }

    #[test]
    fn a_fault_of_ours_is_an_answer() {
        std::panic::set_hook(Box::new(|_| {}));
        let lines = "{\"id\": 1, \"event\": {}}\n{\"id\": 2, \"event\": {\"good\": 1}}\n";
        let mut answers = serve(lines, |job| {
            assert!(job.body.text().contains("good"), "we are at fault");
            ServeAnswer { verdict: Some(ServedVerdict::default()), ..ServeAnswer::default() }
        });
        answers.sort_by_key(|answer| answer["id"].as_u64());
        assert_eq!(answers[0]["error"]["code"], "fault");
        assert_eq!(answers[1], json!({"id": 2, "verdict": {}}));
    }

    #[test]
    fn every_request_is_answered_once() {
        let lines: Vec<String> =
            (0..100).map(|id| format!("{{\"id\": {id}, \"event\": {{}}}}\n")).collect();
        let answers = serve(&lines.join("\n"), |_| ServeAnswer {
            verdict: Some(ServedVerdict::default()),
            ..ServeAnswer::default()
        });
        let mut ids: Vec<u64> = answers.iter().map(|one| one["id"].as_u64().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..100).collect::<Vec<u64>>());
    }

    #[test]
    fn an_id_in_flight_is_not_taken_again() {
        let (go, wait) = mpsc::channel::<()>();
        let wait = std::sync::Mutex::new(wait);
        let lines = "{\"id\": 1, \"event\": {}}\n{\"id\": 1, \"event\": {}}\nnonsense\n";
        thread::scope(|scope| {
            let answers = scope.spawn(|| {
                serve(lines, |_| {
                    let _ = locked(&wait).recv();
                    ServeAnswer {
                        verdict: Some(ServedVerdict::default()),
                        ..ServeAnswer::default()
                    }
                })
            });
            // The first is in flight until this point. If it is answered before the second is read,
            // the second is accepted as well, and must not wait forever.
            drop(go);
            let codes: Vec<Value> =
                answers.join().unwrap().iter().map(|one| one["error"]["code"].clone()).collect();
            assert_eq!(codes.len(), 3);
            assert!(codes.contains(&json!("not_json")));
        });
    }
}

//! The protocol of `anyhook serve --stdio`: events in, verdicts out.

use std::io;
use std::thread;
use std::time::Instant;

use anyhook_engine::run::process::keep_exit_codes;
use anyhook_hook::environment::Environment;
use anyhook_model::serve::{
    IncomingLine, LINE_LIMIT, PROTOCOL, RejectedLine, RequestId, ServeAnswer, ServeError,
    ServeErrorCode, ServeHello, read,
};

use crate::answers::{AnswerWriter, RequestInFlight};
use crate::line_server::{self, LineProtocol};
use crate::lines::InputLine;
use crate::work::{self, RequestJob};

/// Decides the events that arrive on standard input, with `jobs` threads or 4 per processor, until
/// everything is answered or nobody reads the answers.
pub fn serve_stdio(jobs: Option<u16>, environment: &Environment) -> io::Result<()> {
    keep_exit_codes();
    let threads = jobs.map_or_else(default_threads, usize::from);
    let hello = ServeHello { anyhook: env!("CARGO_PKG_VERSION").to_owned(), protocol: PROTOCOL };
    let environment = environment.clone();
    let decide = move |job: &RequestJob| work::answer(job, &environment);
    line_server::run(EventProtocol { decide }, threads, Some(&hello))
}

fn default_threads() -> usize {
    thread::available_parallelism().map_or(4, |processors| processors.get() * 4)
}

struct EventProtocol<Decide> {
    decide: Decide,
}

impl<Decide> LineProtocol for EventProtocol<Decide>
where
    Decide: Fn(&RequestJob) -> ServeAnswer + Send + Sync + 'static,
{
    type Job = RequestJob;
    type Answer = ServeAnswer;

    const LINE_LIMIT: usize = LINE_LIMIT;

    fn take_in(
        &self,
        line: InputLine,
        answers: &AnswerWriter,
    ) -> Option<(RequestInFlight, RequestJob, usize)> {
        let incoming = match line {
            InputLine::Whole(line) => read(&line),
            InputLine::TooLong(beginning) => Err(RejectedLine::too_large(&beginning)),
        };
        match incoming {
            Ok(IncomingLine::Asked(asked)) => {
                let Some(begun) = answers.begin(asked.id.clone()) else {
                    answers.write(&ServeAnswer::from(duplicate(asked.id)));
                    return None;
                };
                let bytes = asked.body.text().len();
                let job = RequestJob { body: asked.body, about: asked.about, came: Instant::now() };
                return Some((begun, job, bytes));
            }
            Ok(IncomingLine::Cancel(id)) => {
                let answer =
                    ServeAnswer { id: Some(id.clone()), cancelled: true, ..ServeAnswer::default() };
                answers.cancel(&id, Some(&answer));
            }
            Err(refused) => answers.write(&ServeAnswer::from(refused)),
        }
        None
    }

    fn answer(
        &self,
        begun: &RequestInFlight,
        job: &RequestJob,
        _: &dyn Fn() -> bool,
    ) -> ServeAnswer {
        ServeAnswer { id: Some(begun.id().clone()), ..(self.decide)(job) }
    }

    fn fault(&self, begun: &RequestInFlight) -> ServeAnswer {
        let error = ServeError {
            code: ServeErrorCode::Fault,
            message: "internal error; see standard error for details".to_owned(),
            hint: Some("please report this with the request".to_owned()),
        };
        ServeAnswer { id: Some(begun.id().clone()), error: Some(error), ..ServeAnswer::default() }
    }
}

fn duplicate(id: RequestId) -> RejectedLine {
    let error = ServeError {
        code: ServeErrorCode::DuplicateId,
        message: "a request with this id is still in flight".to_owned(),
        hint: Some("reuse an id only after it has been answered".to_owned()),
    };
    RejectedLine { id: Some(id), error: Box::new(error) }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use anyhook_model::serve::ServedVerdict;
    use serde_json::{Value, json};

    use super::*;
    use crate::answers::tests::Written;
    use crate::line_server::{locked, take_in, take_turns};
    use crate::queue::Queue;

    /// Reads lines and decides them with two threads; returns the answers.
    fn serve(
        lines: &str,
        decide: impl Fn(&RequestJob) -> ServeAnswer + Send + Sync + 'static,
    ) -> Vec<Value> {
        let protocol = EventProtocol { decide };
        let written = Written::default();
        let (notify, _notices) = mpsc::channel();
        let answers = AnswerWriter::new(Box::new(written.clone()), notify);
        let queue = Queue::new(2, 1000);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| take_turns(&protocol, &queue, &answers));
            }
            take_in(&protocol, lines.as_bytes(), &queue, &answers);
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
                serve(lines, move |_| {
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

//! Requests in flight and their answers: every request is answered once.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

use anyhook_model::json::to_spaced;
use anyhook_model::serve::RequestId;
use serde::Serialize;

use crate::line_server::{ServerEvent, locked};

/// A request in flight. The number distinguishes it from earlier ones with the same id.
#[derive(Debug)]
pub struct RequestInFlight {
    id: RequestId,
    number: u64,
}

impl RequestInFlight {
    /// Returns the id by which its caller knows it.
    pub fn id(&self) -> &RequestId {
        &self.id
    }
}

/// Writes answers to standard output.
pub struct AnswerWriter {
    out: Mutex<Box<dyn Write + Send>>,
    in_flight: Mutex<HashMap<RequestId, u64>>,
    next: AtomicU64,
    /// How many answers are still to be written, plus one for the input while it is open.
    owed: AtomicUsize,
    notify: Sender<ServerEvent>,
}

impl AnswerWriter {
    pub fn new(out: Box<dyn Write + Send>, notify: Sender<ServerEvent>) -> Self {
        Self {
            out: Mutex::new(out),
            in_flight: Mutex::default(),
            next: AtomicU64::new(0),
            owed: AtomicUsize::new(1),
            notify,
        }
    }

    /// Registers a request as in flight; `None` if its id is in use.
    pub fn begin(&self, id: RequestId) -> Option<RequestInFlight> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut in_flight = locked(&self.in_flight);
        if in_flight.contains_key(&id) {
            return None;
        }
        in_flight.insert(id.clone(), number);
        self.owed.fetch_add(1, Ordering::Relaxed);
        Some(RequestInFlight { id, number })
    }

    /// Returns whether the client still waits for the answer.
    pub fn wants(&self, begun: &RequestInFlight) -> bool {
        locked(&self.in_flight).get(&begun.id) == Some(&begun.number)
    }

    /// Answers a request, unless it was cancelled.
    pub fn finish(&self, begun: &RequestInFlight, answer: &impl Serialize) {
        {
            let mut in_flight = locked(&self.in_flight);
            if in_flight.get(&begun.id) != Some(&begun.number) {
                return;
            }
            in_flight.remove(&begun.id);
        }
        self.write(answer);
        self.settle();
    }

    /// Cancels a request: from now on it has no other answer than this one, if there is any. No
    /// effect if it already has been answered.
    pub fn cancel(&self, id: &RequestId, answer: Option<&impl Serialize>) {
        if locked(&self.in_flight).remove(id).is_some() {
            if let Some(answer) = answer {
                self.write(answer);
            }
            self.settle();
        }
    }

    /// Records that no more requests will come.
    pub fn end(&self) {
        self.settle();
    }

    /// Decrements the number of answers to wait for.
    fn settle(&self) {
        if self.owed.fetch_sub(1, Ordering::AcqRel) == 1 {
            let _ = self.notify.send(ServerEvent::Answered);
        }
    }

    /// Writes one line.
    pub fn write(&self, line: &impl Serialize) {
        let text = to_spaced(line) + "\n";
        let mut out = locked(&self.out);
        if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
            let _ = self.notify.send(ServerEvent::NobodyListens);
        }
    }
}

#[cfg(test)]
pub mod tests {
    use std::io;
    use std::sync::{Arc, mpsc};

    use serde_json::{Value, json};

    use super::*;

    /// Keeps what was written.
    #[derive(Clone, Default)]
    pub struct Written(Arc<Mutex<Vec<u8>>>);

    impl Written {
        pub fn lines(&self) -> Vec<Value> {
            let text = String::from_utf8(locked(&self.0).clone()).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        }
    }

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            locked(&self.0).write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_request_is_answered_once_and_its_id_can_be_used_again() {
        let written = Written::default();
        let (notify, _notices) = mpsc::channel();
        let answers = AnswerWriter::new(Box::new(written.clone()), notify);
        let id: RequestId = json!("a").try_into().unwrap();
        let first = answers.begin(id.clone()).unwrap();
        assert!(answers.begin(id.clone()).is_none());
        answers.cancel(&id, Some(&"cancelled"));
        answers.cancel(&id, Some(&"cancelled"));
        assert!(!answers.wants(&first));
        let second = answers.begin(id.clone()).unwrap();
        answers.finish(&first, &"first");
        answers.finish(&second, &"second");
        answers.finish(&second, &"second");
        let third = answers.begin(id.clone()).unwrap();
        answers.cancel(&id, None::<&()>);
        answers.finish(&third, &"third");
        assert_eq!(written.lines(), [json!("cancelled"), json!("second")]);
    }
}

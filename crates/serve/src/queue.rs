//! A blocking queue, bounded in number and in bytes: it makes its producer wait, so memory is
//! bounded without losing a request.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

use crate::line_server::locked;

/// Jobs that wait, and how much memory they use.
pub struct Queue<T> {
    state: Mutex<QueueState<T>>,
    came: Condvar,
    went: Condvar,
    most: usize,
    bytes_most: usize,
}

struct QueueState<T> {
    waiting: VecDeque<(T, usize)>,
    /// Of items that wait and of those being processed.
    bytes: usize,
    closed: bool,
}

impl<T> Queue<T> {
    pub fn new(most: usize, bytes_most: usize) -> Self {
        let state = QueueState { waiting: VecDeque::new(), bytes: 0, closed: false };
        Self {
            state: Mutex::new(state),
            came: Condvar::new(),
            went: Condvar::new(),
            most,
            bytes_most,
        }
    }

    /// Waits for room and adds an item. Returns whether the queue is still open.
    pub fn push(&self, item: T, bytes: usize) -> bool {
        let is_full = |state: &mut QueueState<T>| {
            // Regardless of its size, a single item fits.
            let is_heavy = state.bytes > 0 && state.bytes + bytes > self.bytes_most;
            !state.closed && (state.waiting.len() >= self.most || is_heavy)
        };
        let mut state = self
            .went
            .wait_while(locked(&self.state), is_full)
            .unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return false;
        }
        state.bytes += bytes;
        state.waiting.push_back((item, bytes));
        self.came.notify_one();
        true
    }

    /// Waits for an item and its size; `None` when the queue is closed and empty.
    pub fn pop(&self) -> Option<(T, usize)> {
        let nothing = |state: &mut QueueState<T>| state.waiting.is_empty() && !state.closed;
        let mut state = self
            .came
            .wait_while(locked(&self.state), nothing)
            .unwrap_or_else(PoisonError::into_inner);
        let item = state.waiting.pop_front();
        self.went.notify_one();
        item
    }

    /// Releases the memory of an item that has been processed.
    pub fn done(&self, bytes: usize) {
        locked(&self.state).bytes -= bytes;
        self.went.notify_one();
    }

    /// Closes the queue; items that wait are still processed.
    pub fn close(&self) {
        locked(&self.state).closed = true;
        self.came.notify_all();
        self.went.notify_all();
    }

    /// Closes the queue and drops the items that wait.
    pub fn close_and_clear(&self) {
        locked(&self.state).waiting.clear();
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_full_queue_makes_wait_until_there_is_a_place() {
        for (most, bytes_most) in [(1, 1000), (1000, 10)] {
            let queue = Queue::new(most, bytes_most);
            let (told, pushed) = mpsc::channel();
            thread::scope(|scope| {
                scope.spawn(|| {
                    for number in 0..3 {
                        queue.push(number, 6);
                        told.send(number).unwrap();
                    }
                });
                for number in 0..3 {
                    assert_eq!(pushed.recv().unwrap(), number);
                    assert!(pushed.try_recv().is_err(), "there was no place");
                    assert_eq!(queue.pop(), Some((number, 6)));
                    if bytes_most == 10 {
                        assert!(pushed.try_recv().is_err(), "what is worked on counts");
                    }
                    queue.done(6);
                }
            });
        }
    }

    #[test]
    fn one_that_is_too_heavy_goes_alone() {
        let queue = Queue::new(10, 10);
        assert!(queue.push("heavy", 100));
        assert_eq!(queue.pop(), Some(("heavy", 100)));
    }

    #[test]
    fn a_closed_queue_gives_what_it_has() {
        let queue = Queue::new(10, 10);
        queue.push(1, 1);
        queue.close();
        assert!(!queue.push(2, 1));
        assert_eq!((queue.pop(), queue.pop()), (Some((1, 1)), None));
        let queue = Queue::new(10, 10);
        queue.push(1, 1);
        queue.close_and_clear();
        assert_eq!(queue.pop(), None);
    }
}

//! Errors that a transport has seen, reported to every caller that waits for an answer.
//!
//! The protocol's library ignores an invalid message and continues to wait. We prefer to report
//! what was received.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::error::ServerError;

/// Shared by a transport and the waiting callers.
#[derive(Clone, Debug, Default)]
pub(super) struct TransportErrors {
    shared: Arc<SharedErrors>,
}

#[derive(Debug, Default)]
struct SharedErrors {
    kept: Mutex<FirstErrors>,
    fatal: Notify,
}

#[derive(Debug, Default)]
struct FirstErrors {
    /// No answer can arrive any more.
    is_over: bool,
    /// Why not, if that is known.
    fatal: Option<ServerError>,
    /// Part of a message has arrived.
    is_partial: bool,
    /// Something that is not a message, but the answer may still arrive: servers print all sorts of
    /// things.
    noise: Option<String>,
}

impl TransportErrors {
    /// Records what makes an answer impossible; the first one counts.
    pub(super) fn fatal(&self, fault: ServerError) {
        self.lock().fatal.get_or_insert(fault);
        self.ended();
    }

    /// Records that nothing more will arrive.
    pub(super) fn ended(&self) {
        self.lock().is_over = true;
        self.shared.fatal.notify_waiters();
    }

    /// Records whether part of a message has arrived.
    pub(super) fn partial(&self, is_partial: bool) {
        self.lock().is_partial = is_partial;
    }

    /// Records something that is not a message.
    pub(super) fn noise(&self, text: String) {
        self.lock().noise = Some(text);
    }

    /// Waits for something fatal, or for the end.
    pub(super) async fn wait(&self) {
        // Created before checking, so that no notification is missed.
        let notified = self.shared.fatal.notified();
        if !self.lock().is_over {
            notified.await;
        }
    }

    /// Takes the recorded error; over HTTP the next request may succeed.
    pub(super) fn take_fatal(&self) -> Option<ServerError> {
        let mut kept = self.lock();
        kept.is_over = false;
        kept.fatal.take()
    }

    /// Returns whether part of a message has arrived, but not the rest.
    pub(super) fn is_partial(&self) -> bool {
        self.lock().is_partial
    }

    pub(super) fn take_noise(&self) -> Option<String> {
        self.lock().noise.take()
    }

    fn lock(&self) -> MutexGuard<'_, FirstErrors> {
        // No code that holds it can panic in between.
        self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! What a transport has seen go wrong, told to all who wait for an answer.
//!
//! The protocol's library lets a strange message pass and goes on waiting. We would rather say
//! what came.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::error::ServerError;

/// Shared by a transport and those who wait.
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
    /// No answer can come any more.
    is_over: bool,
    /// Why not, if that is known.
    fatal: Option<ServerError>,
    /// Part of a message has come.
    is_partial: bool,
    /// No message, but the answer may still come: servers print all sorts of things.
    noise: Option<String>,
}

impl TransportErrors {
    /// Notes what makes an answer impossible; the first counts.
    pub(super) fn fatal(&self, fault: ServerError) {
        self.lock().fatal.get_or_insert(fault);
        self.ended();
    }

    /// Notes that nothing more comes.
    pub(super) fn ended(&self) {
        self.lock().is_over = true;
        self.shared.fatal.notify_waiters();
    }

    /// Notes whether part of a message has come.
    pub(super) fn partial(&self, is_partial: bool) {
        self.lock().is_partial = is_partial;
    }

    /// Notes what is no message.
    pub(super) fn noise(&self, text: String) {
        self.lock().noise = Some(text);
    }

    /// Waits for something fatal, or for the end.
    pub(super) async fn wait(&self) {
        // Made before looking, it is told from here on.
        let notified = self.shared.fatal.notified();
        if !self.lock().is_over {
            notified.await;
        }
    }

    /// Takes what is known; over HTTP the next request may do better.
    pub(super) fn take_fatal(&self) -> Option<ServerError> {
        let mut kept = self.lock();
        kept.is_over = false;
        kept.fatal.take()
    }

    /// Tells whether part of a message has come, and not the rest.
    pub(super) fn is_partial(&self) -> bool {
        self.lock().is_partial
    }

    pub(super) fn take_noise(&self) -> Option<String> {
        self.lock().noise.take()
    }

    fn lock(&self) -> MutexGuard<'_, FirstErrors> {
        // Nothing that holds it can panic half-way.
        self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

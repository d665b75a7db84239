//! The stream of a model's events from an answer in progress.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use hyper::body::{Body, Incoming};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};

use super::connection::{HttpReply, broken, stalled};
use super::reader::BodyReader;
use crate::agent::{ModelError, ModelEvent};

/// The deadline for a limit that is too large for a clock.
const FAR_AWAY: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Reads the body as events are polled, and drops the connection at the end.
pub(super) struct AnswerStream {
    /// `None` at the end.
    connection: Option<(Incoming, JoinSet<()>)>,
    reader: BodyReader,
    events: VecDeque<ModelEvent>,
    /// The error that comes after the events.
    error: Option<ModelError>,
    idle_timeout: Duration,
    alarm: Pin<Box<Sleep>>,
    /// Whether the timer is set. It only runs while the stream is polled: a slow reader is not
    /// silence.
    is_waiting: bool,
}

impl AnswerStream {
    pub(super) fn new(reply: HttpReply, reader: BodyReader, idle_timeout: Duration) -> Self {
        Self {
            connection: Some((reply.response.into_body(), reply.task)),
            reader,
            events: VecDeque::new(),
            error: None,
            idle_timeout,
            alarm: Box::pin(tokio::time::sleep(idle_timeout)),
            is_waiting: false,
        }
    }

    /// Takes the next piece of the body, or its end.
    fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some((body, _)) = &mut self.connection else {
            return Poll::Ready(());
        };
        let read = match Pin::new(body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => match frame.data_ref() {
                Some(piece) => self.reader.feed(piece, &mut self.events),
                None => Ok(()),
            },
            Poll::Ready(Some(Err(error))) => {
                self.reader.interrupt(broken(&error), &mut self.events)
            }
            Poll::Ready(None) => self.reader.finish(&mut self.events),
            Poll::Pending => {
                if !self.is_waiting {
                    self.is_waiting = true;
                    let now = Instant::now();
                    let end = now.checked_add(self.idle_timeout);
                    self.alarm.as_mut().reset(end.unwrap_or(now + FAR_AWAY));
                }
                ready!(self.alarm.as_mut().poll(context));
                self.reader.interrupt(stalled(self.idle_timeout), &mut self.events)
            }
        };
        self.is_waiting = false;
        self.error = read.err();
        if self.error.is_some() || self.reader.is_done() {
            self.connection = None;
        }
        Poll::Ready(())
    }
}

impl Stream for AnswerStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if let Some(error) = self.error.take() {
                return Poll::Ready(Some(Err(error)));
            }
            if self.connection.is_none() {
                return Poll::Ready(None);
            }
            ready!(self.poll_body(context));
        }
    }
}

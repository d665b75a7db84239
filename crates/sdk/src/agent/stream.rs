//! Streams a run: its events as they happen.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::agent_loop::{Piece, Sink};
use super::flow::RunRequest;
use super::live::LiveAgentCenter;
use super::run::{Run, RunError};
use super::stream_hook::StreamChain;

/// At most this many pieces wait for a slow reader; then the model waits.
const ROOM: usize = 64;

/// A run as it happens: pieces, then the finished run. Dropping it cancels the run.
#[derive(Debug)]
pub struct RunStream {
    pieces: mpsc::Receiver<Piece>,
    ended: oneshot::Receiver<Result<Run, RunError>>,
    task: AbortHandle,
    is_over: bool,
}

/// An item of a [`RunStream`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RunEvent {
    /// Something happens.
    Piece(Piece),
    /// The run is complete.
    Done(Box<Run>),
}

impl LiveAgentCenter {
    /// Runs an agent and streams what happens, after the stream hooks: what they change or hold
    /// back is changed and held back in the run, too.
    pub fn stream_agent(self: &Arc<Self>, request: RunRequest) -> RunStream {
        let (sender, pieces) = mpsc::channel(ROOM);
        let (end, ended) = oneshot::channel();
        let center = self.clone();
        let chain = StreamChain::new(&self.stream_hooks());
        let task = tokio::spawn(async move {
            let mut sink = Sink::Channel(sender, chain);
            let result = center.run_into(request, &mut sink).await;
            // First the end of the pieces, then the run.
            drop(sink);
            let _ = end.send(result);
        });
        RunStream { pieces, ended, task: task.abort_handle(), is_over: false }
    }
}

impl Stream for RunStream {
    type Item = Result<RunEvent, RunError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        match self.pieces.poll_recv(context) {
            Poll::Ready(Some(piece)) => return Poll::Ready(Some(Ok(RunEvent::Piece(piece)))),
            Poll::Pending => return Poll::Pending,
            Poll::Ready(None) => {}
        }
        match Pin::new(&mut self.ended).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(ended) => {
                self.is_over = true;
                Poll::Ready(match ended {
                    Ok(Ok(run)) => Some(Ok(RunEvent::Done(Box::new(run)))),
                    Ok(Err(error)) => Some(Err(error)),
                    // Only a runtime that shuts down ends a task without a result.
                    Err(_) => None,
                })
            }
        }
    }
}

impl RunStream {
    /// Waits for the next event.
    pub async fn next(&mut self) -> Option<Result<RunEvent, RunError>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Drop for RunStream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

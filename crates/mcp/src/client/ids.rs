//! Answers to requests that nobody made.

use std::collections::HashSet;

use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use super::fault::Seen;
use crate::error::Fault;

/// A transport that looks at the ids of what goes through it.
#[derive(Debug)]
pub(super) struct Matched<T> {
    inner: T,
    seen: Seen,
    open: HashSet<RequestId>,
}

impl<T> Matched<T> {
    pub(super) fn new(inner: T, seen: Seen) -> Self {
        Self { inner, seen, open: HashSet::new() }
    }

    fn answered(&mut self, id: &RequestId) {
        if !self.open.remove(id) {
            self.seen.fatal(Fault::OtherId { received: id.to_string() });
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Matched<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &item {
            self.open.insert(request.id.clone());
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.inner.receive().await?;
        match &message {
            JsonRpcMessage::Response(response) => self.answered(&response.id),
            JsonRpcMessage::Error(error) => {
                if let Some(id) = &error.id {
                    self.answered(id);
                }
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

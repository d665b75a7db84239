//! Detects answers to requests that were never made.

use std::collections::HashSet;

use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use super::transport_errors::TransportErrors;
use crate::error::ServerError;

/// A transport that checks the ids of the messages that pass through it.
#[derive(Debug)]
pub(super) struct IdMatcher<T> {
    inner: T,
    seen: TransportErrors,
    open: HashSet<RequestId>,
}

impl<T> IdMatcher<T> {
    pub(super) fn new(inner: T, seen: TransportErrors) -> Self {
        Self { inner, seen, open: HashSet::new() }
    }

    fn answered(&mut self, id: &RequestId) {
        if !self.open.remove(id) {
            self.seen.fatal(ServerError::OtherId { received: id.to_string() });
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for IdMatcher<T> {
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

//! The HTTP connection to a server, one per request: dropping it closes it.

use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use anyhook_http::{Address, Encryption, with_cause};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use crate::agent::ModelError;

/// Why there is no connection.
#[derive(Debug)]
pub(super) struct ConnectError {
    pub(super) error: ModelError,
    /// Whether a retry may help.
    pub(super) is_passing: bool,
}

/// A connection. The task that drives it ends with it.
#[derive(Debug)]
pub(super) struct Connection {
    sender: http1::SendRequest<String>,
    task: JoinSet<()>,
}

/// The response's head, and its body in progress.
#[derive(Debug)]
pub(super) struct HttpReply {
    pub(super) response: Response<Incoming>,
    /// Held for its drop, which closes the connection.
    pub(super) task: JoinSet<()>,
}

impl Connection {
    pub(super) async fn open(
        address: &Address,
        encryption: Option<&Encryption>,
        limit: Duration,
    ) -> Result<Self, ConnectError> {
        let connecting = async {
            let transport = anyhook_http::connect(address, encryption)
                .await
                .map_err(|error| unreachable(address, &error, error.is_passing()))?;
            let io = TokioIo::new(transport);
            let (sender, connection) =
                http1::handshake(io).await.map_err(|error| unreachable(address, &error, true))?;
            let mut task = JoinSet::new();
            task.spawn(async move {
                // Errors are reported to the code that waits for the response.
                let _ = connection.await;
            });
            Ok(Self { sender, task })
        };
        tokio::time::timeout(limit, connecting).await.unwrap_or_else(|_| {
            let why = format!("no connection within {} ms", limit.as_millis());
            Err(unreachable(address, &why, true))
        })
    }

    /// Sends the request and waits for the response's head.
    pub(super) async fn send(
        mut self,
        request: Request<String>,
        limit: Duration,
    ) -> Result<HttpReply, ModelError> {
        let answering = self.sender.send_request(request);
        match tokio::time::timeout(limit, answering).await {
            Ok(Ok(response)) => Ok(HttpReply { response, task: self.task }),
            Ok(Err(error)) => Err(broken(&error)),
            Err(_) => Err(stalled(limit)),
        }
    }
}

impl HttpReply {
    /// Reads the start of the body, as far as it arrives.
    pub(super) async fn beginning(mut self, bytes: usize, limit: Duration) -> Vec<u8> {
        let mut beginning = Vec::new();
        while beginning.len() < bytes {
            let next = poll_fn(|context| Pin::new(self.response.body_mut()).poll_frame(context));
            let Ok(Some(Ok(frame))) = tokio::time::timeout(limit, next).await else {
                break;
            };
            beginning.extend_from_slice(&frame.into_data().unwrap_or_else(|_| Bytes::new()));
        }
        beginning.truncate(bytes);
        beginning
    }
}

/// Converts the error that ended the connection.
pub(super) fn broken(error: &hyper::Error) -> ModelError {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    let is_nonsense = cause.is_some_and(|cause| {
        // The encoding of a body can be invalid, too.
        matches!(cause.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
    });
    if error.is_parse() || is_nonsense {
        ModelError::Garbage(with_cause(error))
    } else {
        ModelError::BrokenOff
    }
}

pub(super) fn stalled(limit: Duration) -> ModelError {
    ModelError::Stalled(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
}

/// Prepares TLS: with the system's certificates and the program's own (PEM).
pub(super) fn encryption(own: &[u8]) -> Result<Encryption, ModelError> {
    Encryption::new(own).map_err(|error| ModelError::Unreachable(format!("no TLS: {error}")))
}

fn unreachable(address: &Address, why: &dyn std::fmt::Display, is_passing: bool) -> ConnectError {
    let (host, port) = (address.host(), address.port());
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let error = ModelError::Unreachable(format!("{host}:{port}: {why}"));
    ConnectError { error, is_passing }
}

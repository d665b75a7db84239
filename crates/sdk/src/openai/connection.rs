//! One connection for one question: when it is dropped, the server sees it.

use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::address::Address;
use crate::agent::ModelError;

trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// Why there is no connection.
#[derive(Debug)]
pub(super) struct ConnectError {
    pub(super) error: ModelError,
    /// Whether another try may help.
    pub(super) is_passing: bool,
}

/// A connection. The task that keeps it going ends with it.
#[derive(Debug)]
pub(super) struct Connection {
    sender: http1::SendRequest<String>,
    task: JoinSet<()>,
}

/// The answer's head, and its body on the way.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) response: Response<Incoming>,
    /// Held for its drop, which closes the connection.
    pub(super) task: JoinSet<()>,
}

impl Connection {
    pub(super) async fn open(
        address: &Address,
        encryption: Option<Arc<ClientConfig>>,
        limit: Duration,
    ) -> Result<Self, ConnectError> {
        let connecting = async {
            let transport = transport(address, encryption).await?;
            let io = TokioIo::new(transport);
            let (sender, connection) =
                http1::handshake(io).await.map_err(|error| unreachable(address, &error, true))?;
            let mut task = JoinSet::new();
            task.spawn(async move {
                // What goes wrong is told to whoever waits for the answer.
                let _ = connection.await;
            });
            Ok(Self { sender, task })
        };
        tokio::time::timeout(limit, connecting).await.unwrap_or_else(|_| {
            let why = format!("no connection within {} ms", limit.as_millis());
            Err(unreachable(address, &why, true))
        })
    }

    /// Sends the request and waits for the answer's head.
    pub(super) async fn send(
        mut self,
        request: Request<String>,
        limit: Duration,
    ) -> Result<Reply, ModelError> {
        let answering = self.sender.send_request(request);
        match tokio::time::timeout(limit, answering).await {
            Ok(Ok(response)) => Ok(Reply { response, task: self.task }),
            Ok(Err(error)) => Err(broken(&error)),
            Err(_) => Err(stalled(limit)),
        }
    }
}

impl Reply {
    /// Reads the beginning of the body, as far as it comes.
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

/// Says what it means that the connection ended this way.
pub(super) fn broken(error: &hyper::Error) -> ModelError {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    let is_nonsense = cause.is_some_and(|cause| {
        // What a body is wrapped in can be wrong, too.
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

/// Gets ready to encrypt: with the machine's certificates and the program's own (PEM).
pub(super) fn encryption(own: &[u8]) -> Result<ClientConfig, ModelError> {
    let failed = |why: &str| ModelError::Unreachable(format!("no TLS: {why}"));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(own) {
        let certificate = certificate
            .map_err(|error| failed(&format!("the root certificates cannot be read: {error}")))?;
        roots.add(certificate).map_err(|error| failed(&with_cause(&error)))?;
    }
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(failed("this machine has no root certificates (package ca-certificates)"));
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&with_cause(&error)))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

async fn transport(
    address: &Address,
    encryption: Option<Arc<ClientConfig>>,
) -> Result<Box<dyn Transport>, ConnectError> {
    let stream = TcpStream::connect((address.host(), address.port))
        .await
        .map_err(|error| unreachable(address, &error, true))?;
    // A delay is all that can come of failing here.
    let _ = stream.set_nodelay(true);
    let Some(encryption) = encryption else {
        return Ok(Box::new(stream));
    };
    let name = ServerName::try_from(address.host().to_owned())
        .map_err(|error| unreachable(address, &error, false))?;
    let stream = TlsConnector::from(encryption).connect(name, stream).await.map_err(|error| {
        // A certificate does not get better by asking again.
        let is_passing = error.kind() != io::ErrorKind::InvalidData;
        unreachable(address, &error, is_passing)
    })?;
    Ok(Box::new(stream))
}

fn unreachable(address: &Address, why: &dyn std::fmt::Display, is_passing: bool) -> ConnectError {
    let error = ModelError::Unreachable(format!("{}:{}: {why}", address.host, address.port));
    ConnectError { error, is_passing }
}

fn with_cause(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

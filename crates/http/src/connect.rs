//! Connects to an HTTP server, with or without TLS.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::address::{Address, AddressError};
use crate::encryption::Encryption;

/// A stream, encrypted or not.
pub trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// Why a connection failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server cannot be reached.
    #[error("{0}")]
    Unreachable(io::Error),
    /// Its certificate is not trusted, or not valid for it.
    #[error("{0}")]
    Certificate(io::Error),
    /// Its name cannot be the subject of a certificate.
    #[error("{0}")]
    Name(String),
    /// An unencrypted connection would leave this machine.
    #[error("{0}")]
    Address(AddressError),
}

impl ConnectError {
    /// Returns whether another attempt may help.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

/// Connects to a server; `encryption` is required if the address is encrypted.
pub async fn connect(
    address: &Address,
    encryption: Option<&Encryption>,
) -> Result<Box<dyn Transport>, ConnectError> {
    let stream = TcpStream::connect((address.host(), address.port()))
        .await
        .map_err(ConnectError::Unreachable)?;
    // If this fails, the only consequence is latency.
    let _ = stream.set_nodelay(true);
    let Some(encryption) = encryption.filter(|_| address.is_encrypted()) else {
        // Whatever `localhost` resolves to, unencrypted data stays on this machine. Nor is anything
        // sent in the clear that ought to be encrypted.
        let is_here = || stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback());
        if address.is_encrypted() || address.stays_here() && !is_here() {
            return Err(ConnectError::Address(AddressError::NotEncrypted));
        }
        return Ok(Box::new(stream));
    };
    let name = ServerName::try_from(address.host().to_owned())
        .map_err(|error| ConnectError::Name(error.to_string()))?;
    let connector = TlsConnector::from(encryption.0.clone());
    match connector.connect(name, stream).await {
        Ok(stream) => Ok(Box::new(stream)),
        // A bad certificate does not get better by retrying.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(ConnectError::Certificate(error))
        }
        Err(error) => Err(ConnectError::Unreachable(error)),
    }
}

//! TLS configuration with the machine's certificates.

use std::fmt;
use std::sync::Arc;

use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use crate::with_cause;

/// Which certificates are trusted. Cheap to clone; creating it reads files.
#[derive(Clone)]
pub struct Encryption(pub(crate) Arc<ClientConfig>);

/// Why TLS is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncryptionError {
    /// The machine has no trusted certificates.
    #[error("this machine has no root certificates (package ca-certificates)")]
    NoRoots,
    /// The certificates that were given cannot be used.
    #[error("the root certificates cannot be read: {0}")]
    Certificates(String),
    /// The TLS library cannot be used.
    #[error("{0}")]
    Library(String),
}

impl Encryption {
    /// Trusts the machine's certificates, so that a company's own authority is known too, and those
    /// in `own` (PEM; often empty).
    pub fn new(own: &[u8]) -> Result<Self, EncryptionError> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(own) {
            let certificate =
                certificate.map_err(|error| EncryptionError::Certificates(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| EncryptionError::Certificates(with_cause(&error)))?;
        }
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(EncryptionError::NoRoots);
        }
        let provider = Arc::new(crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| EncryptionError::Library(with_cause(&error)))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

impl fmt::Debug for Encryption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Encryption")
    }
}

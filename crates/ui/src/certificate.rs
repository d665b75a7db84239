//! The certificate of the page in the network: made here, kept, and renewed before it ends.
//!
//! Nobody has signed it but itself, so a browser cannot tell it from that of someone in between. A
//! person can, by its fingerprint: `anyhook ui --lan` asks for it as the browser shows it.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use anyhook_engine::atomic_file::AtomicFile;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType, date_time_ymd,
};
use serde::{Deserialize, Serialize};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto, version};

use crate::secret::{bytes, hexadecimal};

/// For how long it is valid. Some phones accept no more than 825 days.
const LIFE: SignedDuration = SignedDuration::from_hours(800 * 24);
/// How long before its end it is renewed.
const RENEWAL: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The certificate and its key.
#[derive(Clone)]
pub struct Certificate {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// The file with the certificate.
#[derive(Serialize, Deserialize)]
struct Kept {
    address: IpAddr,
    ends: Timestamp,
    certificate: String,
    key: String,
}

impl Certificate {
    /// Returns the kept one, if it is for this address and has time left; else makes a new one.
    pub fn kept_or_new(file: &Path, address: IpAddr, now: Timestamp) -> io::Result<Self> {
        if let Some(kept) = Self::kept(file, address, now) {
            return Ok(kept);
        }
        let ends = now + LIFE;
        let made = Self::make(address, now, ends)?;
        let kept = Kept {
            address,
            ends,
            certificate: hexadecimal(&made.certificate),
            key: hexadecimal(&made.key),
        };
        let text = serde_json::to_vec(&kept).map_err(io::Error::other)?;
        // A certificate that is not the same next time would make every phone warn again.
        AtomicFile::new(file).replace(&text)?;
        Ok(made)
    }

    fn kept(file: &Path, address: IpAddr, now: Timestamp) -> Option<Self> {
        let kept: Kept = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        let is_good = kept.address == address && kept.ends.duration_since(now) > RENEWAL;
        let read = Self { certificate: bytes(&kept.certificate)?, key: bytes(&kept.key)? };
        (is_good && read.encryption().is_ok()).then_some(read)
    }

    fn make(address: IpAddr, now: Timestamp, ends: Timestamp) -> io::Result<Self> {
        let date = |at: Timestamp| {
            let date = at.to_zoned(TimeZone::UTC).date();
            let part = |part: i8| u8::try_from(part).unwrap_or(1);
            date_time_ymd(date.year().into(), part(date.month()), part(date.day()))
        };
        let mut parameters = CertificateParams::default();
        let mut name = DistinguishedName::new();
        name.push(DnType::CommonName, "anyhook");
        parameters.distinguished_name = name;
        parameters.subject_alt_names = vec![SanType::IpAddress(address)];
        // A clock that is a little behind does no harm.
        parameters.not_before = date(now - SignedDuration::from_hours(24));
        parameters.not_after = date(ends);
        parameters.is_ca = IsCa::ExplicitNoCa;
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let signed = parameters.self_signed(&key).map_err(io::Error::other)?;
        Ok(Self { certificate: signed.der().to_vec(), key: key.serialize_der() })
    }

    /// Returns the SHA-256 of the certificate, in hexadecimal digits.
    pub fn fingerprint(&self) -> String {
        let digest = ring::digest::digest(&ring::digest::SHA256, &self.certificate);
        hexadecimal(digest.as_ref())
    }

    /// Returns the settings of TLS: only its newest version, which every phone of today has.
    pub fn encryption(&self) -> io::Result<Arc<ServerConfig>> {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()));
        let chain = vec![CertificateDer::from(self.certificate.clone())];
        let mut settings =
            ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
                .with_protocol_versions(&[&version::TLS13])
                .map_err(io::Error::other)?
                .with_no_client_auth()
                .with_single_cert(chain, key)
                .map_err(io::Error::other)?;
        settings.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(settings))
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Certificate({})", self.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_certificate_is_kept_private_and_renewed_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("certificate.json");
        let (address, now) = (IpAddr::from([192, 168, 1, 2]), Timestamp::UNIX_EPOCH);
        let print =
            |address, now| Certificate::kept_or_new(&file, address, now).unwrap().fingerprint();
        let first = print(address, now);
        assert_eq!(first.len(), 64);
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(print(address, now + SignedDuration::from_hours(769 * 24)), first);
        let renewed = print(address, now + SignedDuration::from_hours(771 * 24));
        assert_ne!(renewed, first);
        assert_ne!(print(IpAddr::from([192, 168, 1, 3]), now), renewed, "another address");
        std::fs::write(&file, "{}").unwrap();
        assert_ne!(print(address, now), first, "a damaged file is replaced");
    }
}

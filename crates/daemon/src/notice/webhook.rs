//! Sends a notice as a signed request to a server.
//!
//! The server recognizes a repeated notice by `X-Anyhook-Notice`, and that it is genuine by
//! `X-Anyhook-Signature`: `sha256=` and the HMAC-SHA256 of `TIMESTAMP.BODY` under the shared
//! secret, in hexadecimal digits.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use anyhook_engine::digest::hex;
use anyhook_http::{Address, AddressError, Encryption, connect, with_cause};
use anyhook_model::Notice;
use anyhook_model::notice::{Channel, DeliveryResult};
use hyper::client::conn::http1;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use ring::hmac;
use rustix::fs::{Mode, OFlags};
use tokio::time::{Instant, sleep, timeout_at};

use super::text;

const TRIES: u32 = 3;
/// The pause before another attempt: a server that has only just crashed is not contacted
/// immediately.
const PAUSE: Duration = Duration::from_millis(300);
/// The maximum length of a secret.
const SECRET_LIMIT: u64 = 4096;

/// An error, and whether another attempt may help.
#[derive(Debug)]
struct Failure {
    why: String,
    is_passing: bool,
}

fn passing(why: impl Into<String>) -> Failure {
    Failure { why: why.into(), is_passing: true }
}

fn lasting(why: impl Into<String>) -> Failure {
    Failure { why: why.into(), is_passing: false }
}

/// Sends the notice to the server at `url`.
pub async fn send(
    url: &str,
    secret: Option<&Path>,
    notice: &Notice,
    limit: Duration,
) -> DeliveryResult {
    let deadline = Instant::now() + limit;
    match prepare(url, secret, notice) {
        Ok(post) => match post.send(deadline).await {
            Ok(()) => DeliveryResult::delivered(Channel::Webhook),
            Err(why) => DeliveryResult::failed(Channel::Webhook, text::line(&why, text::TITLE)),
        },
        Err(why) => DeliveryResult::failed(Channel::Webhook, text::line(&why, text::TITLE)),
    }
}

/// What is the same for every attempt.
struct Post {
    server: Address,
    encryption: Option<Encryption>,
    key: Option<hmac::Key>,
    id: String,
    body: String,
}

fn prepare(url: &str, secret: Option<&Path>, notice: &Notice) -> Result<Post, String> {
    let server = address(url)?;
    let key = match secret {
        Some(path) => {
            let secret = read_secret(path)
                .map_err(|why| format!("the secret file `{}` {why}", path.display()))?;
            Some(hmac::Key::new(hmac::HMAC_SHA256, &secret))
        }
        None => None,
    };
    let encryption = if server.is_encrypted() {
        Some(Encryption::new(&[]).map_err(|error| error.to_string())?)
    } else {
        None
    };
    let body = serde_json::to_string(notice).map_err(|error| error.to_string())?;
    Ok(Post { server, encryption, key, id: notice.id.clone(), body })
}

impl Post {
    async fn send(&self, deadline: Instant) -> Result<(), String> {
        let mut why = String::new();
        for tries_left in (0..TRIES).rev() {
            let left = deadline.saturating_duration_since(Instant::now());
            // A server that does not answer gets a second attempt while there is time for it.
            let end = if tries_left == 0 { deadline } else { Instant::now() + left / 2 };
            let failure = match timeout_at(end, self.try_once()).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(failure)) => failure,
                Err(_) => passing("no answer in time"),
            };
            why = failure.why;
            if !failure.is_passing || Instant::now() + PAUSE >= deadline {
                break;
            }
            if tries_left > 0 {
                sleep(PAUSE).await;
            }
        }
        Err(format!("{}: {why}", self.server.host()))
    }

    async fn try_once(&self) -> Result<(), Failure> {
        let transport = connect(&self.server, self.encryption.as_ref())
            .await
            .map_err(|error| Failure { why: error.to_string(), is_passing: error.is_passing() })?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(transport))
            .await
            .map_err(|error| passing(with_cause(&error)))?;
        // The connection ends with the answer or with the attempt.
        let mut connection = std::pin::pin!(connection);
        let mut answer = std::pin::pin!(sender.send_request(self.request()?));
        let mut is_over = false;
        let response = std::future::poll_fn(|context| {
            // Its errors are reported to the future that waits for the answer.
            is_over = is_over || connection.as_mut().poll(context).is_ready();
            answer.as_mut().poll(context)
        })
        .await
        .map_err(|error| passing(with_cause(&error)))?;
        judge(response.status())
    }

    fn request(&self) -> Result<Request<String>, Failure> {
        let timestamp = jiff::Timestamp::now().as_second();
        let mut request = Request::post(self.server.target())
            .header("Host", self.server.authority())
            .header("User-Agent", concat!("anyhook/", env!("CARGO_PKG_VERSION")))
            .header("Content-Type", "application/json")
            .header("Connection", "close")
            .header("X-Anyhook-Timestamp", timestamp)
            .header("X-Anyhook-Notice", &self.id);
        if let Some(key) = &self.key {
            request = request.header("X-Anyhook-Signature", signature(key, timestamp, &self.body));
        }
        request.body(self.body.clone()).map_err(|error| lasting(error.to_string()))
    }
}

fn judge(status: StatusCode) -> Result<(), Failure> {
    let code = status.as_u16();
    if status.is_success() {
        Ok(())
    } else if status.is_redirection() {
        Err(lasting(format!("status {code}: redirects are not followed")))
    } else if status.is_server_error() || matches!(code, 408 | 425 | 429) {
        Err(passing(format!("status {code}")))
    } else {
        Err(lasting(format!("status {code}")))
    }
}

fn signature(key: &hmac::Key, timestamp: i64, body: &str) -> String {
    let tag = hmac::sign(key, format!("{timestamp}.{body}").as_bytes());
    format!("sha256={}", hex(tag.as_ref()))
}

/// Parses the URL. Errors do not repeat it: it may contain a secret.
fn address(url: &str) -> Result<Address, String> {
    Address::parse_encrypted_or_local(url).map_err(|error| match error {
        AddressError::User => format!("the webhook {error}; use `webhook_secret_file`"),
        AddressError::NotEncrypted => NOT_ENCRYPTED.to_owned(),
        error => format!("the webhook {error}"),
    })
}

const NOT_ENCRYPTED: &str = "http:// is only allowed for this machine; use https://";

/// Reads a secret from a file that only its owner can read.
fn read_secret(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot be read: {error}");
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(
        rustix::fs::open(path, flags, Mode::empty())
            .map_err(|error| cannot(&io::Error::from(error)))?,
    );
    let data = file.metadata().map_err(|error| cannot(&error))?;
    let own = rustix::process::geteuid().as_raw();
    if !data.is_file() {
        return Err("is not a file".to_owned());
    }
    if data.uid() != own && data.uid() != 0 {
        return Err("belongs to another user".to_owned());
    }
    if data.mode() & 0o077 != 0 {
        return Err("can be read by others: run chmod 600 on it".to_owned());
    }
    let mut secret = Vec::new();
    file.take(SECRET_LIMIT + 1).read_to_end(&mut secret).map_err(|error| cannot(&error))?;
    if secret.len() as u64 > SECRET_LIMIT {
        return Err(format!("is longer than {SECRET_LIMIT} bytes"));
    }
    // Editors end a file with a line break.
    let secret = secret.trim_ascii_end().to_vec();
    if secret.is_empty() { Err("is empty".to_owned()) } else { Ok(secret) }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_wrong_with_a_url_is_told_without_repeating_it() {
        assert!(address("http://127.0.0.1:9/").is_ok());
        assert_eq!(address("http://example.com"), Err(NOT_ENCRYPTED.to_owned()));
        for url in ["", "hunter2", "ftp://hunter2", "https://me:hunter2@host/", "https:///x"] {
            let why = address(url).unwrap_err();
            assert!(why.starts_with("the webhook") && !why.contains("hunter2"), "{url}: {why}");
        }
    }

    #[test]
    fn a_signature_is_the_one_that_others_compute() {
        // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac key
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"key");
        assert_eq!(
            signature(&key, 1_700_000_000, "{\"a\":1}"),
            "sha256=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03"
        );
    }

    #[test]
    fn a_secret_that_others_can_read_is_none() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("key");
        let refused = |path: &Path| read_secret(path).unwrap_err();
        assert!(refused(&path).contains("cannot be read"));
        fs::write(&path, "s3cret\n").unwrap();
        for mode in [0o644, 0o640, 0o604, 0o620] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert!(refused(&path).contains("by others"), "{mode:o}");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read_secret(&path).unwrap(), b"s3cret");
        fs::write(&path, "\n").unwrap();
        assert!(refused(&path).contains("empty"));
        fs::write(&path, vec![b'x'; 5000]).unwrap();
        assert!(refused(&path).contains("longer"));
        assert!(refused(scratch.path()).contains("not a file"));
    }
}

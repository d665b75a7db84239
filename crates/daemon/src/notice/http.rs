//! Requests to the servers that carry notices and answers, over [`anyhook_http`].

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use anyhook_http::{Address, AddressError, Encryption, connect, with_cause};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

const TRIES: u32 = 3;
/// The pause before another attempt: a server that has only just crashed is not contacted
/// immediately.
const PAUSE: Duration = Duration::from_millis(300);
/// How much of an answer is read.
const ANSWER_LIMIT: usize = 1024 * 1024;

const NOT_ENCRYPTED: &str = "http:// is only allowed for this machine; use https://";

/// An error, and whether another attempt may help.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong.
    pub why: String,
    /// Whether another attempt may help.
    pub is_passing: bool,
    /// Whether the server may have acted on the request.
    pub may_have_arrived: bool,
}

/// Returns an error that may pass.
pub fn passing(why: impl Into<String>) -> Failure {
    Failure { why: why.into(), is_passing: true, may_have_arrived: false }
}

/// Returns an error that stays.
pub fn lasting(why: impl Into<String>) -> Failure {
    Failure { why: why.into(), is_passing: false, may_have_arrived: false }
}

/// Returns the error of a request whose answer is unknown.
fn unanswered(why: impl Into<String>) -> Failure {
    Failure { may_have_arrived: true, ..passing(why) }
}

/// Whether a request may be sent again if it is not known whether the first one arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The receiver recognizes the second one.
    Freely,
    /// A second one would be a second message.
    UnlessArrived,
}

/// Returns an address at which a path was appended to a base URL. Errors do not repeat it: it may
/// contain a secret. `what` it belongs to.
pub fn address(what: &str, url: &str) -> Result<Address, String> {
    Address::parse_encrypted_or_local(url).map_err(|error| match error {
        AddressError::NotEncrypted => NOT_ENCRYPTED.to_owned(),
        error => format!("the address of {what} {error}"),
    })
}

/// One request.
#[derive(Clone, Debug)]
pub struct Call {
    /// Where it goes.
    pub address: Address,
    /// Its method.
    pub method: Method,
    /// Its headers, besides the ones that every request has.
    pub headers: Vec<(&'static str, String)>,
    /// Its body.
    pub body: String,
}

impl Call {
    /// Creates a request with JSON.
    pub fn post_json(address: Address, json: &impl serde::Serialize) -> Result<Self, String> {
        let body = serde_json::to_string(json).map_err(|error| error.to_string())?;
        let headers = vec![("Content-Type", "application/json; charset=utf-8".to_owned())];
        Ok(Self { address, method: Method::POST, headers, body })
    }

    /// Creates a request for a resource.
    pub fn get(address: Address) -> Self {
        Self { address, method: Method::GET, headers: Vec::new(), body: String::new() }
    }

    /// Adds a token.
    pub fn bearer(mut self, token: Option<&str>) -> Self {
        self.headers.extend(token.map(|token| ("Authorization", format!("Bearer {token}"))));
        self
    }

    fn request(&self) -> Result<Request<String>, Failure> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(self.address.target())
            .header("Host", self.address.authority())
            .header("User-Agent", concat!("anyhook/", env!("CARGO_PKG_VERSION")))
            .header("Connection", "close");
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        request.body(self.body.clone()).map_err(|error| lasting(error.to_string()))
    }
}

/// An answer that has been read.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its body, as far as it was read.
    pub body: Bytes,
}

/// An answer that is being read. The connection ends with it.
#[derive(Debug)]
pub struct Stream {
    /// Its status.
    pub status: StatusCode,
    body: Incoming,
    _connection: JoinSet<()>,
}

impl Stream {
    /// Returns the next part of the body; `None` at its end.
    pub async fn next(&mut self) -> Option<Result<Bytes, Failure>> {
        loop {
            match poll_fn(|context| Pin::new(&mut self.body).poll_frame(context)).await? {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Err(error) => return Some(Err(unanswered(with_cause(&error)))),
            }
        }
    }
}

/// Sends requests. Certificates are read when they are needed first.
#[derive(Debug, Default)]
pub struct Http {
    encryption: Option<Encryption>,
}

impl Http {
    /// Returns the certificates, if the address needs them.
    pub fn encryption(&mut self, address: &Address) -> Result<Option<&Encryption>, Failure> {
        if !address.is_encrypted() {
            return Ok(None);
        }
        if self.encryption.is_none() {
            let encryption = Encryption::new(&[]).map_err(|error| lasting(error.to_string()))?;
            self.encryption = Some(encryption);
        }
        Ok(self.encryption.as_ref())
    }

    /// Sends a request, and returns when its answer begins.
    pub async fn open(&mut self, call: &Call) -> Result<Stream, Failure> {
        let encryption = self.encryption(&call.address)?;
        let transport = connect(&call.address, encryption).await.map_err(|error| Failure {
            is_passing: error.is_passing(),
            ..passing(error.to_string())
        })?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(transport))
            .await
            .map_err(|error| passing(with_cause(&error)))?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // Its errors are reported to whoever waits for the answer.
            let _ = connection.await;
        });
        let response = sender
            .send_request(call.request()?)
            .await
            .map_err(|error| unanswered(with_cause(&error)))?;
        let (head, body) = response.into_parts();
        Ok(Stream { status: head.status, body, _connection: driver })
    }

    /// Sends a request and reads its answer, whatever its status.
    pub async fn answer(&mut self, call: &Call) -> Result<Answer, Failure> {
        let mut stream = self.open(call).await?;
        let mut body = Vec::new();
        while body.len() < ANSWER_LIMIT
            && let Some(part) = stream.next().await
        {
            body.extend_from_slice(&part?);
        }
        Ok(Answer { status: stream.status, body: body.into() })
    }
}

/// Makes at most three attempts until the deadline. An error names the host, and nothing else of
/// the address.
pub async fn with_retries<T>(
    host: &str,
    deadline: Instant,
    repeat: Repeat,
    mut attempt: impl AsyncFnMut() -> Result<T, Failure>,
) -> Result<T, String> {
    let mut why = String::new();
    for tries_left in (0..TRIES).rev() {
        let left = deadline.saturating_duration_since(Instant::now());
        // A server that does not answer gets a second attempt while there is time for it.
        let is_last = tries_left == 0 || repeat == Repeat::UnlessArrived;
        let end = if is_last { deadline } else { Instant::now() + left / 2 };
        let failure = match timeout_at(end, attempt()).await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(failure)) => failure,
            Err(_) => unanswered("no answer in time"),
        };
        why = failure.why;
        let is_risky = failure.may_have_arrived && repeat == Repeat::UnlessArrived;
        if !failure.is_passing || is_risky || Instant::now() + PAUSE >= deadline {
            break;
        }
        if tries_left > 0 {
            sleep(PAUSE).await;
        }
    }
    Err(format!("{host}: {why}"))
}

/// Returns an error unless the status is one of success.
pub fn judge(status: StatusCode) -> Result<(), Failure> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_url_is_told_without_repeating_it() {
        assert!(address("the webhook", "http://127.0.0.1:9/").is_ok());
        assert_eq!(address("the webhook", "http://example.com"), Err(NOT_ENCRYPTED.to_owned()));
        for url in ["", "hunter2", "ftp://hunter2", "https://me:hunter2@host/", "https:///x"] {
            let why = address("the webhook", url).unwrap_err();
            assert!(why.contains("the webhook") && !why.contains("hunter2"), "{url}: {why}");
        }
    }
}

//! A model client for any server that speaks `OpenAI`'s chat completions API.
//!
//! [`OpenAiModel`] sends a `POST` to `…/chat/completions` and streams the answer. Each request has
//! a connection of its own: dropping the answer closes it, and the server can stop its work.
//! Servers that do not stream and send one JSON object are supported, too.
//!
//! Until the answer starts, a request is retried when the server cannot be reached or answers 429
//! or 5xx ([`OpenAiModel::retries`]). After that, each failure is a [`ModelError`] in the stream;
//! nothing is sent twice.

mod answer;
mod connection;
mod reader;
mod request;
mod retry;
mod secrets;
mod sse;
mod stream;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anyhook_http::{Address, AddressError, Encryption};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT,
};
use hyper::{HeaderMap, Method, Request};
use serde_json::{Map, Value};
use tokio::sync::OnceCell;

use crate::agent::{Model, ModelError, ModelRequest, ModelStream};
use crate::function::BoxFuture;
use connection::{Connection, HttpReply};
use reader::BodyReader;
use secrets::Secrets;
use stream::AnswerStream;

/// The base URL if none is given.
const PUBLIC_BASE_URL: &str = "https://api.openai.com/v1";

/// How much of an answer with an error status is read, in bytes.
const REFUSAL_BYTES: usize = 64 * 1024;

/// A model on a server that speaks `OpenAI`'s chat completions API.
///
/// ```no_run
/// use std::time::Duration;
///
/// use anyhook_sdk::openai::OpenAiModel;
///
/// let local = OpenAiModel::new("http://localhost:11434/v1", "qwen3")
///     .temperature(0.2)
///     .idle_timeout(Duration::from_secs(300));
/// let public = OpenAiModel::from_environment("gpt-4.1-mini");
/// ```
///
/// The API key and the values of headers are shown nowhere:
///
/// ```
/// # use anyhook_sdk::openai::OpenAiModel;
/// let model = OpenAiModel::new("https://example.org/v1", "m").api_key("sk-secret");
/// assert!(!format!("{model:?}").contains("secret"));
/// ```
#[derive(Clone)]
pub struct OpenAiModel {
    base_url: String,
    model: String,
    api_key: Option<String>,
    headers: Vec<(String, String)>,
    parameters: Map<String, Value>,
    root_certificates: Vec<u8>,
    connect_timeout: Duration,
    idle_timeout: Duration,
    retries: u32,
    longest_answer: usize,
    /// Made once: reading the system's certificates takes a while.
    encryption: Arc<OnceCell<Encryption>>,
}

impl OpenAiModel {
    /// Makes a model on a server: the base URL is what comes before `/chat/completions`.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            api_key: None,
            headers: Vec::new(),
            parameters: Map::new(),
            root_certificates: Vec::new(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(60),
            retries: 2,
            longest_answer: 16 * 1024 * 1024,
            encryption: Arc::default(),
        }
    }

    /// Makes a model on the server in `OPENAI_BASE_URL`, else `OpenAI`'s own, with the key in
    /// `OPENAI_API_KEY`, if there is one.
    pub fn from_environment(model: impl Into<String>) -> Self {
        Self::from_variables(model, |name| std::env::var(name).ok())
    }

    fn from_variables(model: impl Into<String>, variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name| variable(name).filter(|value| !value.trim().is_empty());
        let base_url = set("OPENAI_BASE_URL").unwrap_or_else(|| PUBLIC_BASE_URL.to_owned());
        Self::new(base_url, model).api_key(set("OPENAI_API_KEY").unwrap_or_default())
    }

    /// Sets the API key, sent as `Authorization: Bearer …`; an empty key is not sent.
    pub fn api_key(mut self, key: impl AsRef<str>) -> Self {
        let key = key.as_ref().trim();
        self.api_key = (!key.is_empty()).then(|| key.to_owned());
        self
    }

    /// Adds a header to each request. It replaces a default header of the same name.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the temperature. Without it, the server chooses.
    pub fn temperature(self, temperature: f64) -> Self {
        self.parameter("temperature", temperature)
    }

    /// Sets how many tokens an answer may have. Without it, the server chooses.
    pub fn max_tokens(self, tokens: u32) -> Self {
        self.parameter("max_tokens", tokens)
    }

    /// Sets any other field of the request; null removes a default field.
    ///
    /// ```
    /// # use anyhook_sdk::openai::OpenAiModel;
    /// # use serde_json::Value;
    /// let model = OpenAiModel::new("http://localhost:8000/v1", "m")
    ///     .parameter("max_completion_tokens", 1000)
    ///     // For a server that does not know the field.
    ///     .parameter("stream_options", Value::Null);
    /// ```
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// Trusts these certificates (PEM) in addition to those of the system.
    pub fn root_certificates(mut self, certificates: impl AsRef<[u8]>) -> Self {
        self.root_certificates.extend_from_slice(certificates.as_ref());
        self.root_certificates.push(b'\n');
        self.encryption = Arc::default();
        self
    }

    /// Sets how long connecting may take, TLS included; 10 seconds by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long the server may be silent, before and during its answer; 60 seconds by default.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// Sets how often a request is retried before its answer has started; 2 by default.
    ///
    /// A server's `Retry-After` is respected, up to 30 seconds.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets how long an answer may be, in bytes; 16 MiB by default. A longer one is
    /// [garbage](ModelError::Garbage).
    pub fn longest_answer(mut self, bytes: usize) -> Self {
        self.longest_answer = bytes;
        self
    }

    async fn answer(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let address = self.address()?;
        let headers = self.request_headers(&address)?;
        let body = request::body(&self.model, &request, &self.parameters).to_string();
        let secrets = self.secrets();
        let target = address.clone().join("chat/completions").target();
        let encryption = if address.is_encrypted() { Some(self.encryption().await?) } else { None };

        let mut tries = 0;
        loop {
            tries += 1;
            let opened =
                Connection::open(&address, encryption.as_ref(), self.connect_timeout).await;
            let (error, asked_for) = match opened {
                Ok(connection) => {
                    let mut request = Request::new(body.clone());
                    *request.method_mut() = Method::POST;
                    *request.uri_mut() = target.parse().map_err(|_| {
                        ModelError::Unreachable("the base URL has an invalid path".to_owned())
                    })?;
                    *request.headers_mut() = headers.clone();
                    let reply = connection.send(request, self.idle_timeout).await?;
                    let status = reply.response.status();
                    if status.is_success() {
                        let reader = BodyReader::new(status.as_u16(), self.longest_answer, secrets);
                        return Ok(Box::pin(AnswerStream::new(reply, reader, self.idle_timeout)));
                    }
                    let asked_for =
                        retry::asked_for(reply.response.headers(), jiff::Timestamp::now());
                    let error = self.refusal(reply, &secrets).await;
                    if !retry::is_passing(status.as_u16()) {
                        return Err(error);
                    }
                    (error, asked_for)
                }
                Err(failure) if failure.is_passing => (failure.error, None),
                Err(failure) => return Err(failure.error),
            };
            if tries > self.retries {
                return Err(error);
            }
            tokio::time::sleep(retry::pause(tries, asked_for)).await;
        }
    }

    /// Reads the error of a server that refuses the request.
    async fn refusal(&self, reply: HttpReply, secrets: &Secrets) -> ModelError {
        let status = reply.response.status();
        let body = reply.beginning(REFUSAL_BYTES, self.idle_timeout).await;
        let message = serde_json::from_slice(&body).ok().as_ref().and_then(answer::message_in);
        let message = message.unwrap_or_else(|| String::from_utf8_lossy(&body).into_owned());
        let message = match message.trim() {
            "" => status.canonical_reason().unwrap_or("no reason").to_owned(),
            message => secrets.excerpt(message),
        };
        ModelError::Refused { status: status.as_u16(), message }
    }

    fn secrets(&self) -> Arc<Secrets> {
        let headers = self.headers.iter().map(|(_, value)| value.as_str());
        Arc::new(Secrets::new(self.api_key.as_deref(), headers))
    }

    fn request_headers(&self, address: &Address) -> Result<HeaderMap, ModelError> {
        let wrong = |what: &str| ModelError::Unreachable(format!("{what} cannot be sent"));
        let mut headers = HeaderMap::new();
        headers.insert(HOST, address.authority().parse().map_err(|_| wrong("the host"))?);
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("anyhook-sdk/", env!("CARGO_PKG_VERSION"))),
        );
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.api_key {
            let mut value: HeaderValue =
                format!("Bearer {key}").parse().map_err(|_| wrong("the API key"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        for (name, value) in &self.headers {
            let failed = || wrong(&format!("the header `{name}`"));
            let mut value: HeaderValue = value.parse().map_err(|_| failed())?;
            value.set_sensitive(true);
            let name: HeaderName = name.parse().map_err(|_| failed())?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// Parses the base URL. A server on another machine need not use TLS: it may be behind a
    /// tunnel, or in a private network.
    fn address(&self) -> Result<Address, ModelError> {
        Address::parse(self.base_url.trim()).map_err(|error| {
            let more = match error {
                AddressError::User => "; use `api_key` or `header`",
                _ => "",
            };
            ModelError::Unreachable(format!("the base URL {error}{more}"))
        })
    }

    async fn encryption(&self) -> Result<Encryption, ModelError> {
        let make = async || {
            let own = self.root_certificates.clone();
            // The system's certificates are files.
            let making = tokio::task::spawn_blocking(move || connection::encryption(&own));
            making.await.map_err(|error| ModelError::Unreachable(error.to_string()))?
        };
        self.encryption.get_or_try_init(make).await.cloned()
    }
}

impl Model for OpenAiModel {
    fn ask(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelStream, ModelError>> {
        Box::pin(self.answer(request))
    }
}

impl fmt::Debug for OpenAiModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address =
            self.address().map_or_else(|error| error.to_string(), |address| address.to_string());
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        formatter
            .debug_struct("OpenAiModel")
            .field("base_url", &address)
            .field("model", &self.model)
            .field("api_key", &self.api_key.as_ref().map(|_| "***"))
            .field("headers", &headers)
            .field("parameters", &self.parameters)
            .field("connect_timeout", &self.connect_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("retries", &self.retries)
            .field("longest_answer", &self.longest_answer)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_server_and_the_key() {
        let variables = |name: &str| match name {
            "OPENAI_BASE_URL" => Some("http://localhost:1/v1?key=hidden".to_owned()),
            "OPENAI_API_KEY" => Some("sk-secret\n".to_owned()),
            name => panic!("{name} is read"),
        };
        let model = OpenAiModel::from_variables("m", variables).header("api-key", "hidden");
        assert_eq!(model.base_url, "http://localhost:1/v1?key=hidden");
        assert_eq!(model.api_key.as_deref(), Some("sk-secret"));
        let shown = format!("{model:?}");
        assert!(shown.contains("http://localhost:1/v1") && shown.contains("api-key"), "{shown}");
        assert!(!shown.contains("secret") && !shown.contains("hidden"), "{shown}");
    }

    #[test]
    fn what_is_no_base_url_is_refused_without_repeating_it() {
        for url in ["", "secret", "/v1", "ftp://secret", "http://", "https://me:secret@host/v1"] {
            let error = OpenAiModel::new(url, "m").address().unwrap_err().to_string();
            assert!(error.contains("the base URL") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn an_empty_environment_is_the_public_server_without_a_key() {
        for value in [None, Some(String::new())] {
            let model = OpenAiModel::from_variables("m", |_| value.clone());
            assert_eq!((model.base_url.as_str(), model.api_key), (PUBLIC_BASE_URL, None));
        }
    }
}

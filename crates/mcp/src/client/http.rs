//! HTTP requests to an MCP server, one connection each: the transport client of `rmcp`'s session.
//!
//! Its own client would bring a second TLS and forty more crates. Answers are bounded here, where
//! they arrive.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use anyhook_http::{Address, AddressError, ConnectError, Encryption, connect, with_cause};
use bytes::Bytes;
use futures_core::Stream;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use serde::de::IgnoredAny;
use sse_stream::{Sse, SseStream};

use super::transport_errors::TransportErrors;
use crate::error::{ServerError, beginning};

const SESSION: &str = "mcp-session-id";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
/// Maximum number of bytes that are read from the body of a refusal.
const REFUSAL: usize = 4096;

/// A client for one server.
#[derive(Clone, Debug)]
pub(super) struct HttpClient {
    shared: Arc<HttpState>,
}

#[derive(Debug)]
struct HttpState {
    address: Address,
    encryption: Option<Encryption>,
    headers: Vec<(HeaderName, HeaderValue)>,
    longest: usize,
    seen: TransportErrors,
}

/// What went wrong is kept in [`TransportErrors`]; the library only needs to know that something
/// did.
#[derive(Debug, thiserror::Error)]
#[error("the request failed")]
pub(super) struct Failed;

type Failure = StreamableHttpError<Failed>;

impl HttpClient {
    pub(super) fn new(
        url: &str,
        headers: &[(String, String)],
        longest: usize,
        seen: TransportErrors,
    ) -> Result<Self, ServerError> {
        let address = Address::parse_encrypted_or_local(url).map_err(wrong_address)?;
        let encryption = if address.is_encrypted() {
            let made = Encryption::new(&[]);
            Some(made.map_err(|error| ServerError::Unreachable(error.to_string()))?)
        } else {
            None
        };
        let headers = headers
            .iter()
            .map(|(name, value)| {
                // The value may be a secret.
                let wrong =
                    || ServerError::Address(format!("has a header that cannot be sent: {name}"));
                let name = HeaderName::try_from(name).map_err(|_| wrong())?;
                Ok((name, HeaderValue::try_from(value).map_err(|_| wrong())?))
            })
            .collect::<Result<_, ServerError>>()?;
        Ok(Self { shared: Arc::new(HttpState { address, encryption, headers, longest, seen }) })
    }

    fn failed(&self, fault: ServerError) -> Failure {
        self.shared.seen.fatal(fault);
        StreamableHttpError::Client(Failed)
    }

    async fn send(
        &self,
        method: Method,
        body: String,
        session: Option<Arc<str>>,
        more: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Response<Incoming>, ServerError> {
        let HttpState { address, encryption, headers, .. } = &*self.shared;
        let mut request = Request::builder()
            .method(method)
            .uri(address.target())
            .header(HOST, address.authority())
            .header(USER_AGENT, concat!("anyhook/", env!("CARGO_PKG_VERSION")))
            .header("Connection", "close")
            .header(CONTENT_TYPE, JSON)
            .header(ACCEPT, format!("{JSON}, {EVENTS}"));
        if let Some(session) = session {
            request = request.header(SESSION, &*session);
        }
        for (name, value) in headers.iter().map(|(name, value)| (name, value)).chain(&more) {
            request = request.header(name, value);
        }
        let request =
            request.body(body).map_err(|error| ServerError::Address(error.to_string()))?;
        let transport = connect(address, encryption.as_ref()).await.map_err(not_connected)?;
        let closed = |error: hyper::Error| ServerError::Unreachable(with_cause(&error));
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(transport)).await.map_err(closed)?;
        // Its errors are reported to the caller that waits for the answer.
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(closed)
    }

    fn bounded(&self, body: Incoming, limit: usize) -> Bounded {
        Bounded { body, left: limit, limit, seen: self.shared.seen.clone() }
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = Failed;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let body = serde_json::to_string(&message)?;
        let response = self
            .send(Method::POST, body, session, headers)
            .await
            .map_err(|fault| self.failed(fault))?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let header = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
        let (kind, session) = (header("content-type").unwrap_or_default(), header(SESSION));
        let longest = self.shared.longest;
        if !status.is_success() {
            // If a body is too long or breaks off, the beginning is enough.
            let mut body = Vec::new();
            let mut incoming = response.into_body();
            while body.len() < REFUSAL
                && let Some(Ok(frame)) = next(&mut incoming).await
            {
                body.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            }
            let body = beginning(&body);
            return Err(self.failed(ServerError::Status { status: status.as_u16(), body }));
        }
        let body = self.bounded(response.into_body(), longest);
        if kind.starts_with(EVENTS) {
            let events = SseStream::new(body);
            let events = Events { events, seen: self.shared.seen.clone() };
            return Ok(StreamableHttpPostResponse::Sse(Box::pin(events), session));
        }
        let body = body.collect().await.map_err(StreamableHttpError::Io)?;
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
            // No one waits for an answer to a notification.
            Err(_) if !is_request => Ok(StreamableHttpPostResponse::Accepted),
            Err(_) => Err(self.failed(ServerError::Garbage(beginning(&body)))),
        }
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        // A server that does not allow sessions to be deleted keeps it.
        let sent = self.send(Method::DELETE, String::new(), Some(session), headers).await;
        sent.map(drop).map_err(|_| StreamableHttpError::Client(Failed))
    }

    /// Answers come with the request; unsolicited messages of a server have no reader here.
    async fn get_stream(
        &self,
        _: Arc<str>,
        _: Option<Arc<str>>,
        _: Option<String>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxedEvents, Failure> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

type BoxedEvents = Pin<Box<dyn Stream<Item = Result<Sse, sse_stream::Error>> + Send>>;

/// A body of bounded length: more is an error before it is in memory.
#[derive(Debug)]
struct Bounded {
    body: Incoming,
    left: usize,
    limit: usize,
    seen: TransportErrors,
}

impl Bounded {
    async fn collect(mut self) -> io::Result<Vec<u8>> {
        let mut whole = Vec::new();
        while let Some(frame) = next(&mut self).await {
            whole.extend_from_slice(frame?.data_ref().map_or(&[][..], |data| data));
        }
        Ok(whole)
    }
}

impl Body for Bounded {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            None => return Poll::Ready(None),
            Some(Ok(frame)) => frame,
            Some(Err(error)) => {
                self.seen.partial(true);
                self.seen.ended();
                return Poll::Ready(Some(Err(io::Error::other(error))));
            }
        };
        let length = frame.data_ref().map_or(0, Bytes::len);
        let Some(left) = self.left.checked_sub(length) else {
            self.seen.fatal(ServerError::TooLong { limit: self.limit });
            return Poll::Ready(Some(Err(io::ErrorKind::InvalidData.into())));
        };
        self.left = left;
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

async fn next<B: Body + Unpin>(body: &mut B) -> Option<Result<Frame<B::Data>, B::Error>> {
    std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await
}

/// Events; those that are not a message are recorded.
struct Events {
    events: SseStream<Bounded>,
    seen: TransportErrors,
}

impl Stream for Events {
    type Item = Result<Sse, sse_stream::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let event = ready!(Pin::new(&mut self.events).poll_next(context));
        if let Some(Ok(Sse { data: Some(data), .. })) = &event
            && !data.is_empty()
            && serde_json::from_str::<IgnoredAny>(data).is_err()
        {
            self.seen.noise(beginning(data.as_bytes()));
        }
        Poll::Ready(event)
    }
}

fn wrong_address(error: AddressError) -> ServerError {
    ServerError::Address(match error {
        AddressError::User => format!("{error}; use `headers`"),
        error => error.to_string(),
    })
}

fn not_connected(error: ConnectError) -> ServerError {
    match error {
        ConnectError::Address(error) => wrong_address(error),
        ConnectError::Name(why) => ServerError::Address(why),
        error => ServerError::Unreachable(error.to_string()),
    }
}

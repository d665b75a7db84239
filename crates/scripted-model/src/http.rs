//! A minimal HTTP/1.1 server for agents that talk to a model: one request per connection.

use std::io::{self, BufRead, Read, Write};
use std::time::SystemTime;

use serde_json::Value;

/// A longer line is not a header.
const LINE_LIMIT: u64 = 64 * 1024;
/// A longer body is not a conversation.
const BODY_LIMIT: u64 = 64 * 1024 * 1024;

pub(super) struct HttpRequest {
    pub(super) method: String,
    /// Without the query.
    pub(super) path: String,
    /// A string if it is not JSON, null if there is none.
    pub(super) body: Value,
}

pub(super) enum HttpReply {
    Json(Value),
    /// A stream of server-sent events.
    Events(Vec<SseEvent>),
    /// An HTTP status that is not a success, and its body.
    Refusal(u16, Value),
}

pub(super) struct SseEvent {
    /// The event's type, if the dialect sends it next to the data.
    pub(super) name: Option<String>,
    pub(super) data: String,
}

impl SseEvent {
    pub(super) fn unnamed(data: &Value) -> Self {
        Self { name: None, data: data.to_string() }
    }

    /// Makes an event that is named after its data's `type`.
    pub(super) fn named(data: &Value) -> Self {
        Self { name: data["type"].as_str().map(str::to_owned), data: data.to_string() }
    }
}

/// Reads a request; `None` if the client hung up without sending one.
pub(super) fn read(stream: &mut impl BufRead) -> io::Result<Option<HttpRequest>> {
    let first = line(stream)?;
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let mut body = Vec::new();
    match body_length(stream)? {
        Length::Known(length) if length > BODY_LIMIT => return Err(too_large()),
        Length::Known(length) => drop(stream.take(length).read_to_end(&mut body)?),
        Length::Chunked => read_chunks(stream, &mut body)?,
    }
    let path = target.split('?').next().unwrap_or_default().to_owned();
    Ok(Some(HttpRequest { method: method.to_owned(), path, body: parse(&body) }))
}

enum Length {
    Known(u64),
    Chunked,
}

/// Reads the headers, of which only those about the body's length matter.
fn body_length(stream: &mut impl BufRead) -> io::Result<Length> {
    let mut length = Length::Known(0);
    loop {
        let header = line(stream)?;
        let Some((name, value)) = header.split_once(':') else { return Ok(length) };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = Length::Known(value.trim().parse().unwrap_or(0)),
            "transfer-encoding" if value.contains("chunked") => length = Length::Chunked,
            _ => {}
        }
    }
}

fn read_chunks(stream: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let size = line(stream)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
        if size > BODY_LIMIT.saturating_sub(body.len() as u64) {
            return Err(too_large());
        }
        stream.take(size).read_to_end(body)?;
        line(stream)?;
        if size == 0 {
            return Ok(());
        }
    }
}

fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if stream.take(LINE_LIMIT).read_line(&mut line)? as u64 == LINE_LIMIT {
        return Err(too_large());
    }
    Ok(line.trim_end().to_owned())
}

fn too_large() -> io::Error {
    io::Error::other("a request that is too large")
}

fn parse(body: &[u8]) -> Value {
    if body.is_empty() {
        return Value::Null;
    }
    let text = || Value::String(String::from_utf8_lossy(body).into_owned());
    serde_json::from_slice(body).unwrap_or_else(|_| text())
}

/// Writes a reply in one piece; returns the time just before.
pub(super) fn write(mut stream: impl Write, reply: &HttpReply) -> io::Result<SystemTime> {
    let (status, kind, body) = match reply {
        HttpReply::Json(body) => (200, "application/json", body.to_string()),
        HttpReply::Events(events) => {
            (200, "text/event-stream", events.iter().map(event_text).collect())
        }
        HttpReply::Refusal(status, body) => (*status, "application/json", body.to_string()),
    };
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    );
    let now = SystemTime::now();
    stream.write_all(text.as_bytes())?;
    Ok(now)
}

fn event_text(event: &SseEvent) -> String {
    let name = event.name.as_ref().map_or_else(String::new, |name| format!("event: {name}\n"));
    format!("{name}data: {}\n\n", event.data)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_chunks() {
        let text = "POST /a?b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
                    4\r\n{\"a\"\r\n3;x\r\n:1}\r\n0\r\n\r\n";
        let request = read(&mut text.as_bytes()).unwrap().unwrap();
        assert_eq!((request.path.as_str(), request.body), ("/a", json!({"a": 1})));
    }

    #[test]
    fn refuses_what_is_too_large() {
        let length = BODY_LIMIT + 1;
        let long_line = format!("POST /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000));
        for text in [
            format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{{}}"),
            format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{{}}"),
            long_line,
        ] {
            assert!(read(&mut text.as_bytes()).is_err(), "{text:.80}");
        }
    }

    #[test]
    fn takes_what_is_no_json_as_text() {
        let text = "POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{]";
        assert_eq!(read(&mut text.as_bytes()).unwrap().unwrap().body, json!("{]"));
        assert!(read(&mut "".as_bytes()).unwrap().is_none());
    }
}

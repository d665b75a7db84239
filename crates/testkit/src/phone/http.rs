//! A small HTTP server: a thread for each connection, one request on each.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// What a server got.
#[derive(Debug)]
pub struct StandInRequest {
    /// `POST` or `GET`.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query.
    pub query: String,
    head: String,
    /// The body.
    pub body: String,
}

impl StandInRequest {
    /// Returns a header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Returns the body as JSON; null if it is something else.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Returns the value of a parameter in the query.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// What a server answers.
pub enum StandInResponse {
    /// A status and JSON.
    Json(u16, Value),
    /// Lines, as long as this returns some; an empty text keeps the connection open.
    Lines(Box<dyn FnMut() -> Option<String> + Send>),
}

impl std::fmt::Debug for StandInResponse {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("StandInResponse")
    }
}

type Handler = dyn Fn(StandInRequest) -> StandInResponse + Send + Sync;

/// A server on this machine. Ends when it is dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Server({})", self.address)
    }
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    /// The status that every request gets; 0 if none.
    failing: AtomicU16,
    requests: AtomicUsize,
}

impl Server {
    /// Starts a server.
    pub fn start(
        handler: impl Fn(StandInRequest) -> StandInResponse + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let handler: Arc<Handler> = Arc::new(handler);
        let ours = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ours.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let (handler, ours) = (Arc::clone(&handler), Arc::clone(&ours));
                // Whoever hangs up in the middle is no failure of the test.
                thread::spawn(move || serve(&stream, &handler, &ours));
            }
        });
        Self { address, shared }
    }

    /// Returns its address, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on every request gets this status; with `None`, what it should.
    pub fn fail(&self, status: Option<u16>) {
        self.shared.failing.store(status.unwrap_or(0), Ordering::SeqCst);
    }

    /// Returns how many requests have come so far.
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
    }
}

fn serve(stream: &TcpStream, handler: &Arc<Handler>, shared: &Arc<Shared>) -> Option<()> {
    let request = read(stream)?;
    shared.requests.fetch_add(1, Ordering::SeqCst);
    let failing = shared.failing.load(Ordering::SeqCst);
    let response = match failing {
        0 => handler(request),
        status => StandInResponse::Json(status, Value::Null),
    };
    match response {
        StandInResponse::Json(status, value) => {
            let body = value.to_string();
            let head = format!(
                "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n",
                body.len()
            );
            (&*stream).write_all(format!("{head}{body}").as_bytes()).ok()?;
        }
        StandInResponse::Lines(mut next) => {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            (&*stream).write_all(head.as_bytes()).ok()?;
            while !shared.is_over.load(Ordering::SeqCst)
                && shared.failing.load(Ordering::SeqCst) == 0
                && let Some(line) = next()
            {
                if !line.is_empty() {
                    let chunk = format!("{:x}\r\n{line}\n\r\n", line.len() + 1);
                    (&*stream).write_all(chunk.as_bytes()).ok()?;
                }
            }
        }
    }
    stream.shutdown(Shutdown::Both).ok()
}

fn read(stream: &TcpStream) -> Option<StandInRequest> {
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let mut words = head.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut request = StandInRequest { method, path, query, head, body: String::new() };
    let length = request.header("Content-Length").and_then(|length| length.parse().ok());
    reader.take(length.unwrap_or(0)).read_to_string(&mut request.body).ok()?;
    Some(request)
}

/// Posts a body, as a phone does when a button is pressed. Returns the status.
pub fn post(url: &str, body: &str) -> u16 {
    let rest = url.strip_prefix("http://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(authority).unwrap();
    let request = format!(
        "POST /{path} HTTP/1.1\r\nHost: {authority}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut status = String::new();
    BufReader::new(stream).read_line(&mut status).unwrap();
    status.split(' ').nth(1).unwrap().parse().unwrap()
}

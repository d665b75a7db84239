//! A scripted model server: the other side of an agent's conversation, on a local socket.
//!
//! It speaks Anthropic Messages, `OpenAI` Responses, `OpenAI` Chat Completions and Gemini, streamed
//! or whole as the client asks. Each request of the main conversation gets the script's next turn;
//! after the last one the model says "done". Concurrent agents each have a script of their own,
//! selected by the content of their requests. Side requests (titles, lists of models, token counts)
//! get a harmless answer and use up no turn. All requests are recorded.
//!
//! `anyhook doctor --prove` and the tests run agents with it. It answers this machine only, one
//! thread per connection, within limits of size, number and time, and ends when it is dropped.

mod anthropic;
mod chat;
mod gemini;
mod http;
mod responses;
#[cfg(test)]
mod tests;

use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use rustix::net::Shutdown;
use serde_json::{Value, json};

use http::{HttpReply, HttpRequest};

/// At most this many connections are served at once.
const CONNECTION_LIMIT: usize = 64;
/// At most this many requests of the main conversation are answered.
const REQUEST_LIMIT: usize = 1000;
/// How long a client may take to send or to read something.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);

/// The model's answer to one request.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelTurn {
    /// A text, which ends its turn.
    Text(String),
    /// Tool calls, all at once.
    Tools(Vec<ModelCall>),
    /// It is not available: an HTTP status and a message.
    Refusal(u16, String),
}

/// A tool call of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    /// The agent's own name of the tool.
    pub name: String,
    /// The tool's input: an object, or a string for a tool that takes free text.
    pub input: Value,
}

impl ModelTurn {
    /// Makes a turn with a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Makes a turn that calls one tool.
    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::Tools(vec![ModelCall { name: name.into(), input }])
    }

    /// Makes a turn in which the model is not available, such as 429.
    pub fn refusal(status: u16, message: impl Into<String>) -> Self {
        Self::Refusal(status, message.into())
    }

    /// Combines two turns that call tools into one: they are called together.
    ///
    /// # Panics
    ///
    /// If one of them is not a call: the script itself is wrong.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Tools(calls), Self::Tools(more)) => Self::Tools([calls, more].concat()),
            texts => panic!("only tool calls can be joined: {texts:?}"),
        }
    }

    fn calls(&self) -> &[ModelCall] {
        match self {
            Self::Text(_) | Self::Refusal(..) => &[],
            Self::Tools(calls) => calls,
        }
    }
}

/// A request that was not part of the main conversation.
#[derive(Clone, Debug)]
pub struct SideRequest {
    /// The method and the path, as in `POST /v1/messages`.
    pub target: String,
    /// The body; null if there was none.
    pub body: Value,
}

/// A model server in a thread of its own, stopped when dropped.
#[derive(Debug)]
pub struct ModelServer {
    listener: Arc<TcpListener>,
    conversation: Arc<Mutex<Conversation>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Conversation {
    script: Vec<ModelTurn>,
    parts: Vec<RequestScript>,
    heavy: Vec<HeavyText>,
    requests: Vec<Value>,
    /// When each of them was answered.
    sent: Vec<Option<SystemTime>>,
    side_requests: Vec<SideRequest>,
}

/// A script of its own for every request that contains a text.
#[derive(Debug)]
struct RequestScript {
    mark: String,
    script: std::vec::IntoIter<ModelTurn>,
}

/// A text that makes every request with it count as one of many tokens.
#[derive(Debug)]
struct HeavyText {
    text: String,
    tokens: u32,
}

impl ModelServer {
    /// Starts a server on a free port.
    pub fn start(script: Vec<ModelTurn>) -> io::Result<Self> {
        Ok(Self::on(TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?, script))
    }

    /// Starts a server on a socket, which may belong to another network namespace.
    pub fn on(listener: TcpListener, script: Vec<ModelTurn>) -> Self {
        let listener = Arc::new(listener);
        let conversation = Arc::new(Mutex::new(Conversation {
            script,
            parts: Vec::new(),
            heavy: Vec::new(),
            requests: Vec::new(),
            sent: Vec::new(),
            side_requests: Vec::new(),
        }));
        let thread = thread::spawn({
            let (listener, conversation) = (Arc::clone(&listener), Arc::clone(&conversation));
            move || serve(&listener, &conversation)
        });
        Self { listener, conversation, thread: Some(thread) }
    }

    /// Returns where the server listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the requests so far: the bodies of the main conversation's requests.
    pub fn requests(&self) -> Vec<Value> {
        lock(&self.conversation).requests.clone()
    }

    /// Returns when the answer to a request of the main conversation, counted from 0, was
    /// completely passed to the client; `None` if that has not happened yet.
    pub fn sent_at(&self, request: usize) -> Option<SystemTime> {
        lock(&self.conversation).sent.get(request).copied().flatten()
    }

    /// Adds turns to the script.
    pub fn add_turns(&self, turns: impl IntoIterator<Item = ModelTurn>) {
        lock(&self.conversation).script.extend(turns);
    }

    /// Adds a script of its own for every request that contains a text.
    pub fn add_part(&self, mark: impl Into<String>, turns: impl Into<Vec<ModelTurn>>) {
        let part = RequestScript { mark: mark.into(), script: turns.into().into_iter() };
        lock(&self.conversation).parts.push(part);
    }

    /// Reports every request that contains a text as one of so many tokens, as if the text were that
    /// long: agents then compact the conversation.
    pub fn count_as(&self, text: impl Into<String>, tokens: u32) {
        lock(&self.conversation).heavy.push(HeavyText { text: text.into(), tokens });
    }

    /// Returns the other requests so far.
    pub fn side_requests(&self) -> Vec<SideRequest> {
        lock(&self.conversation).side_requests.clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        // Wakes the thread that waits for a connection; a connection of our own could not reach a
        // socket of another network namespace.
        let _ = rustix::net::shutdown(&*self.listener, Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

/// Returns whether any string within a request contains a text.
pub fn tells(request: &Value, text: &str) -> bool {
    match request {
        Value::String(string) => string.contains(text),
        Value::Array(items) => items.iter().any(|item| tells(item, text)),
        Value::Object(fields) => fields.values().any(|field| tells(field, text)),
        _ => false,
    }
}

fn serve(listener: &TcpListener, conversation: &Arc<Mutex<Conversation>>) {
    let open = Arc::new(AtomicUsize::new(0));
    while let Ok((stream, peer)) = listener.accept() {
        if !peer.ip().is_loopback() || open.load(Ordering::Relaxed) >= CONNECTION_LIMIT {
            continue;
        }
        let (conversation, open) = (Arc::clone(conversation), Arc::clone(&open));
        open.fetch_add(1, Ordering::Relaxed);
        thread::spawn(move || {
            // A client that disconnects is not our concern.
            drop(converse(&stream, &conversation));
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn converse(stream: &TcpStream, conversation: &Mutex<Conversation>) -> io::Result<()> {
    stream.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    stream.set_write_timeout(Some(CLIENT_TIMEOUT))?;
    let Some(request) = http::read(&mut BufReader::new(stream))? else { return Ok(()) };
    let (reply, number) = lock(conversation).reply(&request);
    let sent = http::write(stream, &reply)?;
    if let Some(number) = number {
        lock(conversation).sent[number] = Some(sent);
    }
    Ok(())
}

impl Conversation {
    /// Returns the reply, and the request's number if it is one of the main conversation.
    fn reply(&mut self, request: &HttpRequest) -> (HttpReply, Option<usize>) {
        let body = &request.body;
        let Some(dialect) = Dialect::of(request) else {
            self.note_side_request(request);
            return (small_talk(request), None);
        };
        if !dialect.offers_tools(body) {
            self.note_side_request(request);
            let title = ModelTurn::text("Scripted title");
            let answer = Answer { number: self.side_requests.len(), tokens: INPUT_TOKENS };
            return (dialect.reply(request, &title, answer), None);
        }
        let number = self.requests.len();
        if number >= REQUEST_LIMIT {
            return (refusal(503, "the script is over"), None);
        }
        let turn = match self.parts.iter_mut().find(|part| tells(body, &part.mark)) {
            Some(part) => part.script.next(),
            None => self.script.get(number).cloned(),
        };
        let turn = turn.unwrap_or_else(|| ModelTurn::text("done"));
        let heavy = self.heavy.iter().find(|heavy| tells(body, &heavy.text));
        let tokens = heavy.map_or(INPUT_TOKENS, |heavy| heavy.tokens);
        self.requests.push(body.clone());
        self.sent.push(None);
        let reply = match &turn {
            ModelTurn::Refusal(status, message) => refusal(*status, message),
            turn => dialect.reply(request, turn, Answer { number: number + 1, tokens }),
        };
        (reply, Some(number))
    }

    fn note_side_request(&mut self, request: &HttpRequest) {
        let target = format!("{} {}", request.method, request.path);
        self.side_requests.push(SideRequest { target, body: request.body.clone() });
    }
}

/// The API that a client uses.
#[derive(Clone, Copy)]
enum Dialect {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

impl Dialect {
    fn of(request: &HttpRequest) -> Option<Self> {
        let path = request.path.as_str();
        match request.method.as_str() {
            "POST" if path.ends_with("/messages") => Some(Self::Anthropic),
            "POST" if path.ends_with("/responses") => Some(Self::Responses),
            "POST" if path.ends_with("/chat/completions") => Some(Self::Chat),
            "POST" if path.ends_with(":generateContent") => Some(Self::Gemini),
            "POST" if path.ends_with(":streamGenerateContent") => Some(Self::Gemini),
            _ => None,
        }
    }

    /// Returns whether the model may call tools: only in the main conversation.
    fn offers_tools(self, body: &Value) -> bool {
        // Codex requests a title this way, though it offers a tool.
        if matches!(self, Self::Responses) && body["text"]["format"].is_object() {
            return false;
        }
        // Its newest models are told of their tools in the conversation.
        let items = body["input"].as_array().into_iter().flatten();
        if items.into_iter().any(|item| item["type"] == "additional_tools") {
            return true;
        }
        let Some(tools) = body["tools"].as_array() else { return false };
        // Grok requests a title this way.
        if matches!(self, Self::Chat) && body["tool_choice"].is_object() {
            return false;
        }
        tools.iter().any(|tool| match self {
            // Without a schema it is a tool of the model's provider, such as a web search.
            Self::Anthropic => tool.get("input_schema").is_some(),
            Self::Gemini => tool.get("functionDeclarations").is_some(),
            Self::Responses | Self::Chat => true,
        })
    }

    fn reply(self, request: &HttpRequest, turn: &ModelTurn, answer: Answer) -> HttpReply {
        let streamed = request.body["stream"] == true;
        match self {
            Self::Anthropic => anthropic::reply(&request.body, turn, answer, streamed),
            Self::Responses => responses::reply(turn, answer, streamed),
            Self::Chat => chat::reply(&request.body, turn, answer, streamed),
            Self::Gemini => gemini::reply(turn, answer, request.path.contains(":stream")),
        }
    }
}

/// Answers requests that are not for a model.
fn small_talk(request: &HttpRequest) -> HttpReply {
    let path = request.path.as_str();
    let body = if path.ends_with("/count_tokens") {
        json!({"input_tokens": 100})
    } else if path.ends_with(":countTokens") {
        json!({"totalTokens": 100})
    } else if path.ends_with("/models") {
        let model = json!({"id": MODEL, "object": "model", "type": "model", "display_name": MODEL});
        json!({"object": "list", "data": [model], "models": [], "has_more": false})
    } else {
        json!({})
    };
    HttpReply::Json(body)
}

/// Reports that the model is not available, in a format that every client reads.
fn refusal(status: u16, message: &str) -> HttpReply {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let error = json!({"type": kind, "code": status, "message": message});
    HttpReply::Refusal(status, json!({"type": "error", "error": error}))
}

const MODEL: &str = "scripted-model";

/// An answer to a request.
#[derive(Clone, Copy)]
struct Answer {
    /// Its number.
    number: usize,
    /// The number of tokens that is reported for the request.
    tokens: u32,
}

/// The number of tokens that is reported for an ordinary request.
const INPUT_TOKENS: u32 = 100;
/// The number of tokens that is reported for every answer.
const OUTPUT_TOKENS: u32 = 10;

fn call_id(number: usize, position: usize) -> String {
    format!("call_{number}_{position}")
}

fn lock(conversation: &Mutex<Conversation>) -> std::sync::MutexGuard<'_, Conversation> {
    conversation.lock().unwrap_or_else(PoisonError::into_inner)
}

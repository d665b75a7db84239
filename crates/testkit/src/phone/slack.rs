//! Slack: the methods of its Web API that post and change messages, an incoming webhook, and Socket
//! Mode.

use std::collections::VecDeque;
use std::net::TcpListener;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::{Message, accept_hdr};

use super::http::{Server, StandInRequest, StandInResponse};

/// Slack with one app.
#[derive(Debug)]
pub struct SlackServer {
    /// The server of the Web API.
    pub server: Server,
    app: Arc<App>,
}

#[derive(Debug)]
struct App {
    bot_token: String,
    socket_token: String,
    state: Mutex<AppState>,
    changed: Condvar,
    socket: String,
}

#[derive(Debug, Default)]
struct AppState {
    messages: Vec<SlackMessage>,
    /// Envelopes that were not acknowledged.
    envelopes: VecDeque<Value>,
    next: u64,
    connections: u64,
    /// A connection with a lower number ends.
    wanted: u64,
    is_over: bool,
}

/// A message of the app.
#[derive(Clone, Debug)]
pub struct SlackMessage {
    /// Its time stamp, which is its id; empty if it came by the webhook.
    pub ts: String,
    /// What was posted, or set by the last change.
    pub content: Value,
    /// How often it was changed.
    pub edits: usize,
}

impl SlackMessage {
    /// Returns the texts of its sections.
    pub fn sections(&self) -> Vec<&str> {
        let blocks = self.content["blocks"].as_array().unwrap().iter();
        let sections = blocks.filter(|block| block["type"] == "section");
        sections.map(|section| section["text"]["text"].as_str().unwrap()).collect()
    }

    /// Returns its buttons.
    pub fn buttons(&self) -> Vec<Value> {
        let blocks = self.content["blocks"].as_array().unwrap().iter();
        let actions = blocks.filter(|block| block["type"] == "actions");
        actions.flat_map(|block| block["elements"].as_array().unwrap().clone()).collect()
    }

    /// Returns the button with that label.
    pub fn button(&self, label: &str) -> Value {
        let buttons = self.buttons();
        buttons.into_iter().find(|button| button["text"]["text"] == label).unwrap()
    }
}

impl SlackServer {
    /// Starts it, with an app that has these tokens.
    pub fn start(bot_token: &str, app_token: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let app = Arc::new(App {
            bot_token: bot_token.to_owned(),
            socket_token: app_token.to_owned(),
            state: Mutex::default(),
            changed: Condvar::new(),
            socket: format!("ws://{}/link?ticket=t1ck3t", listener.local_addr().unwrap()),
        });
        let ours = Arc::clone(&app);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let app = Arc::clone(&ours);
                thread::spawn(move || app.converse(stream));
            }
        });
        let ours = Arc::clone(&app);
        let server = Server::start(move |request| ours.answer(&request));
        Self { server, app }
    }

    /// Returns the messages.
    pub fn messages(&self) -> Vec<SlackMessage> {
        self.app.state.lock().unwrap().messages.clone()
    }

    /// A user presses a button.
    pub fn press(&self, user: &str, button: &Value) {
        let mut state = self.app.state.lock().unwrap();
        state.next += 1;
        let payload = json!({
            "type": "block_actions", "user": {"id": user, "team_id": "T1"},
            "actions": [{
                "type": "button", "action_id": button["action_id"], "value": button["value"],
            }],
        });
        let envelope = json!({
            "type": "interactive", "envelope_id": format!("e{}", state.next), "payload": payload,
            "accepts_response_payload": false,
        });
        state.envelopes.push_back(envelope);
        self.app.changed.notify_all();
    }

    /// Returns how many envelopes were not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.app.state.lock().unwrap().envelopes.len()
    }

    /// Returns how many connections were made.
    pub fn connections(&self) -> u64 {
        self.app.state.lock().unwrap().connections
    }

    /// Asks whoever is connected to connect again, as Slack does every few hours.
    pub fn refresh(&self) {
        let mut state = self.app.state.lock().unwrap();
        state.wanted = state.connections + 1;
        self.app.changed.notify_all();
    }
}

impl Drop for SlackServer {
    fn drop(&mut self) {
        self.app.state.lock().unwrap().is_over = true;
        self.app.changed.notify_all();
    }
}

impl App {
    fn answer(&self, request: &StandInRequest) -> StandInResponse {
        let bearer = request.header("Authorization").and_then(|text| text.strip_prefix("Bearer "));
        let content = request.json();
        let done = match request.path.as_str() {
            "/services/T1/B1/s3cret" => self.post(content, ""),
            "/api/apps.connections.open" if bearer != Some(&self.socket_token) => {
                Err("invalid_auth")
            }
            "/api/apps.connections.open" => Ok(json!({"url": self.socket})),
            _ if bearer != Some(&self.bot_token) => Err("invalid_auth"),
            "/api/chat.postMessage" if content["channel"] != "C1" => Err("channel_not_found"),
            "/api/chat.postMessage" => {
                let ts = format!("17000000.{:06}", self.state.lock().unwrap().messages.len());
                self.post(content, &ts)
            }
            "/api/chat.update" => self.update(&content),
            _ => Err("unknown_method"),
        };
        let mut answer = done.unwrap_or_else(|error| json!({"error": error}));
        answer["ok"] = answer.get("error").is_none().into();
        StandInResponse::Json(200, answer)
    }

    fn post(&self, content: Value, ts: &str) -> Result<Value, &'static str> {
        check(&content)?;
        let message = SlackMessage { ts: ts.to_owned(), content, edits: 0 };
        self.state.lock().unwrap().messages.push(message);
        Ok(json!({"channel": "C1", "ts": ts}))
    }

    fn update(&self, content: &Value) -> Result<Value, &'static str> {
        check(content)?;
        let mut state = self.state.lock().unwrap();
        let is_it = |message: &&mut SlackMessage| content["ts"] == message.ts.as_str();
        let message = state.messages.iter_mut().find(is_it).ok_or("message_not_found")?;
        message.content = content.clone();
        message.edits += 1;
        Ok(json!({"channel": "C1", "ts": content["ts"]}))
    }

    /// One connection of Socket Mode.
    fn converse(&self, stream: std::net::TcpStream) -> Option<()> {
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        #[expect(clippy::result_large_err, reason = "the trait wants it")]
        let check = |request: &Request, response: Response| {
            let is_known = request.uri().query() == Some("ticket=t1ck3t");
            if is_known { Ok(response) } else { Err(ErrorResponse::new(None)) }
        };
        let mut socket = accept_hdr(stream, check).ok()?;
        let number = {
            let mut state = self.state.lock().unwrap();
            state.connections += 1;
            state.connections
        };
        let hello = json!({"type": "hello", "num_connections": 1}).to_string();
        socket.send(Message::text(hello)).ok()?;
        loop {
            let envelope = {
                let mut state = self.state.lock().unwrap();
                loop {
                    if state.is_over {
                        return None;
                    }
                    if number < state.wanted {
                        break json!({"type": "disconnect", "reason": "refresh_requested"});
                    }
                    if let Some(envelope) = state.envelopes.front() {
                        break envelope.clone();
                    }
                    state = self.changed.wait_timeout(state, Duration::from_secs(1)).unwrap().0;
                }
            };
            socket.send(Message::text(envelope.to_string())).ok()?;
            if envelope["type"] == "disconnect" {
                return socket.close(None).ok();
            }
            let acknowledged = socket.read().ok()?;
            let acknowledged: Value = serde_json::from_str(acknowledged.to_text().ok()?).ok()?;
            let mut state = self.state.lock().unwrap();
            state.envelopes.retain(|open| open["envelope_id"] != acknowledged["envelope_id"]);
        }
    }
}

/// Checks what Slack checks of a message.
fn check(content: &Value) -> Result<(), &'static str> {
    let blocks = content["blocks"].as_array().ok_or("no_text")?;
    let is_text = |text: &Value, most: usize| {
        let length = text["text"].as_str().map_or(0, |text| text.chars().count());
        let is_known = text["type"] == "plain_text" || text["type"] == "mrkdwn";
        is_known && (1..=most).contains(&length)
    };
    let is_button = |button: &Value| {
        let is_short = |key: &str, most: usize| {
            button[key].as_str().is_none_or(|value| !value.is_empty() && value.len() <= most)
        };
        button["type"] == "button"
            && button["text"]["type"] == "plain_text"
            && is_text(&button["text"], 75)
            && is_short("value", 2000)
            && is_short("url", 3000)
            && button["action_id"].as_str().is_some_and(|id| !id.is_empty())
    };
    let is_good = |block: &Value| match block["type"].as_str() {
        Some("section") => is_text(&block["text"], 3000),
        Some("actions") => block["elements"].as_array().is_some_and(|elements| {
            (1..=25).contains(&elements.len()) && elements.iter().all(is_button)
        }),
        _ => false,
    };
    if blocks.is_empty() || blocks.len() > 50 || !blocks.iter().all(is_good) {
        return Err("invalid_blocks");
    }
    content["text"].as_str().map(|_| ()).ok_or("no_text")
}

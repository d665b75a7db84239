//! An ntfy server: publishing as JSON and as text, subscribing to a JSON stream, `since`.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::http::{Server, StandInRequest, StandInResponse, post};

/// What a message may have: anything else would be ignored without a word.
const KEYS: [&str; 7] = ["topic", "title", "message", "priority", "tags", "click", "actions"];

/// An ntfy server.
#[derive(Debug)]
pub struct NtfyServer {
    /// The server.
    pub server: Server,
    topics: Arc<Topics>,
}

#[derive(Debug, Default)]
struct Topics {
    messages: Mutex<Vec<Value>>,
    grown: Condvar,
    token: Option<String>,
}

impl NtfyServer {
    /// Starts a server. With a token, only its holder may publish as JSON and subscribe.
    pub fn start(token: Option<&str>) -> Self {
        let token = token.map(str::to_owned);
        let topics = Arc::new(Topics { token, ..Topics::default() });
        let ours = Arc::clone(&topics);
        let server = Server::start(move |request| ours.answer(&request));
        Self { server, topics }
    }

    /// Returns the messages of a topic.
    pub fn messages(&self, topic: &str) -> Vec<Value> {
        let messages = self.topics.messages.lock().unwrap();
        messages.iter().filter(|message| message["topic"] == topic).cloned().collect()
    }

    /// Presses a button of a message, as the app does.
    pub fn press(&self, message: &Value, label: &str) {
        let actions = message["actions"].as_array().unwrap();
        let action = actions.iter().find(|action| action["label"] == label).unwrap();
        assert_eq!((&action["action"], &action["method"]), (&json!("http"), &json!("POST")));
        let status = post(action["url"].as_str().unwrap(), action["body"].as_str().unwrap());
        assert_eq!(status, 200, "{action}");
    }
}

impl Topics {
    fn answer(self: &Arc<Self>, request: &StandInRequest) -> StandInResponse {
        let is_known = self.token.as_ref().is_none_or(|token| {
            request.header("Authorization") == Some(&format!("Bearer {token}"))
        });
        let error = |status, why: &str| {
            StandInResponse::Json(status, json!({"http": status, "error": why}))
        };
        match (request.method.as_str(), request.path.trim_matches('/')) {
            ("POST", "") | ("GET", _) if !is_known => error(403, "forbidden"),
            ("POST", "") => {
                let message = request.json();
                match problem(&message) {
                    Some(why) => error(400, &why),
                    None => StandInResponse::Json(200, self.add(message)),
                }
            }
            // The reply topic is one that everybody may write to.
            ("POST", topic) => {
                let message = json!({"topic": topic, "message": request.body});
                StandInResponse::Json(200, self.add(message))
            }
            ("GET", path) => {
                let Some(topic) = path.strip_suffix("/json") else { return error(404, "?") };
                self.stream(topic, request.parameter("since").unwrap_or(""))
            }
            _ => error(404, "?"),
        }
    }

    fn add(&self, mut message: Value) -> Value {
        let mut messages = self.messages.lock().unwrap();
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        message["id"] = format!("m{:09}", messages.len()).into();
        message["time"] = time.into();
        message["event"] = "message".into();
        messages.push(message.clone());
        self.grown.notify_all();
        message
    }

    /// Returns what came after an id or a time, and then whatever comes.
    fn stream(self: &Arc<Self>, topic: &str, since: &str) -> StandInResponse {
        let mut next = {
            let messages = self.messages.lock().unwrap();
            let after_id = messages.iter().position(|message| message["id"] == since);
            let time = since.parse::<u64>().ok();
            let after_time = time.and_then(|time| {
                messages.iter().position(|message| message["time"].as_u64() >= Some(time))
            });
            match (after_id, time) {
                (Some(index), _) => index + 1,
                (None, Some(_)) => after_time.unwrap_or(messages.len()),
                // An id that is not in the cache any more: all that is.
                (None, None) if !since.is_empty() => 0,
                (None, None) => messages.len(),
            }
        };
        let (topics, topic) = (Arc::clone(self), topic.to_owned());
        let mut is_open = false;
        StandInResponse::Lines(Box::new(move || {
            if !is_open {
                is_open = true;
                return Some(json!({"event": "open", "topic": topic}).to_string());
            }
            let mut messages = topics.messages.lock().unwrap();
            if next >= messages.len() {
                let limit = Duration::from_millis(500);
                messages = topics.grown.wait_timeout(messages, limit).unwrap().0;
            }
            let Some(message) = messages.get(next) else {
                return Some(json!({"event": "keepalive", "topic": topic}).to_string());
            };
            next += 1;
            let is_it = message["topic"] == topic.as_str();
            Some(if is_it { message.to_string() } else { String::new() })
        }))
    }
}

/// Checks what ntfy checks of a message.
fn problem(message: &Value) -> Option<String> {
    let object = message.as_object()?;
    let unknown = object.keys().find(|key| !KEYS.contains(&key.as_str()));
    if let Some(unknown) = unknown {
        return Some(format!("unknown key {unknown}"));
    }
    let actions = message["actions"].as_array().map_or(0, Vec::len);
    let text = message["message"].as_str().unwrap_or("").len();
    let priority = message["priority"].as_u64().unwrap_or(3);
    let is_good = actions <= 3 && text <= 4096 && (1..=5).contains(&priority);
    (!is_good).then(|| "invalid message".to_owned())
}

//! Telegram's Bot API: messages with inline keyboards, their edits, callback queries, and
//! `getUpdates` with its offset.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::{Server, StandInRequest, StandInResponse};

/// Telegram with one bot.
#[derive(Debug)]
pub struct TelegramServer {
    /// The server.
    pub server: Server,
    bot: Arc<Bot>,
}

#[derive(Debug)]
struct Bot {
    token: String,
    state: Mutex<BotState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct BotState {
    messages: Vec<TelegramMessage>,
    updates: Vec<Value>,
    next_update: i64,
    /// The newest call of `getUpdates`: an older one ends with a conflict.
    poll: u64,
    toasts: Vec<String>,
}

/// A message of the bot.
#[derive(Clone, Debug)]
pub struct TelegramMessage {
    /// Its number.
    pub id: i64,
    /// What was sent, or set by the last edit.
    pub content: Value,
    /// How often it was edited.
    pub edits: usize,
}

impl TelegramMessage {
    /// Returns the text.
    pub fn text(&self) -> &str {
        self.content["text"].as_str().unwrap()
    }

    /// Returns the buttons.
    pub fn buttons(&self) -> Vec<Value> {
        let rows = self.content["reply_markup"]["inline_keyboard"].as_array();
        rows.into_iter().flatten().flat_map(|row| row.as_array().unwrap().clone()).collect()
    }

    /// Returns what a button sends.
    pub fn data(&self, label: &str) -> String {
        let buttons = self.buttons();
        let button = buttons.iter().find(|button| button["text"] == label).unwrap();
        button["callback_data"].as_str().unwrap().to_owned()
    }
}

impl TelegramServer {
    /// Starts it, with a bot that has this token.
    pub fn start(token: &str) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let bot = Arc::new(Bot { token: token.to_owned(), state, changed });
        let ours = Arc::clone(&bot);
        let server = Server::start(move |request| ours.answer(&request));
        Self { server, bot }
    }

    /// Returns the messages.
    pub fn messages(&self) -> Vec<TelegramMessage> {
        self.bot.state.lock().unwrap().messages.clone()
    }

    /// Returns what people were told after they pressed a button.
    pub fn toasts(&self) -> Vec<String> {
        self.bot.state.lock().unwrap().toasts.clone()
    }

    /// A user presses a button that sends this.
    pub fn press(&self, user: i64, data: &str) {
        let mut state = self.bot.state.lock().unwrap();
        let id = state.next_update;
        state.next_update += 1;
        let query =
            json!({"id": format!("q{id}"), "from": {"id": user, "is_bot": false}, "data": data});
        state.updates.push(json!({"update_id": id, "callback_query": query}));
        self.bot.changed.notify_all();
    }

    /// Returns how many updates were not confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.bot.state.lock().unwrap().updates.len()
    }
}

impl Bot {
    fn answer(&self, request: &StandInRequest) -> StandInResponse {
        let expected = format!("/bot{}/", self.token);
        let Some(method) = request.path.strip_prefix(&expected) else {
            return refused(401, "Unauthorized");
        };
        let arguments = request.json();
        let done = match method {
            "sendMessage" => self.send(arguments),
            "editMessageText" => self.edit(&arguments),
            "answerCallbackQuery" => self.toast(&arguments),
            "getUpdates" => self.updates(&arguments),
            _ => Err((404, "Not Found: method not found")),
        };
        match done {
            Ok(result) => StandInResponse::Json(200, json!({"ok": true, "result": result})),
            Err((status, why)) => refused(status, why),
        }
    }

    fn send(&self, content: Value) -> Result<Value, (u16, &'static str)> {
        check(&content)?;
        let mut state = self.state.lock().unwrap();
        let id = i64::try_from(state.messages.len()).unwrap() + 100;
        state.messages.push(TelegramMessage { id, content, edits: 0 });
        Ok(json!({"message_id": id, "chat": {"id": 7, "type": "private"}}))
    }

    fn edit(&self, content: &Value) -> Result<Value, (u16, &'static str)> {
        check(content)?;
        let mut state = self.state.lock().unwrap();
        let id = content["message_id"].as_i64();
        let message = state.messages.iter_mut().find(|message| Some(message.id) == id);
        let message = message.ok_or((400, "Bad Request: message to edit not found"))?;
        if message.content["text"] == content["text"] {
            return Err((400, "Bad Request: message is not modified"));
        }
        message.content = content.clone();
        message.edits += 1;
        Ok(json!({"message_id": id}))
    }

    fn toast(&self, arguments: &Value) -> Result<Value, (u16, &'static str)> {
        let text = arguments["text"].as_str().unwrap_or("");
        if arguments["callback_query_id"].as_str().is_none() || text.chars().count() > 200 {
            return Err((400, "Bad Request: query is too old or invalid"));
        }
        self.state.lock().unwrap().toasts.push(text.to_owned());
        Ok(true.into())
    }

    fn updates(&self, arguments: &Value) -> Result<Value, (u16, &'static str)> {
        let offset = arguments["offset"].as_i64().unwrap_or(0);
        let end = Instant::now() + Duration::from_secs(arguments["timeout"].as_u64().unwrap_or(0));
        let mut state = self.state.lock().unwrap();
        state.poll += 1;
        let poll = state.poll;
        self.changed.notify_all();
        // What came before the offset is confirmed.
        state.updates.retain(|update| update["update_id"].as_i64() >= Some(offset));
        while state.updates.is_empty() && Instant::now() < end {
            let left = end.saturating_duration_since(Instant::now());
            state = self.changed.wait_timeout(state, left).unwrap().0;
            if state.poll != poll {
                return Err((409, "Conflict: terminated by other getUpdates request"));
            }
        }
        Ok(state.updates.clone().into())
    }
}

/// Checks what Telegram checks of a message.
fn check(content: &Value) -> Result<(), (u16, &'static str)> {
    let text = content["text"].as_str().unwrap_or("");
    let units = u64::try_from(text.encode_utf16().count()).unwrap();
    if units == 0 || units > 4096 {
        return Err((400, "Bad Request: message text is empty or too long"));
    }
    let entities = content["entities"].as_array().map_or(&[][..], Vec::as_slice);
    let fits = |entity: &Value| {
        let (offset, length) = (entity["offset"].as_u64(), entity["length"].as_u64());
        offset.zip(length).is_some_and(|(offset, length)| length > 0 && offset + length <= units)
    };
    if !entities.iter().all(fits) {
        return Err((400, "Bad Request: entity out of bounds"));
    }
    let rows = content["reply_markup"]["inline_keyboard"].as_array();
    for button in rows.into_iter().flatten().flat_map(|row| row.as_array().unwrap()) {
        if button["callback_data"].as_str().is_some_and(|data| data.is_empty() || data.len() > 64) {
            return Err((400, "Bad Request: BUTTON_DATA_INVALID"));
        }
        let host = button["url"].as_str().and_then(|url| url.split('/').nth(2));
        if host.is_some_and(|host| !host.contains('.')) {
            return Err((
                400,
                "Bad Request: inline keyboard button URL is invalid: Wrong HTTP URL host (BUTTON_URL_INVALID)",
            ));
        }
    }
    Ok(())
}

fn refused(status: u16, why: &str) -> StandInResponse {
    let body = json!({"ok": false, "error_code": status, "description": why});
    StandInResponse::Json(status, body)
}

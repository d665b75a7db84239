//! Sends a notice as a message of a Telegram bot.
//!
//! The text has no parse mode. Entities say that all of it is code, so that Telegram makes nothing
//! in it a link, a mention or a command. A button carries its code; presses arrive by long polling
//! (`replies/telegram.rs`).

use std::time::Duration;

use anyhook_engine::settings::TelegramSettings;
use anyhook_http::Address;
use anyhook_model::Notice;
use anyhook_model::notice::{Channel, DeliveryResult, NoticeKind, PostedMessage};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::http::{self, Call, Failure, Http, Repeat, lasting, passing};
use super::{Button, secret_file, text};

/// Sends the notice.
pub async fn send(
    settings: &TelegramSettings,
    notice: &Notice,
    buttons: &[Button<'_>],
    limit: Duration,
) -> DeliveryResult {
    match post(settings, notice, buttons, Instant::now() + limit).await {
        Ok(message) => DeliveryResult { message, ..DeliveryResult::delivered(Channel::Telegram) },
        Err(why) => DeliveryResult::failed(Channel::Telegram, text::line(&why, text::TITLE)),
    }
}

async fn post(
    settings: &TelegramSettings,
    notice: &Notice,
    buttons: &[Button<'_>],
    deadline: Instant,
) -> Result<Option<PostedMessage>, String> {
    let bot = TelegramBot::of(settings)?;
    let mut http = Http::default();
    let message = message(settings, notice, buttons, notice.url.as_deref());
    let mut sent = bot.call_with_retries(&mut http, "sendMessage", &message, deadline).await;
    // Telegram refuses a button that leads to a name without a dot, such as `localhost`.
    let is_refused = |why: &String| why.contains("BUTTON_URL_INVALID") || why.contains("URL host");
    if notice.url.is_some() && sent.as_ref().is_err_and(is_refused) {
        let message = self::message(settings, notice, buttons, None);
        sent = bot.call_with_retries(&mut http, "sendMessage", &message, deadline).await;
    }
    let sent = sent?;
    let ids = sent["chat"]["id"].as_i64().zip(sent["message_id"].as_i64());
    Ok(ids.map(|(chat, id)| PostedMessage { place: chat.to_string(), id: id.to_string() }))
}

/// Replaces a message by one without buttons that says how the decision ended.
pub async fn amend(
    settings: &TelegramSettings,
    posted: &PostedMessage,
    notice: &Notice,
    ended: &str,
    limit: Duration,
) -> Result<(), String> {
    let bot = TelegramBot::of(settings)?;
    let (text, entities) = code([notice.title.as_str(), &notice.body, ended]);
    let (Ok(chat), Ok(id)) = (posted.place.parse::<i64>(), posted.id.parse::<i64>()) else {
        return Ok(());
    };
    let message = json!({
        "chat_id": chat, "message_id": id, "text": text, "entities": entities,
        "link_preview_options": {"is_disabled": true},
    });
    let deadline = Instant::now() + limit;
    bot.call_with_retries(&mut Http::default(), "editMessageText", &message, deadline)
        .await
        .map(drop)
}

fn message(
    settings: &TelegramSettings,
    notice: &Notice,
    buttons: &[Button<'_>],
    url: Option<&str>,
) -> Value {
    let (text, entities) = code([notice.title.as_str(), &notice.body, ""]);
    let answers = buttons
        .iter()
        .map(|button| json!({"text": text::line(button.label, text::NAME), "callback_data": button.code}));
    let mut rows: Vec<Value> = answers.map(|button| json!([button])).collect();
    rows.extend(url.map(|url| json!([{"text": "Open", "url": url}])));
    let mut message = json!({
        "chat_id": settings.chat, "text": text, "entities": entities,
        "link_preview_options": {"is_disabled": true},
        "disable_notification": matches!(notice.kind, NoticeKind::Idle | NoticeKind::Pipeline),
    });
    if !rows.is_empty() {
        message["reply_markup"] = json!({"inline_keyboard": rows});
    }
    message
}

/// Joins texts by line breaks, and returns the entities that make each of them code. Telegram
/// counts in UTF-16.
fn code<const N: usize>(texts: [&str; N]) -> (String, Vec<Value>) {
    let (mut text, mut entities) = (String::new(), Vec::new());
    for part in texts.into_iter().filter(|part| !part.is_empty()) {
        if !text.is_empty() {
            text.push('\n');
        }
        let (offset, length) = (text.encode_utf16().count(), part.encode_utf16().count());
        entities.push(json!({"type": "code", "offset": offset, "length": length}));
        text.push_str(part);
    }
    (text, entities)
}

/// The Bot API, as one bot.
#[expect(missing_debug_implementations, reason = "its address has a token")]
pub struct TelegramBot {
    /// With the token in its path: it must not be shown.
    address: Address,
}

impl TelegramBot {
    /// Reads the token of the bot.
    pub fn of(settings: &TelegramSettings) -> Result<Self, String> {
        let token = secret_file::read_text(&settings.bot_token_file)?;
        let is_part = |letter: u8| letter.is_ascii_alphanumeric() || b":-_".contains(&letter);
        if !token.bytes().all(is_part) {
            let file = settings.bot_token_file.display();
            return Err(format!("the secret file `{file}` does not contain a bot token"));
        }
        let address = http::address("the Bot API", &settings.server)?.join(&format!("bot{token}"));
        Ok(Self { address })
    }

    fn request(&self, method: &str, arguments: &Value) -> Result<Call, String> {
        Call::post_json(self.address.clone().join(method), arguments)
    }

    /// Calls a method once.
    pub async fn call(
        &self,
        http: &mut Http,
        method: &str,
        arguments: &Value,
    ) -> Result<Value, Failure> {
        let call = self.request(method, arguments).map_err(lasting)?;
        understood(&http.answer(&call).await?)
    }

    /// Calls a method until a deadline.
    pub async fn call_with_retries(
        &self,
        http: &mut Http,
        method: &str,
        arguments: &Value,
        deadline: Instant,
    ) -> Result<Value, String> {
        let call = self.request(method, arguments)?;
        http::with_retries(self.address.host(), deadline, Repeat::UnlessArrived, async || {
            understood(&http.answer(&call).await?)
        })
        .await
    }

    /// Returns the host, for messages.
    pub fn host(&self) -> &str {
        self.address.host()
    }
}

/// Reads an answer: one that reports an error says more than its status.
fn understood(answer: &http::Answer) -> Result<Value, Failure> {
    let Ok(mut said) = serde_json::from_slice::<Value>(&answer.body) else {
        http::judge(answer.status)?;
        return Err(lasting("the answer is not JSON"));
    };
    if said["ok"] == true {
        return Ok(said["result"].take());
    }
    let description = said["description"].as_str().unwrap_or("no reason given");
    let why = format!("status {}: {}", answer.status.as_u16(), text::line(description, text::NAME));
    match http::judge(answer.status) {
        Err(failure) if failure.is_passing => Err(passing(why)),
        _ => Err(lasting(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_text_is_code_and_counted_as_telegram_counts() {
        let (text, entities) = code(["a\u{1f600}b", "", "\u{e4}\u{65e5}"]);
        assert_eq!(text, "a\u{1f600}b\n\u{e4}\u{65e5}");
        assert_eq!(
            entities,
            [
                json!({"type": "code", "offset": 0, "length": 4}),
                json!({"type": "code", "offset": 5, "length": 2})
            ]
        );
    }
}

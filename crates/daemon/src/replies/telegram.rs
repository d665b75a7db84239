//! Receives presses of a Telegram bot's buttons by long polling.
//!
//! An update is confirmed by asking for what comes after it, which happens when the core has stored
//! the answer: Telegram repeats the others after a kill.

use std::time::Duration;

use anyhook_engine::settings::TelegramSettings;
use anyhook_model::notice::Channel;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::listener::Listener;
use super::{PhoneReply, SHORTLY};
use crate::notice::http::Http;
use crate::notice::telegram::TelegramBot;
use crate::notice::text;

/// How long Telegram waits for an update, in seconds.
const POLL: u32 = 50;
/// A server that answers sooner and says nothing must not be asked all the time.
const TOO_SOON: Duration = Duration::from_secs(1);

/// The updates of a bot.
#[derive(Debug)]
pub struct Updates<'settings> {
    settings: &'settings TelegramSettings,
    /// The number of the next update.
    offset: Option<i64>,
    http: Http,
}

impl<'settings> Updates<'settings> {
    /// Begins with the first update that was not confirmed.
    pub fn new(settings: &'settings TelegramSettings) -> Self {
        Self { settings, offset: None, http: Http::default() }
    }

    /// Asks for updates until that fails.
    pub async fn listen(&mut self, listener: &Listener) -> Result<(), String> {
        let bot = TelegramBot::of(self.settings)?;
        let failed = |why: String| format!("{}: {why}", bot.host());
        loop {
            let began = Instant::now();
            let mut arguments = json!({"timeout": POLL, "allowed_updates": ["callback_query"]});
            if let Some(offset) = self.offset {
                arguments["offset"] = offset.into();
            }
            let limit = Duration::from_secs(POLL.into()) + SHORTLY;
            let polled = timeout(limit, bot.call(&mut self.http, "getUpdates", &arguments)).await;
            let updates = polled
                .map_err(|_| failed("no answer in time".to_owned()))?
                .map_err(|failure| failed(failure.why))?;
            let updates = updates.as_array().map_or(&[][..], Vec::as_slice);
            for update in updates {
                self.take(&bot, update, listener).await?;
                if let Some(id) = update["update_id"].as_i64() {
                    self.offset = self.offset.max(id.checked_add(1));
                }
            }
            if updates.is_empty() && began.elapsed() < TOO_SOON {
                sleep(TOO_SOON).await;
            }
        }
    }

    async fn take(
        &mut self,
        bot: &TelegramBot,
        update: &Value,
        listener: &Listener,
    ) -> Result<(), String> {
        let query = &update["callback_query"];
        let Some(query_id) = query["id"].as_str() else { return Ok(()) };
        let code = query["data"].as_str().unwrap_or("").to_owned();
        let user = query["from"]["id"].as_i64();
        let may_answer = user.is_some_and(|user| self.settings.users.contains(&user));
        let user = user.map(|user| user.to_string());
        let reply = PhoneReply { channel: Channel::Telegram, code, user, may_answer };
        let said = match listener.reply(reply).await? {
            Ok(choice) => format!("Answered: {choice}"),
            Err(why) => format!("Refused: {why}"),
        };
        let arguments =
            json!({"callback_query_id": query_id, "text": text::line(&said, text::TITLE)});
        // Only stops the wheel on the button.
        let _ = timeout(SHORTLY, bot.call(&mut self.http, "answerCallbackQuery", &arguments)).await;
        Ok(())
    }
}

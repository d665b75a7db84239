//! Receives presses of buttons in Slack over Socket Mode: a WebSocket whose address
//! `apps.connections.open` gives.
//!
//! An envelope is acknowledged when the core has stored the answer.

use std::time::Duration;

use anyhook_engine::settings::SlackSettings;
use anyhook_http::{connect, with_cause};
use anyhook_model::notice::Channel;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::listener::Listener;
use super::{PhoneReply, SHORTLY};
use crate::notice::http::{self, Http};
use crate::notice::secret_file;
use crate::notice::slack::{ANSWER, SlackApi};

/// After so long without a word, the connection is checked; after as long again, it is dead.
const QUIET: Duration = Duration::from_secs(60);
/// The largest message: that of a pressed button repeats the message it is in.
const MESSAGE_LIMIT: usize = 1024 * 1024;

/// Receives until the connection ends.
pub async fn listen(settings: &SlackSettings, listener: &Listener) -> Result<(), String> {
    let Some(file) = &settings.app_token_file else { return Ok(()) };
    let token = secret_file::read_text(file)?;
    let mut http = Http::default();
    let api = SlackApi { server: &settings.server, token: &token };
    let deadline = Instant::now() + SHORTLY;
    let opened =
        api.call_with_retries(&mut http, "apps.connections.open", &json!({}), deadline).await?;
    // Its query is a ticket: it must not be shown.
    let url = opened["url"].as_str().unwrap_or_default();
    let plain = url.strip_prefix("ws").map(|rest| format!("http{rest}")).unwrap_or_default();
    let address = http::address("the socket", &plain)?;
    let host = address.host().to_owned();
    let failed = |why: &dyn std::error::Error| format!("{host}: {}", with_cause(why));
    let open = async {
        let encryption = http.encryption(&address).map_err(|failure| failure.why)?;
        let stream = connect(&address, encryption).await.map_err(|error| failed(&error))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_LIMIT))
            .max_frame_size(Some(MESSAGE_LIMIT));
        tokio_tungstenite::client_async_with_config(url, stream, Some(config))
            .await
            .map_err(|error| failed(&error))
    };
    let opened = timeout(SHORTLY, open).await;
    let (mut socket, _) = opened.map_err(|_| format!("{host}: no answer in time"))??;
    let mut was_quiet = false;
    loop {
        let message = match timeout(QUIET, socket.next()).await {
            Ok(None) => return Ok(()),
            Ok(Some(message)) => message.map_err(|error| failed(&error))?,
            Err(_) if was_quiet => return Err(format!("{host}: the connection went quiet")),
            Err(_) => {
                was_quiet = true;
                let ping = Message::Ping(Vec::new().into());
                socket.send(ping).await.map_err(|error| failed(&error))?;
                continue;
            }
        };
        was_quiet = false;
        let Message::Text(text) = message else { continue };
        let Ok(envelope) = serde_json::from_str::<Value>(&text) else { continue };
        if envelope["type"] == "disconnect" {
            return Ok(());
        }
        let Some(id) = envelope["envelope_id"].as_str() else { continue };
        if envelope["type"] == "interactive"
            && let Some(reply) = reply(&envelope["payload"], settings)
        {
            // The message itself says how the decision ended.
            let _ = listener.reply(reply).await?;
        }
        let acknowledged = json!({"envelope_id": id}).to_string();
        socket.send(Message::text(acknowledged)).await.map_err(|error| failed(&error))?;
    }
}

/// Returns the press of one of our buttons that answer.
fn reply(payload: &Value, settings: &SlackSettings) -> Option<PhoneReply> {
    if payload["type"] != "block_actions" {
        return None;
    }
    let action = payload["actions"].get(0)?;
    action["action_id"].as_str()?.strip_prefix(ANSWER)?;
    let code = action["value"].as_str()?.to_owned();
    let user = payload["user"]["id"].as_str().map(str::to_owned);
    let may_answer = user.as_ref().is_some_and(|user| settings.users.contains(user));
    Some(PhoneReply { channel: Channel::Slack, code, user, may_answer })
}

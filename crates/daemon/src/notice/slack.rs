//! Posts a notice to Slack: as a bot, or by an incoming webhook.
//!
//! Texts are `plain_text` objects, in which Slack interprets neither its markup nor mentions; the
//! one text that must be markup (what a phone shows before the message is opened) is escaped. A
//! button carries its code; presses arrive over Socket Mode (`replies/slack.rs`).

use std::time::Duration;

use anyhook_engine::settings::SlackSettings;
use anyhook_model::Notice;
use anyhook_model::notice::{Channel, DeliveryResult, PostedMessage};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::http::{self, Call, Failure, Http, Repeat, lasting, passing};
use super::{Button, secret_file, text};

/// The prefix of the ids of buttons that answer.
pub const ANSWER: &str = "answer-";
/// The longest label of a button.
const LABEL: usize = 75;

/// Posts the notice.
pub async fn send(
    settings: &SlackSettings,
    notice: &Notice,
    buttons: &[Button<'_>],
    limit: Duration,
) -> DeliveryResult {
    match post(settings, notice, buttons, Instant::now() + limit).await {
        Ok(message) => DeliveryResult { message, ..DeliveryResult::delivered(Channel::Slack) },
        Err(why) => DeliveryResult::failed(Channel::Slack, text::line(&why, text::TITLE)),
    }
}

async fn post(
    settings: &SlackSettings,
    notice: &Notice,
    buttons: &[Button<'_>],
    deadline: Instant,
) -> Result<Option<PostedMessage>, String> {
    let mut message = message(notice, buttons, None);
    let mut http = Http::default();
    if let Some(file) = &settings.webhook_url_file {
        let url = secret_file::read_text(file)?;
        let address = http::address("the Slack webhook", &url)?;
        let host = address.host().to_owned();
        let call = Call::post_json(address, &message)?;
        return http::with_retries(&host, deadline, Repeat::UnlessArrived, async || {
            http::judge(http.open(&call).await?.status).map(|()| None)
        })
        .await;
    }
    let (Some(file), Some(channel)) = (&settings.bot_token_file, &settings.channel) else {
        return Err("neither a bot with a channel nor a webhook is configured".to_owned());
    };
    let token = secret_file::read_text(file)?;
    message["channel"] = channel.as_str().into();
    let api = SlackApi { server: &settings.server, token: &token };
    let posted = api.call_with_retries(&mut http, "chat.postMessage", &message, deadline).await?;
    let part = |name: &str| posted.get(name).and_then(Value::as_str).map(str::to_owned);
    Ok(part("channel").zip(part("ts")).map(|(place, id)| PostedMessage { place, id }))
}

/// Replaces a message by one without buttons that says how the decision ended.
pub async fn amend(
    settings: &SlackSettings,
    posted: &PostedMessage,
    notice: &Notice,
    ended: &str,
    limit: Duration,
) -> Result<(), String> {
    let Some(file) = &settings.bot_token_file else { return Ok(()) };
    let token = secret_file::read_text(file)?;
    let mut message = message(notice, &[], Some(ended));
    message["channel"] = posted.place.as_str().into();
    message["ts"] = posted.id.as_str().into();
    let api = SlackApi { server: &settings.server, token: &token };
    let deadline = Instant::now() + limit;
    api.call_with_retries(&mut Http::default(), "chat.update", &message, deadline).await.map(drop)
}

fn message(notice: &Notice, buttons: &[Button<'_>], ended: Option<&str>) -> Value {
    let plain = |text: &str| json!({"type": "plain_text", "text": text, "emoji": false});
    let section = |text: &str| json!({"type": "section", "text": plain(text)});
    let texts = [Some(notice.title.as_str()), Some(notice.body.as_str()), ended];
    let texts = texts.into_iter().flatten().filter(|text| !text.is_empty());
    let mut blocks: Vec<Value> = texts.map(section).collect();
    let answers = (1..).zip(buttons).map(|(number, button)| {
        json!({
            "type": "button", "action_id": format!("{ANSWER}{number}"), "value": button.code,
            "text": plain(&text::line(button.label, LABEL)),
        })
    });
    let open = notice.url.as_ref().map(
        |url| json!({"type": "button", "action_id": "open", "url": url, "text": plain("Open")}),
    );
    let elements: Vec<Value> = answers.chain(open).collect();
    if !elements.is_empty() {
        blocks.push(json!({"type": "actions", "elements": elements}));
    }
    let summary =
        ended.map_or_else(|| notice.title.clone(), |ended| format!("{}: {ended}", notice.title));
    json!({
        "text": text::escaped(&summary), "blocks": blocks, "mrkdwn": false, "link_names": false,
        "unfurl_links": false, "unfurl_media": false,
    })
}

/// The Web API, as a holder of a token.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "it has a token")]
pub struct SlackApi<'a> {
    /// The address of its methods.
    pub server: &'a str,
    /// The token.
    pub token: &'a str,
}

impl SlackApi<'_> {
    /// Calls a method until a deadline.
    pub async fn call_with_retries(
        self,
        http: &mut Http,
        method: &str,
        arguments: &Value,
        deadline: Instant,
    ) -> Result<Value, String> {
        let address = http::address("the Slack API", self.server)?.join(method);
        let host = address.host().to_owned();
        let call = Call::post_json(address, arguments)?.bearer(Some(self.token));
        http::with_retries(&host, deadline, Repeat::UnlessArrived, async || {
            let answer = http.answer(&call).await?;
            http::judge(answer.status)?;
            understood(&answer.body)
        })
        .await
    }
}

/// Reads an answer: Slack reports errors with status 200.
fn understood(body: &[u8]) -> Result<Value, Failure> {
    let answer: Value =
        serde_json::from_slice(body).map_err(|_| lasting("the answer is not JSON"))?;
    if answer["ok"] == true {
        return Ok(answer);
    }
    let error = answer["error"].as_str().unwrap_or("no reason given");
    let why = format!("Slack says {}", text::line(error, text::NAME));
    Err(match error {
        "ratelimited" | "internal_error" | "fatal_error" | "service_unavailable" => passing(why),
        _ => lasting(why),
    })
}

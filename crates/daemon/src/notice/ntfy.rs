//! Publishes a notice to a topic of an [ntfy](https://ntfy.sh) server.
//!
//! A button publishes its code to the reply topic, which the daemon reads (`replies/ntfy.rs`). The
//! text is sent as JSON and without Markdown: nothing in it becomes a button or a heading.

use std::time::Duration;

use anyhook_engine::settings::NtfySettings;
use anyhook_model::Notice;
use anyhook_model::notice::{Channel, DeliveryResult, NoticeKind};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::http::{self, Call, Http, Repeat};
use super::{Button, secret_file, text};

/// How many buttons ntfy shows.
const BUTTONS: usize = 3;

/// Publishes the notice.
pub async fn send(
    settings: &NtfySettings,
    notice: &Notice,
    buttons: &[Button<'_>],
    limit: Duration,
) -> DeliveryResult {
    match publish(settings, notice, buttons, Instant::now() + limit).await {
        Ok(()) => DeliveryResult::delivered(Channel::Ntfy),
        Err(why) => DeliveryResult::failed(Channel::Ntfy, text::line(&why, text::TITLE)),
    }
}

async fn publish(
    settings: &NtfySettings,
    notice: &Notice,
    buttons: &[Button<'_>],
    deadline: Instant,
) -> Result<(), String> {
    let token = settings.token_file.as_deref().map(secret_file::read_text).transpose()?;
    let server = http::address("the ntfy server", &settings.server)?;
    let host = server.host().to_owned();
    let message = message(settings, notice, buttons);
    let call = Call::post_json(server, &message)?.bearer(token.as_deref());
    let mut http = Http::default();
    http::with_retries(&host, deadline, Repeat::UnlessArrived, async || {
        http::judge(http.open(&call).await?.status)
    })
    .await
}

fn message(settings: &NtfySettings, notice: &Notice, buttons: &[Button<'_>]) -> Value {
    let mut message = json!({
        "topic": settings.topic,
        "title": notice.title,
        "message": notice.body,
        "priority": priority(notice.kind),
        "tags": [tag(notice.kind)],
    });
    if let Some(url) = &notice.url {
        message["click"] = url.as_str().into();
    }
    if let Some(replies) = &settings.reply_topic
        && (1..=BUTTONS).contains(&buttons.len())
    {
        let url = format!("{}/{replies}", settings.server.trim_end_matches('/'));
        let action = |button: &Button<'_>| {
            json!({
                "action": "http", "label": button.label, "url": url, "method": "POST",
                "body": button.code, "clear": true,
            })
        };
        message["actions"] = buttons.iter().map(action).collect();
    }
    message
}

/// Returns how much it disturbs: 1 to 5, where 3 is usual.
fn priority(kind: NoticeKind) -> u8 {
    match kind {
        NoticeKind::Alarm => 5,
        NoticeKind::Decision | NoticeKind::Prompt => 4,
        NoticeKind::Failed | NoticeKind::Gone | NoticeKind::Pipeline => 3,
        NoticeKind::Idle => 2,
    }
}

/// Returns the short code of an emoji.
fn tag(kind: NoticeKind) -> &'static str {
    match kind {
        NoticeKind::Alarm => "rotating_light",
        NoticeKind::Decision | NoticeKind::Prompt => "question",
        NoticeKind::Failed | NoticeKind::Gone => "warning",
        NoticeKind::Pipeline => "gear",
        NoticeKind::Idle => "white_check_mark",
    }
}

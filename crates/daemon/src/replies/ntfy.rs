//! Reads the reply topic of an ntfy server: a JSON stream, one message on each line.
//!
//! Where it was is kept in a file, so that answers are found that were given while the daemon was
//! away. It is written after the core has stored an answer: after a kill an answer may be read
//! again, and the core refuses it.

use std::path::PathBuf;
use std::time::Duration;

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_engine::settings::NtfySettings;
use anyhook_model::notice::Channel;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout;

use super::listener::Listener;
use super::{PhoneReply, SHORTLY};
use crate::notice::http::{self, Call, Http};
use crate::notice::secret_file;

/// A server says every 45 seconds that it is there, unless it is told otherwise.
const QUIET: Duration = Duration::from_secs(180);
/// The longest line: a message of ntfy has at most 4 KiB, and some more around it.
const LINE_LIMIT: usize = 64 * 1024;

/// The reply topic.
#[derive(Debug)]
pub struct ReplyTopic<'settings> {
    settings: &'settings NtfySettings,
    file: PathBuf,
    http: Http,
}

/// Up to where a topic has been read.
#[derive(Debug, Serialize, Deserialize)]
struct Position {
    server: String,
    topic: String,
    /// The id of the last message, or a time in seconds.
    since: String,
}

impl<'settings> ReplyTopic<'settings> {
    /// Creates it. `file` is where the position is kept.
    pub fn new(settings: &'settings NtfySettings, file: PathBuf) -> Self {
        Self { settings, file, http: Http::default() }
    }

    /// Reads the stream until it ends.
    pub async fn listen(&mut self, listener: &Listener) -> Result<(), String> {
        let Some(topic) = self.settings.reply_topic.clone() else { return Ok(()) };
        let token = self.settings.token_file.as_deref().map(secret_file::read_text).transpose()?;
        let server = self.settings.server.trim_end_matches('/');
        let since = self.position(&topic);
        let url = format!("{server}/{topic}/json?since={since}");
        let address = http::address("the ntfy server", &url)?;
        let host = address.host().to_owned();
        let failed = |failure: http::Failure| format!("{host}: {}", failure.why);
        let call = Call::get(address).bearer(token.as_deref());
        let opened = timeout(SHORTLY, self.http.open(&call)).await;
        let mut stream =
            opened.map_err(|_| format!("{host}: no answer in time"))?.map_err(failed)?;
        http::judge(stream.status).map_err(failed)?;
        let mut text: Vec<u8> = Vec::new();
        loop {
            let part = timeout(QUIET, stream.next()).await;
            let part = part.map_err(|_| format!("{host}: the stream went quiet"))?;
            let Some(part) = part else { return Err(format!("{host}: the stream ended")) };
            text.extend_from_slice(&part.map_err(failed)?);
            let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            for line in text[..whole].split(|byte| *byte == b'\n') {
                if let Ok(message) = serde_json::from_slice::<Value>(line) {
                    self.take(&topic, &message, listener).await?;
                }
            }
            text.drain(..whole);
            if text.len() > LINE_LIMIT {
                return Err(format!("{host}: a line is too long"));
            }
        }
    }

    async fn take(&self, topic: &str, message: &Value, listener: &Listener) -> Result<(), String> {
        if message["event"] != "message" {
            return Ok(());
        }
        let code = message["message"].as_str().unwrap_or("").trim().to_owned();
        let (channel, user) = (Channel::Ntfy, None);
        // Whoever pressed the button is not told: the message does not say who it was.
        let _ = listener.reply(PhoneReply { channel, code, user, may_answer: true }).await?;
        if let Some(id) = message["id"].as_str() {
            self.keep(topic, id);
        }
        Ok(())
    }

    /// Returns where to begin: now, if the topic has never been read.
    fn position(&self, topic: &str) -> String {
        let is_plain = |since: &str| since.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let kept = std::fs::read(&self.file).ok();
        let kept = kept.and_then(|bytes| serde_json::from_slice::<Position>(&bytes).ok());
        let kept = kept.filter(|kept| {
            kept.server == self.settings.server && kept.topic == topic && is_plain(&kept.since)
        });
        kept.map_or_else(
            || {
                let now = anyhook_engine::now().as_second().to_string();
                self.keep(topic, &now);
                now
            },
            |kept| kept.since,
        )
    }

    fn keep(&self, topic: &str, since: &str) {
        let (server, topic) = (self.settings.server.clone(), topic.to_owned());
        let position = Position { server, topic, since: since.to_owned() };
        let bytes = serde_json::to_vec(&position).unwrap_or_default();
        if let Err(error) = AtomicFile::new(&self.file).replace(&bytes) {
            tracing::warn!("cannot remember which answers were read: {error}");
        }
    }
}

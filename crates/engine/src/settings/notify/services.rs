//! Services that carry notices to a phone: ntfy, Slack and Telegram. Secrets are in files, never in
//! the settings.

use std::fmt;
use std::path::PathBuf;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use super::full_path;
use crate::settings::ui::base_url;

const NTFY: &str = "https://ntfy.sh";
const SLACK: &str = "https://slack.com/api";
const TELEGRAM: &str = "https://api.telegram.org";

/// The longest topic that an ntfy server accepts.
const TOPIC_LIMIT: usize = 64;

/// A topic of an ntfy server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NtfySettings {
    /// The address of the server.
    #[serde(default = "ntfy", deserialize_with = "base_url")]
    pub server: String,
    /// The topic that notices are published to.
    #[serde(deserialize_with = "topic")]
    pub topic: String,
    /// The file with the access token of the server.
    #[serde(default, deserialize_with = "full_path")]
    pub token_file: Option<PathBuf>,
    /// The topic that buttons publish their answers to.
    #[serde(default, deserialize_with = "maybe_topic")]
    pub reply_topic: Option<String>,
}

/// A channel in Slack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlackSettings {
    /// The address of the Web API.
    #[serde(default = "slack", deserialize_with = "base_url")]
    pub server: String,
    /// The file with the bot token (`xoxb-…`).
    #[serde(default, deserialize_with = "full_path")]
    pub bot_token_file: Option<PathBuf>,
    /// The channel that the bot posts to.
    #[serde(default)]
    pub channel: Option<String>,
    /// The file with the address of an incoming webhook: links only, and without a bot.
    #[serde(default, deserialize_with = "full_path")]
    pub webhook_url_file: Option<PathBuf>,
    /// The file with the app-level token (`xapp-…`) of Socket Mode: with it, buttons answer.
    #[serde(default, deserialize_with = "full_path")]
    pub app_token_file: Option<PathBuf>,
    /// The ids of the users who may answer.
    #[serde(default)]
    pub users: Vec<String>,
}

/// A chat in Telegram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelegramSettings {
    /// The address of the Bot API.
    #[serde(default = "telegram", deserialize_with = "base_url")]
    pub server: String,
    /// The file with the bot's token.
    #[serde(deserialize_with = "needed_path")]
    pub bot_token_file: PathBuf,
    /// The id of the chat, or `@NAME` of a channel.
    #[serde(deserialize_with = "chat")]
    pub chat: String,
    /// The ids of the users who may answer: with some, buttons answer.
    #[serde(default)]
    pub users: Vec<i64>,
}

impl NtfySettings {
    /// Returns whether buttons answer.
    pub fn answers(&self) -> bool {
        self.reply_topic.is_some()
    }
}

impl SlackSettings {
    /// Returns whether buttons answer.
    pub fn answers(&self) -> bool {
        self.app_token_file.is_some()
            && self.bot_token_file.is_some()
            && self.channel.is_some()
            && !self.users.is_empty()
    }
}

impl TelegramSettings {
    /// Returns whether buttons answer.
    pub fn answers(&self) -> bool {
        !self.users.is_empty()
    }
}

fn ntfy() -> String {
    NTFY.to_owned()
}

fn slack() -> String {
    SLACK.to_owned()
}

fn telegram() -> String {
    TELEGRAM.to_owned()
}

fn topic<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let topic = String::deserialize(deserializer)?;
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-_".contains(&letter);
    if topic.is_empty() || topic.len() > TOPIC_LIMIT || !topic.bytes().all(is_plain) {
        // A topic is as good as a password on an open server: it is not repeated.
        let why = "a topic is 1 to 64 letters, digits, `-` and `_`";
        return Err(de::Error::custom(why));
    }
    Ok(topic)
}

fn maybe_topic<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct Topic(#[serde(deserialize_with = "topic")] String);

    Ok(Option::<Topic>::deserialize(deserializer)?.map(|Topic(name)| name))
}

fn needed_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    full_path(deserializer)?.ok_or_else(|| de::Error::custom("a path is needed"))
}

/// Reads a chat: a number, as Telegram shows ids, or text.
fn chat<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    struct Chat;

    impl Visitor<'_> for Chat {
        type Value = String;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("the id of a chat or `@NAME`")
        }

        fn visit_i64<E: de::Error>(self, id: i64) -> Result<String, E> {
            Ok(id.to_string())
        }

        fn visit_u64<E: de::Error>(self, id: u64) -> Result<String, E> {
            Ok(id.to_string())
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<String, E> {
            let is_name = text.len() > 1 && text.starts_with('@');
            if is_name || text.parse::<i64>().is_ok() {
                Ok(text.to_owned())
            } else {
                Err(E::custom("a chat is a number or `@NAME`"))
            }
        }
    }

    deserializer.deserialize_any(Chat)
}

//! Notification settings: how a person is told that an agent needs them, the `[notify]` table. A
//! project cannot set it.

mod services;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhook_model::notice::NoticeKind;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

pub use services::{NtfySettings, SlackSettings, TelegramSettings};

/// A slower channel would delay what a person does next.
const TIMEOUT_MAX: u32 = 300;

/// How a person is told that an agent needs them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NotifySettings {
    /// What a person is notified about.
    pub on: Vec<NoticeKind>,
    /// Whether to show a desktop notification, where there is a desktop.
    pub desktop: bool,
    /// The program to run.
    pub command: Option<NotifyCommand>,
    /// The server to send a request to.
    #[serde(deserialize_with = "web_address")]
    pub webhook: Option<String>,
    /// The file with the secret that requests are signed with.
    #[serde(deserialize_with = "full_path")]
    pub webhook_secret_file: Option<PathBuf>,
    /// The topic of an ntfy server.
    pub ntfy: Option<NtfySettings>,
    /// The channel in Slack.
    pub slack: Option<SlackSettings>,
    /// The chat in Telegram.
    pub telegram: Option<TelegramSettings>,
    /// Whether to ring the bell of the person's terminals.
    pub bell: bool,
    /// How long each channel may take.
    pub timeout_seconds: u32,
}

impl Default for NotifySettings {
    fn default() -> Self {
        let on = vec![
            NoticeKind::Decision,
            NoticeKind::Prompt,
            NoticeKind::Failed,
            NoticeKind::Gone,
            NoticeKind::Alarm,
        ];
        Self {
            on,
            desktop: true,
            command: None,
            webhook: None,
            webhook_secret_file: None,
            ntfy: None,
            slack: None,
            telegram: None,
            bell: false,
            timeout_seconds: 10,
        }
    }
}

impl NotifySettings {
    /// Returns how long each channel may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds.clamp(1, TIMEOUT_MAX).into())
    }

    /// Returns whether a person is notified about this kind.
    pub fn wants(&self, kind: NoticeKind) -> bool {
        self.on.contains(&kind)
    }
}

/// The program that notifies a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotifyCommand {
    /// A program with its arguments; no shell sees them.
    Program(Vec<String>),
    /// A line for `sh -c`.
    Line(String),
}

impl Serialize for NotifyCommand {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Program(words) => words.serialize(serializer),
            Self::Line(line) => line.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for NotifyCommand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;

        impl<'de> Visitor<'de> for Words {
            type Value = NotifyCommand;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a program with its arguments, or a shell command line")
            }

            fn visit_str<E: de::Error>(self, line: &str) -> Result<Self::Value, E> {
                if line.trim().is_empty() {
                    return Err(E::custom("the command is empty"));
                }
                Ok(NotifyCommand::Line(line.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = list.next_element::<String>()? {
                    words.push(word);
                }
                if words.first().is_none_or(String::is_empty) {
                    return Err(de::Error::custom("the command does not name a program"));
                }
                Ok(NotifyCommand::Program(words))
            }
        }

        deserializer.deserialize_any(Words)
    }
}

fn web_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let address = Option::<String>::deserialize(deserializer)?;
    // The text itself is not repeated: it may contain a secret.
    match &address {
        Some(text) if !text.starts_with("https://") && !text.starts_with("http://") => {
            Err(de::Error::custom("the webhook must start with https:// or http://"))
        }
        _ => Ok(address),
    }
}

fn full_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    let path = Option::<PathBuf>::deserialize(deserializer)?;
    match &path {
        Some(path) if !path.is_absolute() => {
            Err(de::Error::custom(format!("`{}` is not an absolute path", path.display())))
        }
        _ => Ok(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<NotifySettings, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| error.message().to_owned())
    }

    #[test]
    fn nothing_said_means_the_desktop() {
        let settings = read("").unwrap();
        assert_eq!(settings, NotifySettings::default());
        assert!(settings.desktop && !settings.bell && settings.wants(NoticeKind::Decision));
        assert!(!settings.wants(NoticeKind::Idle), "an idle agent is no trouble");
        assert_eq!(settings.timeout(), Duration::from_secs(10));
    }

    #[test]
    fn everything_can_be_said_and_survives_a_job() {
        let text = "on = ['idle']\ndesktop = false\ncommand = ['notify-me', '--now']\n\
            webhook = 'https://example.com/hook'\nwebhook_secret_file = '/k'\nbell = true\n\
            timeout_seconds = 3\n\
            [ntfy]\ntopic = 'agents'\nreply_topic = 'answers'\ntoken_file = '/n'\n\
            [slack]\nbot_token_file = '/b'\nchannel = 'C1'\napp_token_file = '/a'\nusers = ['U1']\n\
            [telegram]\nbot_token_file = '/t'\nchat = -100\nusers = [7]";
        let settings = read(text).unwrap();
        let words = vec!["notify-me".to_owned(), "--now".to_owned()];
        assert_eq!(settings.command, Some(NotifyCommand::Program(words)));
        assert_eq!((settings.on.as_slice(), settings.bell), ([NoticeKind::Idle].as_slice(), true));
        let json = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<NotifySettings>(&json).unwrap(), settings);

        let line = read("command = 'notify-me \"$ANYHOOK_NOTICE_TITLE\"'").unwrap();
        assert!(matches!(&line.command, Some(NotifyCommand::Line(line)) if line.contains('$')));
        let json = serde_json::to_string(&line).unwrap();
        assert_eq!(serde_json::from_str::<NotifySettings>(&json).unwrap(), line);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, why) in [
            ("command = []", "does not name a program"),
            ("command = ['']", "does not name a program"),
            ("command = ' '", "is empty"),
            ("command = 3", "a program with its arguments"),
            ("on = ['sometimes']", "sometimes"),
            ("webhook = 'ftp://hunter2@x'", "must start with https://"),
            ("webhook_secret_file = 'key'", "not an absolute path"),
            ("sound = true", "sound"),
            ("[ntfy]", "topic"),
            ("[ntfy]\ntopic = 'a/b'", "letters, digits"),
            ("[ntfy]\ntopic = ''", "letters, digits"),
            ("[ntfy]\ntopic = 'a'\nreply_topic = 'a?b'", "letters, digits"),
            ("[ntfy]\ntopic = 'a'\nserver = 'ntfy.sh'", "must start with https://"),
            ("[ntfy]\ntopic = 'a'\nserver = 'https://me:hunter2@x'", "user name or a query"),
            ("[ntfy]\ntopic = 'a'\nserver = 'https://x?auth=hunter2'", "user name or a query"),
            ("[ntfy]\ntopic = 'a'\ntoken_file = 'n'", "not an absolute path"),
            ("[slack]\nchanel = 'C1'", "chanel"),
            ("[slack]\nusers = 'U1'", "sequence"),
            ("[telegram]\nchat = 1", "bot_token_file"),
            ("[telegram]\nbot_token_file = '/t'", "chat"),
            ("[telegram]\nbot_token_file = '/t'\nchat = 1.5", "chat"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(why) && !error.contains("hunter2"), "{text}: {error}");
        }
        assert_eq!(read("timeout_seconds = 0").unwrap().timeout(), Duration::from_secs(1));
        assert_eq!(read("timeout_seconds = 99999").unwrap().timeout(), Duration::from_secs(300));
    }
}

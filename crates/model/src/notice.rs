//! Notices to a person about an agent that needs them, and the results of their delivery.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::RecordId;

/// The version of [`Notice`] and [`NoticeOutcome`].
///
/// 1: the first.
pub const NOTICE_VERSION: u32 = 1;

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A decision is waiting and can be made right away.
    Decision,
    /// An agent shows a prompt and waits.
    Prompt,
    /// An agent is done and waits for the user.
    Idle,
    /// An agent's turn failed.
    Failed,
    /// An agent's process vanished.
    Gone,
    /// A pipeline starts or ends, and its runbook asks for a notification.
    Pipeline,
    /// A guard was bypassed, changed or is off.
    Alarm,
}

impl NoticeKind {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Prompt => "prompt",
            Self::Idle => "idle",
            Self::Failed => "failed",
            Self::Gone => "gone",
            Self::Pipeline => "pipeline",
            Self::Alarm => "alarm",
        }
    }
}

/// A message to a person, sent once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Notice {
    /// The format's version.
    pub v: u32,
    /// Its id: the same condition always has the same id.
    pub id: String,
    /// What it is about.
    pub kind: NoticeKind,
    /// The agent.
    pub agent: String,
    /// The message, in one line.
    pub title: String,
    /// Details, and what to do.
    pub body: String,
    /// The decision it asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<RecordId>,
    /// The options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<NoticeOption>,
    /// When the wait for an answer ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub until: Option<Timestamp>,
    /// The agent's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The page of the decision, if there is one (`[ui] url`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// When it occurred.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
}

/// An option, as accepted by `anyhook decision resolve ID NUMBER`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoticeOption {
    /// Its number, from 1.
    pub number: u32,
    /// Its name, such as `allow`.
    pub name: String,
    /// What it does.
    pub does: String,
}

/// A channel by which a person is notified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// A notification on the desktop.
    Desktop,
    /// A program of the user's choice.
    Command,
    /// A request to a server.
    Webhook,
    /// A message to a topic of an ntfy server.
    Ntfy,
    /// A message in Slack.
    Slack,
    /// A message of a Telegram bot.
    Telegram,
    /// The bell of the user's terminals.
    Bell,
}

impl Channel {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Desktop => "desktop",
            Self::Command => "command",
            Self::Webhook => "webhook",
            Self::Ntfy => "ntfy",
            Self::Slack => "slack",
            Self::Telegram => "telegram",
            Self::Bell => "bell",
        }
    }
}

/// Whether a notice was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// It was delivered.
    Delivered,
    /// This machine does not have the channel, such as a desktop or a terminal.
    Absent,
    /// It was not delivered.
    Failed,
}

/// The result of a notice on one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeliveryResult {
    /// The channel.
    pub way: Channel,
    /// Whether it was delivered.
    pub result: DeliveryStatus,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The message, where it can be changed later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<PostedMessage>,
}

/// A message that a service can still change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PostedMessage {
    /// The service's id of the channel or chat.
    pub place: String,
    /// The service's id of the message.
    pub id: String,
}

impl DeliveryResult {
    /// Creates the outcome of a notice that was delivered.
    pub fn delivered(way: Channel) -> Self {
        Self { way, result: DeliveryStatus::Delivered, why: None, message: None }
    }

    /// Creates the outcome for a channel that does not exist.
    pub fn absent(way: Channel, why: impl Into<String>) -> Self {
        Self { way, result: DeliveryStatus::Absent, why: Some(why.into()), message: None }
    }

    /// Creates the outcome of a notice that was not delivered.
    pub fn failed(way: Channel, why: impl Into<String>) -> Self {
        Self { way, result: DeliveryStatus::Failed, why: Some(why.into()), message: None }
    }
}

/// What a person chose in a notification, and whether it was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoticeAnswer {
    /// The number of the option.
    pub number: u32,
    /// Why the choice did not resolve the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The progress of a notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NoticeState {
    /// It is being delivered.
    UnderWay,
    /// The process that delivered it ended without reporting the result.
    #[default]
    InDoubt,
    /// Every channel was tried.
    Tried,
}

/// The result of a notice: the content of its claim file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoticeOutcome {
    /// The format's version.
    pub v: u32,
    /// The notice.
    pub id: String,
    /// Its state.
    pub state: NoticeState,
    /// What it is about; absent if not even that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<NoticeKind>,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When its delivery began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub claimed: Option<Timestamp>,
    /// When every channel had been tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub tried: Option<Timestamp>,
    /// The result on each channel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<DeliveryResult>,
    /// What was chosen in a notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<NoticeAnswer>,
}

impl NoticeOutcome {
    /// Returns whether it was delivered on at least one channel.
    pub fn is_delivered(&self) -> bool {
        self.ways.iter().any(|outcome| outcome.result == DeliveryStatus::Delivered)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_notice_survives_json() {
        let value = json!({"v": 1, "id": "7k2m9x4q", "kind": "decision", "agent": "codex:s",
            "title": "codex asks", "body": "rm -rf build", "decision": "7k2m9x4q",
            "options": [{"number": 1, "name": "allow", "does": "it runs"}],
            "until": "2026-01-01T00:10:00Z", "host": "codex", "project": "/p",
            "url": "https://box:7777/decisions/7k2m9x4q",
            "at": "2026-01-01T00:00:00Z"});
        let notice: Notice = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&notice).unwrap(), value);
    }

    #[test]
    fn an_outcome_survives_json() {
        let value = json!({"v": 1, "id": "x", "state": "tried", "kind": "gone",
            "ways": [{"way": "desktop", "result": "absent", "why": "no desktop bus"},
                {"way": "bell", "result": "delivered"},
                {"way": "telegram", "result": "delivered", "message": {"place": "7", "id": "8"}}],
            "answer": {"number": 2, "failure": "already finished"}});
        let outcome: NoticeOutcome = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&outcome).unwrap(), value);
        assert!(outcome.is_delivered());
    }

    #[test]
    fn names_are_those_of_json() {
        for kind in [NoticeKind::Decision, NoticeKind::Prompt, NoticeKind::Idle, NoticeKind::Alarm]
        {
            assert_eq!(json!(kind), kind.name());
        }
        for way in [
            Channel::Desktop,
            Channel::Command,
            Channel::Webhook,
            Channel::Ntfy,
            Channel::Slack,
            Channel::Telegram,
            Channel::Bell,
        ] {
            assert_eq!(json!(way), way.name());
        }
    }
}

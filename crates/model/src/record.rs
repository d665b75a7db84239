//! The records of the journal.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::agent::ProcessName;
use crate::alarm::Alarm;
use crate::approval_request::Resolution;
use crate::decision::Decision;
use crate::host::{ForeignEntry, Lost};
use crate::id::RecordId;
use crate::json::{Object, lossy, push_compact};
use crate::kind::EventKind;
use crate::outcome::RunOutcome;
use crate::verdict::Verdict;

/// The version of the journal's format.
///
/// - 1: one JSON object per line, one file per day: one [`Record`] per dispatch, and one with `of`
///   for the outcome of each hook that ran in the background.
/// - 2: numbered segments, a checksum (`sum`) at the end of each line; the payload, the reply,
///   counted fields, the call's id; long texts in separate files (`long`), secrets redacted
///   (`redacted`). Everything in the first format is unchanged, except for `folder` of a hook that
///   was skipped because of its matcher.
pub const JOURNAL_VERSION: u32 = 2;

/// What the session of a canary starts with: a call that anyhook makes in an agent's place, to see
/// that it is denied. Anybody can call a session so: it is one if it is also in the state folder.
pub const CANARY_SESSION: &str = "anyhook-canary-";

/// The event of a record that says only that a call was not handled because the agent calls anyhook
/// about the same event through an entry of its own, too.
pub const DOUBLE_CALL: &str = "double_call";

/// The event of a record that says only that an agent has executed a call that no hook was asked
/// about, according to the agent's log.
pub const CALL_UNASKED: &str = "call_unasked";

/// One line of the journal: a dispatch, or (with `of`) the outcome of a hook that ran in the
/// background.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// The format's version.
    pub v: u32,
    /// This record's id.
    pub id: RecordId,
    /// The dispatch that started the hook whose outcome this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<RecordId>,
    /// The first record of the same payload, if a payload contains several events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<RecordId>,
    /// When the dispatch began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The host.
    pub host: String,
    /// The event.
    pub event: EventKind,
    /// The host's own name for the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_name: Option<String>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Which agent of the session, if the host distinguishes subagents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The id given to the agent when it was started (`ANYHOOK_AGENT_ID`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Whose entry was called and which agent ran it, if those are two agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_entry: Option<Box<ForeignEntry>>,
    /// The agent's process, at the start of a session or turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessName>,
    /// The agent's working folder.
    pub work_dir: String,
    /// The project root the hooks came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_dir: Option<String>,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The tool call: the host's id for it, or a digest of the tool and its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The digest of the tool and its input, if the call has its own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_digest: Option<String>,
    /// What the event was about: a command, a path or a prompt; shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// What the host sent, on the first record of a payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
    /// Fields of the event that anyhook counted, because the host does not.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub counted: Object,
    /// The hooks that matched, in the order they ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunRecord>,
    /// Skipped hooks, and why; hooks for other events are only counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Skipped>,
    /// How many more hooks were skipped because their matcher does not match.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_skipped: usize,
    /// How many installed hooks listen for other events.
    #[serde(default)]
    pub other_events: usize,
    /// The verdict of a dispatch.
    #[serde(default)]
    pub verdict: Verdict,
    /// What a person answered while the agent waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Resolution>,
    /// What could not be passed to the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Lost>,
    /// The reply to the host, on the first record of a payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<ReplyRecord>,
    /// The denial that the host ignored: the denied call ran anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied_by: Option<RecordId>,
    /// Alarms raised in addition to the hooks' results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<Alarm>,
    /// Whether it was made by `anyhook init` or `anyhook doctor --prove`, which had said so before,
    /// and no tool ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub canary: bool,
    /// Texts too long for a line, stored in separate files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub long: Vec<LongText>,
    /// The kinds of secrets that were redacted from this record and its files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<String>,
    /// The total duration, in microseconds.
    pub took_us: u64,
}

impl Record {
    /// Creates a record of version [`JOURNAL_VERSION`] with only its id, time, host and event.
    pub fn new(id: RecordId, at: Timestamp, host: &str, event: EventKind) -> Self {
        Self {
            v: JOURNAL_VERSION,
            id,
            of: None,
            with: None,
            at,
            host: host.to_owned(),
            event,
            native_name: None,
            session: None,
            agent: None,
            agent_id: None,
            foreign_entry: None,
            process: None,
            work_dir: String::new(),
            project_dir: None,
            tool: None,
            call: None,
            call_digest: None,
            about: None,
            payload: None,
            counted: Object::new(),
            runs: Vec::new(),
            skipped: Vec::new(),
            more_skipped: 0,
            other_events: 0,
            verdict: Verdict::default(),
            answered: None,
            lost: Vec::new(),
            reply: None,
            denied_by: None,
            alarms: Vec::new(),
            canary: false,
            long: Vec::new(),
            redacted: Vec::new(),
            took_us: 0,
        }
    }

    /// Returns whether this was a canary: no agent did anything, and nobody has to be told.
    pub fn is_canary(&self) -> bool {
        self.canary && self.alarms.is_empty()
    }

    /// Returns whether this was a call that was dropped because the agent makes it twice.
    pub fn is_double_call(&self) -> bool {
        matches!(&self.event, EventKind::Other(name) if name == DOUBLE_CALL)
    }

    /// Returns whether this is not about an event but about a call that no hook was asked about.
    pub fn is_unasked_call(&self) -> bool {
        matches!(&self.event, EventKind::Other(name) if name == CALL_UNASKED)
    }

    /// Returns whether the host was told not to continue.
    ///
    /// This includes an `ask` where no one can be asked.
    pub fn denies(&self) -> bool {
        let is_ask_turned_down =
            |lost: &Lost| lost.what == "ask" && lost.instead.starts_with("deny");
        self.verdict.is_block() || self.lost.iter().any(is_ask_turned_down)
    }
}

// JSON where possible, because people inspect records with `jq`; a string otherwise, because a
// malicious payload must not make a record unreadable.
/// What a host sent, unchanged. In a record it is JSON, or a string if it is not valid JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "Value"))]
pub struct Payload(String);

impl Payload {
    /// Wraps a payload as it was received.
    pub fn new(bytes: &[u8]) -> Self {
        Self(lossy(bytes).into_owned())
    }

    /// Returns the text.
    pub fn as_text(&self) -> &str {
        &self.0
    }

    /// Appends it to a text as JSON on one line, as in a record.
    pub fn push_json(&self, text: &mut Vec<u8>) -> serde_json::Result<()> {
        if push_compact(&self.0, text) { Ok(()) } else { serde_json::to_writer(text, self) }
    }

    /// Returns the owned text.
    pub fn into_text(self) -> String {
        self.0
    }
}

impl From<String> for Payload {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self(
            String::from_utf8(bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        )
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<Value>(&self.0) {
            Ok(value) if !value.is_string() => value.serialize(serializer),
            _ => serializer.serialize_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            value => value.to_string(),
        }))
    }
}

/// The reply to the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplyRecord {
    /// The exit code.
    pub exit_code: u8,
    /// What was written to stdout.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// What was written to stderr.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// A text stored in a separate file, named after its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LongText {
    /// Where its beginning is in the record, as a JSON pointer.
    pub at: String,
    /// The SHA-256 of the text.
    pub sha256: String,
    /// The length of the text.
    pub bytes: u64,
}

/// The result of one hook in a dispatch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRecord {
    /// The hook's name.
    pub hook: String,
    /// Where its folder is.
    pub folder: String,
    /// Whether it ran in shadow mode.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadow: bool,
    /// How the run ended; absent if it never ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RunOutcome>,
    /// Its decision.
    #[serde(default, skip_serializing_if = "Decision::is_silent")]
    pub decision: Decision,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Additional notes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Its stdout; truncated if long.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// Its stderr; truncated if long.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// How long it took, in microseconds.
    pub took_us: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde asks with")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A skipped hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Skipped {
    /// The hook's name.
    pub hook: String,
    /// Its folder; absent if it was only skipped by its matcher.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// Why it was skipped.
    pub why: SkipReason,
}

impl Skipped {
    /// Creates the entry of a skipped hook.
    pub fn new(hook: &str, folder: impl FnOnce() -> String, why: SkipReason) -> Self {
        // A hundred hooks that do not match are common: their names are enough.
        let folder = if why.is_mismatch() { String::new() } else { folder() };
        Self { hook: hook.to_owned(), folder, why }
    }
}

/// Why a hook was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// It cannot run: what is wrong with it.
    Unusable(String),
    /// It listens for other events.
    OtherEvent,
    /// Its `matcher.tool` does not match.
    Tool,
    /// Its `matcher.pattern` is in none of the input's values.
    Pattern,
    /// Its matcher has conditions, such as `shell` or `files`, that do not hold.
    Conditions,
    /// A project hook that is not trusted yet.
    Untrusted,
    /// It is for other hosts only.
    Host,
    /// A project hook of the same name, in this folder, overrides it.
    Replaced(String),
    /// A hook of the same name in this folder cannot be overridden.
    Dropped(String),
}

impl SkipReason {
    /// Returns whether the hook's matcher is the reason.
    pub fn is_mismatch(&self) -> bool {
        matches!(self, Self::Tool | Self::Pattern | Self::Conditions)
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(why) => write!(formatter, "unusable: {why}"),
            Self::OtherEvent => formatter.write_str("listens for other events"),
            Self::Tool => formatter.write_str("matcher.tool does not match"),
            Self::Pattern => formatter.write_str("matcher.pattern does not match"),
            Self::Conditions => formatter.write_str("the conditions of its matcher do not hold"),
            Self::Untrusted => formatter.write_str("not trusted (anyhook trust)"),
            Self::Host => formatter.write_str("for other hosts only"),
            Self::Replaced(folder) => write!(formatter, "overridden by {folder}"),
            Self::Dropped(folder) => write!(formatter, "dropped: {folder} cannot be overridden"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_json_in_a_record_or_else_a_string() {
        let deep = "[".repeat(1000);
        for (sent, written) in [
            ("{\n  \"a\": \"x\\ny\",\r\n  \"n\": 1.50\n}\n", r#"{"a":"x\ny","n":1.50}"#),
            ("{\"a\": \n", r#""{\"a\": \n""#),
            ("\"text\"", r#""\"text\"""#),
            ("", r#""""#),
            (
                r#"{"$serde_json::private::Number": "x"}"#,
                r#""{\"$serde_json::private::Number\": \"x\"}""#,
            ),
            (&deep, &format!("\"{deep}\"")),
        ] {
            let payload = Payload::new(sent.as_bytes());
            let text = serde_json::to_string(&payload).unwrap();
            assert_eq!(text, written);
            let mut pushed = Vec::new();
            payload.push_json(&mut pushed).unwrap();
            assert_eq!(pushed, written.as_bytes());
            let read: Payload = serde_json::from_str(&text).unwrap();
            if text.starts_with('"') {
                assert_eq!(read, payload);
            } else {
                assert_eq!(read.as_text(), written);
            }
        }
    }

    #[test]
    fn a_record_of_the_first_form_is_read() {
        let line = r#"{"v":1,"id":"7k2m9x4q","at":"2026-01-01T00:00:00Z","host":"codex","event":"before_tool","work_dir":"/","other_events":0,"verdict":{},"took_us":5}"#;
        let record: Record = serde_json::from_str(line).unwrap();
        assert_eq!((record.v, record.payload.is_none()), (1, true));
        let again: Record = serde_json::from_value(serde_json::to_value(&record).unwrap()).unwrap();
        assert_eq!(again, record);
    }

    #[test]
    fn a_payload_survives_as_a_value() {
        let mut record = Record::new(
            RecordId::from_text("a"),
            Timestamp::UNIX_EPOCH,
            "codex",
            EventKind::BeforeTool,
        );
        record.payload = Some(Payload::new(br#"{"n":1.50,"b":[true]}"#));
        let value = serde_json::to_value(&record).unwrap();
        assert_eq!(value["payload"]["b"][0], true);
        let again: Record = serde_json::from_value(value).unwrap();
        assert_eq!(again, record);
    }
}

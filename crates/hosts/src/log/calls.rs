//! Tool calls that an agent has executed, according to its log.
//!
//! A log shows first that the model called a tool, then the result. What is in between, a denial or
//! an input that the agent did not accept, shows in the result alone: a call counts as executed only
//! if its result says so.

use anyhook_model::json::{Object, shorten};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LogState;

/// The maximum number of calls that are tracked at once; the oldest are dropped first.
const MAX_BEGUN: usize = 64;
/// The maximum number of calls by whose ids repeated results are detected.
const MAX_TOLD: usize = 64;
/// The maximum length of what a call is about.
const ABOUT: usize = 200;
/// The maximum length of ids and names.
const NAME: usize = 200;

/// The fields of an input that say what a call is about, the most telling first.
const TELLING: [&str; 16] = [
    "command",
    "cmd",
    "chars",
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "url",
    "query",
    "pattern",
    "prompt",
    "goal",
    "task",
    "message",
    "description",
    "input",
];

/// A tool call that was executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutedCall {
    /// The agent's id for it; that of the log if hooks are not told one.
    pub id: Option<String>,
    /// The agent's own name of the tool, if the log still knows it.
    pub tool: Option<String>,
    /// What it was about, shortened; secrets in it are not redacted.
    pub about: Option<String>,
    /// What a hook received before the call, if hooks are not told the call's id.
    pub payload: Option<Value>,
    /// What identifies such a payload, if the call has begun in an earlier line.
    pub digest: Option<String>,
    /// When it ended, according to the log.
    pub at: Option<Timestamp>,
    /// The session that hooks are told, if it is not the log's.
    pub session: Option<String>,
    /// The session that the log's beginning was copied from.
    pub copied_from: Option<String>,
}

/// A call that has no result yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BegunCall {
    /// The agent's id for it.
    pub id: String,
    /// The agent's own name of the tool.
    pub tool: String,
    /// What it is about. Not stored: it may contain secrets.
    #[serde(skip)]
    pub about: Option<String>,
    /// What a hook received before it, if hooks are not told its id. Not stored, either: see
    /// [`LogState::digest_calls`].
    #[serde(skip)]
    pub payload: Option<Value>,
    /// What identifies that payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl BegunCall {
    /// Returns a call of which only the id is known.
    pub fn open(id: &str) -> Self {
        Self { id: id.to_owned(), ..Self::default() }
    }
}

impl LogState {
    /// Records that the model called a tool.
    pub(crate) fn begin_call(&mut self, id: &str, tool: &str, about: Option<String>) {
        if id.is_empty() || id.len() > NAME || tool.len() > NAME {
            return;
        }
        if self.begun.len() >= MAX_BEGUN {
            self.begun.remove(0);
        }
        let (id, tool) = (id.to_owned(), tool.to_owned());
        self.begun.push(BegunCall { id, tool, about, ..BegunCall::default() });
    }

    /// Records that the model called a tool, where hooks are not told the id: with what they received
    /// before the call.
    pub(crate) fn begin_call_without_id(
        &mut self,
        id: &str,
        tool: &str,
        about: Option<String>,
        payload: Value,
    ) {
        self.begin_call(id, tool, about);
        if let Some(begun) = self.begun.last_mut().filter(|begun| begun.id == id) {
            begun.payload = Some(payload);
        }
    }

    /// Replaces the payloads of calls that have no result yet by what identifies them: that is small,
    /// and can be stored.
    pub fn digest_calls(&mut self, digest: impl Fn(&Value) -> Option<String>) {
        for begun in &mut self.begun {
            if let Some(payload) = begun.payload.take() {
                begun.digest = digest(&payload);
            }
        }
    }

    /// Returns the tool of a call that has no result yet.
    pub(crate) fn begun_tool(&self, id: &str) -> Option<&str> {
        self.begun.iter().find(|begun| begun.id == id).map(|begun| begun.tool.as_str())
    }

    /// Records that a call was not executed.
    pub(crate) fn drop_call(&mut self, id: &str) {
        self.begun.retain(|begun| begun.id != id);
    }

    /// Records that a call was executed.
    pub(crate) fn end_call(&mut self, id: &str, at: Option<Timestamp>) {
        let known = self.begun.iter().position(|begun| begun.id == id);
        let begun = known.map(|at| self.begun.remove(at)).unwrap_or_default();
        self.executed(ExecutedCall {
            id: Some(id.to_owned()).filter(|id| !id.is_empty() && id.len() <= NAME),
            tool: Some(begun.tool).filter(|tool| !tool.is_empty()),
            about: begun.about,
            payload: begun.payload,
            digest: begun.digest,
            at,
            ..ExecutedCall::default()
        });
    }

    /// Records a call that was executed.
    pub(crate) fn executed(&mut self, call: ExecutedCall) {
        self.executed.push(ExecutedCall {
            session: call.session.or_else(|| self.hook_session.clone()),
            copied_from: call.copied_from.or_else(|| self.copied_from.clone()),
            ..call
        });
    }

    /// Records that the result of a call was read; returns whether it is the first one.
    pub(crate) fn is_first_result(&mut self, id: &str) -> bool {
        if self.told.iter().any(|told| told == id) {
            return false;
        }
        if self.told.len() >= MAX_TOLD {
            self.told.remove(0);
        }
        self.told.push(shorten(id, NAME));
        true
    }

    /// Returns whether the last line reported calls as executed.
    pub fn has_executed(&self) -> bool {
        !self.executed.is_empty()
    }

    /// Takes the calls that the last line reported as executed.
    pub fn take_executed(&mut self) -> Vec<ExecutedCall> {
        std::mem::take(&mut self.executed)
    }
}

/// Returns what a call is about, according to its input.
pub(crate) fn about(input: &Value) -> Option<String> {
    match input {
        Value::String(text) => short(text),
        Value::Object(fields) => about_fields(fields),
        _ => None,
    }
}

fn about_fields(fields: &Object) -> Option<String> {
    let text = |name: &&str| fields.get(*name).and_then(Value::as_str);
    TELLING.iter().find_map(text).and_then(short)
}

fn short(text: &str) -> Option<String> {
    // Enough of it, whatever its length.
    let start: String = text.trim().chars().take(2 * ABOUT).collect();
    Some(shorten(&start, ABOUT)).filter(|text| !text.is_empty())
}

//! The protocol of `anyhook serve --stdio`: one JSON object per line.
//!
//! - [`ServeHello`] is the first line out.
//! - [`ServeRequest`] is a line in; [`read`] parses it, and keeps what is for the engine exactly as
//!   it was sent.
//! - [`ServeAnswer`] is a line out. Every request gets exactly one; a cancel gets none of its own.

mod read;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decision::Effect;
use crate::id::RecordId;
use crate::json::Object;
use crate::verdict::Verdict;

pub use read::{IncomingLine, ParsedRequest, RejectedLine, RequestBody, RequestContext, read};

/// The protocol version. It is incremented when a line changes its meaning or a key is added.
///
/// - 1: the first.
pub const PROTOCOL: u32 = 1;

/// Lines longer than this are skipped.
pub const LINE_LIMIT: usize = 64 * 1024 * 1024;

/// The first line out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServeHello {
    /// The program's version.
    pub anyhook: String,
    /// The protocol version.
    pub protocol: u32,
}

/// The caller's id for a request: a number or a string, which is returned digit for digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct RequestId(Value);

impl TryFrom<Value> for RequestId {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        match value {
            Value::Number(_) | Value::String(_) => Ok(Self(value)),
            _ => Err("an id is a number or a string"),
        }
    }
}

impl From<RequestId> for Value {
    fn from(id: RequestId) -> Self {
        id.0
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for RequestId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Id".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "The caller's id for a request; returned unchanged.",
            "type": ["number", "string"],
        })
    }
}

/// A line in: an event, an agent's own payload, or the cancellation of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend(
    "oneOf" = [
        {"required": ["id", "event"], "properties": {"cancel": false}},
        {"required": ["id", "host", "payload"], "properties": {"cancel": false}},
        {"required": ["cancel"], "maxProperties": 1},
    ],
    "dependentRequired" = {"host": ["payload"], "payload": ["host"]},
)))]
#[serde(deny_unknown_fields)]
pub struct ServeRequest {
    /// The caller's id for this request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RequestId>,
    /// An event of the open format (schema `event`; only `event_type` is required).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<Object>,
    /// The agent that `payload` comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What that agent sent: an object, or its text as a string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// Answer within this many milliseconds of reading the line; hooks that are not done by then
    /// fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// The agent's working folder, absolute, if the event does not contain it; defaults to the
    /// folder anyhook was started in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_dir: Option<String>,
    /// The project folder, absolute; defaults to the agent's environment variables, then the
    /// repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_dir: Option<String>,
    /// The request to cancel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<RequestId>,
}

/// A line out: one of `verdict`, `reply`, `cancelled` and `error`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("oneOf" = [
    {"required": ["verdict"]},
    {"required": ["reply"]},
    {"required": ["cancelled"]},
    {"required": ["error"]},
])))]
pub struct ServeAnswer {
    /// The request's id; null if the line had no readable id.
    pub id: Option<RequestId>,
    /// The combined verdict of all hooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ServedVerdict>,
    /// The reply for the agent, if the request had its own payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<NativeReply>,
    /// Warnings for the user that do not affect the decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// True if the caller cancelled the request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ServeError>,
}

/// A verdict in the open format, as printed by `anyhook hook agent-hooks`.
///
/// Everything is absent if no hook has an opinion, which is not the same as `allow`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServedVerdict {
    /// The decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Effect>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The tool's whole input after all changes, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_input: Option<Object>,
    /// Text for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_context: Option<String>,
    /// The journal record that explains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RecordId>,
}

impl From<&Verdict> for ServedVerdict {
    fn from(verdict: &Verdict) -> Self {
        if verdict.is_silent() {
            return Self::default();
        }
        Self {
            decision: verdict.effect,
            reason: verdict.reason.clone(),
            modified_input: verdict.input.clone(),
            additional_context: verdict.context.clone(),
            id: verdict.id.clone(),
        }
    }
}

/// What an agent's program would have received from `anyhook hook`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NativeReply {
    /// The exit code.
    pub exit_code: u8,
    /// What would be written to stdout.
    pub stdout: String,
    /// What would be written to stderr.
    pub stderr: String,
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServeError {
    /// The kind of error, for programs.
    pub code: ServeErrorCode,
    /// What is wrong, as text.
    pub message: String,
    /// The next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ServeErrorCode {
    /// The line, or the event in it, is not JSON.
    NotJson,
    /// The line is JSON, but in none of the three forms.
    NotARequest,
    /// The event has no type.
    NotAnEvent,
    /// The host is unknown.
    UnknownHost,
    /// The id is that of a request still in flight.
    DuplicateId,
    /// The line is longer than 64 MiB.
    TooLarge,
    /// An internal error; please report it.
    Fault,
}

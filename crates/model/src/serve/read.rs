//! Parses a line that `anyhook serve --stdio` receives.
//!
//! An event in it is located, not parsed and serialized again: it reaches the engine byte for byte,
//! so verdicts and records are the same as with `anyhook hook`.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::{RequestId, ServeAnswer, ServeError, ServeErrorCode, ServeRequest};
use crate::json::{Members, members};

/// Every key of a line in.
const KEYS: [&str; 8] =
    ["id", "event", "host", "payload", "deadline_ms", "work_dir", "project_dir", "cancel"];

/// A line that could be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IncomingLine {
    /// A request to answer.
    Asked(ParsedRequest),
    /// The request to cancel.
    Cancel(RequestId),
}

/// A request to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedRequest {
    /// The caller's id for it.
    pub id: RequestId,
    /// What to decide on.
    pub body: RequestBody,
    /// What the caller says about it.
    pub about: RequestContext,
}

/// What to decide on, as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestBody {
    /// An event of the open format.
    Event(String),
    /// An agent's own payload.
    Payload {
        /// The agent.
        host: String,
        /// Its payload.
        text: String,
    },
}

impl RequestBody {
    /// Returns the text for the engine.
    pub fn text(&self) -> &str {
        match self {
            Self::Event(text) | Self::Payload { text, .. } => text,
        }
    }
}

/// What a caller may say about a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestContext {
    /// How long the answer may take.
    pub deadline: Option<Duration>,
    /// The agent's working folder.
    pub work_dir: Option<PathBuf>,
    /// The project folder.
    pub project_dir: Option<PathBuf>,
}

/// A line that cannot be used, with the id of its request if that can be determined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedLine {
    /// The request's id.
    pub id: Option<RequestId>,
    /// What is wrong.
    pub error: Box<ServeError>,
}

impl From<RejectedLine> for ServeAnswer {
    fn from(refused: RejectedLine) -> Self {
        Self { id: refused.id, error: Some(*refused.error), ..Self::default() }
    }
}

impl RejectedLine {
    /// Rejects a line that is too long, given its beginning.
    pub fn too_large(beginning: &[u8]) -> Self {
        let error = ServeError {
            code: ServeErrorCode::TooLarge,
            message: "the line is longer than 64 MiB".to_owned(),
            hint: Some("put the id first, and omit what no hook needs".to_owned()),
        };
        Self { id: id_of(&members(&text_of(beginning))), error: Box::new(error) }
    }
}

/// Parses a line.
pub fn read(line: &[u8]) -> Result<IncomingLine, RejectedLine> {
    let text = text_of(line);
    let members = members(&text);
    let id = id_of(&members);
    take(&text, &members).map_err(|error| RejectedLine { id, error: Box::new(error) })
}

/// Decodes a line; invalid UTF-8 is treated as the engine treats it.
fn text_of(line: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(line) {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Cow::Owned(text) => match text.strip_prefix('\u{feff}') {
            Some(rest) => Cow::Owned(rest.to_owned()),
            None => Cow::Owned(text),
        },
    }
}

/// Returns the id of a line that may be unusable otherwise.
fn id_of(members: &Members<'_>) -> Option<RequestId> {
    serde_json::from_str::<Value>(members.get("id")?).ok()?.try_into().ok()
}

fn take(text: &str, members: &Members<'_>) -> Result<IncomingLine, ServeError> {
    if !members.complete {
        return Err(match serde_json::from_str::<IgnoredAny>(text) {
            Err(error) => not_json(&error),
            Ok(_) => not_a_request("the line is not a JSON object"),
        });
    }
    let mut request = ServeRequest::default();
    let (mut event, mut payload) = (None, None);
    for (index, (name, text)) in members.found.iter().enumerate() {
        if members.found[..index].iter().any(|(earlier, _)| earlier == name) {
            return Err(not_a_request(format!("`{name}` is given twice")));
        }
        if !KEYS.contains(&name.as_str()) {
            return Err(not_a_request(format!("unknown key `{name}`")));
        }
        // Null counts as absent, as everywhere.
        if *text == "null" {
            continue;
        }
        match name.as_str() {
            "event" => event = Some((*text).to_owned()),
            "payload" => payload = Some(*text),
            "host" => request.host = Some(string(name, text)?),
            "deadline_ms" => request.deadline_ms = Some(whole_number(name, text)?),
            "work_dir" => request.work_dir = Some(folder(name, text)?),
            "project_dir" => request.project_dir = Some(folder(name, text)?),
            "cancel" => request.cancel = Some(id(name, text)?),
            _ => request.id = Some(id(name, text)?),
        }
    }
    if let Some(cancel) = request.cancel {
        if members.found.len() > 1 {
            return Err(not_a_request("`cancel` cannot be combined with other keys"));
        }
        return Ok(IncomingLine::Cancel(cancel));
    }
    let Some(id) = request.id else { return Err(not_a_request("`id` is missing")) };
    let body = match (event, request.host, payload) {
        (Some(text), None, None) => RequestBody::Event(text),
        (None, Some(host), Some(text)) => RequestBody::Payload { host, text: payload_text(text)? },
        (None, None, None) => return Err(not_a_request("`event` is missing")),
        (Some(_), ..) => {
            return Err(not_a_request("give either `event` or `host` and `payload`, not both"));
        }
        (None, Some(_), None) => return Err(not_a_request("`host` requires `payload`")),
        (None, None, Some(_)) => return Err(not_a_request("`payload` requires `host`")),
    };
    let about = RequestContext {
        deadline: request.deadline_ms.map(Duration::from_millis),
        work_dir: request.work_dir.map(PathBuf::from),
        project_dir: request.project_dir.map(PathBuf::from),
    };
    Ok(IncomingLine::Asked(ParsedRequest { id, body, about }))
}

/// Returns the text of a payload, which may be sent as a string by callers that do not parse it.
fn payload_text(text: &str) -> Result<String, ServeError> {
    if text.starts_with('"') {
        return serde_json::from_str(text).map_err(|error| not_json(&error));
    }
    Ok(text.to_owned())
}

fn value(text: &str) -> Result<Value, ServeError> {
    serde_json::from_str(text).map_err(|error| not_json(&error))
}

fn id(name: &str, text: &str) -> Result<RequestId, ServeError> {
    let not_an_id = |_| not_a_request(format!("`{name}` must be a number or a string"));
    value(text)?.try_into().map_err(not_an_id)
}

fn string(name: &str, text: &str) -> Result<String, ServeError> {
    match value(text)? {
        Value::String(text) => Ok(text),
        _ => Err(not_a_request(format!("`{name}` must be a string"))),
    }
}

fn whole_number(name: &str, text: &str) -> Result<u64, ServeError> {
    let number = value(text)?.as_u64();
    number.ok_or_else(|| not_a_request(format!("`{name}` must be a non-negative integer")))
}

fn folder(name: &str, text: &str) -> Result<String, ServeError> {
    let folder = string(name, text)?;
    if Path::new(&folder).is_absolute() {
        return Ok(folder);
    }
    Err(not_a_request(format!("`{name}` is not an absolute path: {folder:?}")))
}

fn not_json(error: &serde_json::Error) -> ServeError {
    ServeError {
        code: ServeErrorCode::NotJson,
        message: format!("the line is not JSON: {error}"),
        hint: Some("send one JSON object per line, without line breaks inside".to_owned()),
    }
}

fn not_a_request(message: impl Into<String>) -> ServeError {
    let hint = r#"send {"id": 1, "event": {…}}, {"id": 1, "host": "…", "payload": {…}} or {"cancel": 1}; further keys: deadline_ms, work_dir, project_dir"#;
    ServeError {
        code: ServeErrorCode::NotARequest,
        message: message.into(),
        hint: Some(hint.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn number(id: u64) -> RequestId {
        json!(id).try_into().unwrap()
    }

    #[test]
    fn the_three_forms_are_read() {
        let event = r#"{"event_type": "before_tool", "event_type": 1.0}"#;
        let line = format!(r#"{{"id": 7, "event": {event}, "deadline_ms": 5, "work_dir": "/w"}}"#);
        let about = RequestContext {
            deadline: Some(Duration::from_millis(5)),
            work_dir: Some("/w".into()),
            project_dir: None,
        };
        let body = RequestBody::Event(event.to_owned());
        assert_eq!(
            read(line.as_bytes()),
            Ok(IncomingLine::Asked(ParsedRequest { id: number(7), body, about }))
        );
        for payload in [r#"{"a": 1}"#, r#""{\"a\": 1}""#] {
            let line = format!(r#"{{"payload": {payload}, "host": "codex", "id": "a"}}"#);
            let Ok(IncomingLine::Asked(asked)) = read(line.as_bytes()) else { panic!("{line}") };
            assert_eq!(asked.body.text(), r#"{"a": 1}"#);
        }
        assert_eq!(read(br#"{"cancel": 7}"#), Ok(IncomingLine::Cancel(number(7))));
    }

    #[test]
    fn what_cannot_be_used_is_named_with_its_id() {
        for (line, code, words) in [
            ("", ServeErrorCode::NotJson, "EOF"),
            ("nonsense", ServeErrorCode::NotJson, "line 1 column 2"),
            (r#"{"id": 7, "event": {"#, ServeErrorCode::NotJson, "EOF"),
            (r#"{"id": 7, "deadline_ms": 1x, "event": {}}"#, ServeErrorCode::NotJson, "column"),
            ("[1]", ServeErrorCode::NotARequest, "not a JSON object"),
            ("{}", ServeErrorCode::NotARequest, "`id` is missing"),
            (r#"{"id": null, "event": {}}"#, ServeErrorCode::NotARequest, "`id` is missing"),
            (r#"{"id": [], "event": {}}"#, ServeErrorCode::NotARequest, "must be a number or"),
            (r#"{"id": 7}"#, ServeErrorCode::NotARequest, "`event` is missing"),
            (r#"{"id": 7, "host": "codex"}"#, ServeErrorCode::NotARequest, "requires `payload`"),
            (r#"{"id": 7, "payload": {}}"#, ServeErrorCode::NotARequest, "requires `host`"),
            (
                r#"{"id": 7, "payload": {}, "host": 1}"#,
                ServeErrorCode::NotARequest,
                "must be a string",
            ),
            (r#"{"id": 7, "event": {}, "host": "codex"}"#, ServeErrorCode::NotARequest, "not both"),
            (r#"{"id": 7, "event": {}, "id": 8}"#, ServeErrorCode::NotARequest, "twice"),
            (r#"{"id": 7, "event": {}, "deadline": 1}"#, ServeErrorCode::NotARequest, "`deadline`"),
            (
                r#"{"id": 7, "event": {}, "deadline_ms": -1}"#,
                ServeErrorCode::NotARequest,
                "non-negative",
            ),
            (r#"{"id": 7, "event": {}, "work_dir": "w"}"#, ServeErrorCode::NotARequest, "absolute"),
            (r#"{"id": 7, "cancel": 7}"#, ServeErrorCode::NotARequest, "cannot be combined"),
        ] {
            let refused = read(line.as_bytes()).unwrap_err();
            assert_eq!(refused.error.code, code, "{line}: {refused:?}");
            assert!(refused.error.message.contains(words), "{line}: {refused:?}");
            let id = line.contains("\"id\": 7").then(|| number(7));
            assert_eq!(refused.id, id, "{line}");
        }
    }

    #[test]
    fn ids_come_back_to_the_digit() {
        for id in ["7", "1.50", "123456789012345678901234567890", "\"ü\""] {
            let line = format!("{{\"id\": {id}, \"event\": {{}}}}");
            let Ok(IncomingLine::Asked(asked)) = read(line.as_bytes()) else { panic!("{line}") };
            assert_eq!(serde_json::to_string(&asked.id).unwrap(), id);
        }
    }

    #[test]
    fn a_long_lines_id_is_found_where_it_comes_first() {
        let refused = RejectedLine::too_large(br#"{"id": "a", "event": {"x": "yyyy"#);
        assert_eq!(refused.id, Some(json!("a").try_into().unwrap()));
        assert_eq!(RejectedLine::too_large(br#"{"event": {"x": "yyyy"#).id, None);
    }
}

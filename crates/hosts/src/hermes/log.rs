//! Hermes' database: its sessions and their messages, which say what an agent does and which calls it
//! has executed.
//!
//! Observed with 0.19.0: a message has columns for everything, and times in seconds with a fraction. A
//! subagent's session has a parent, and is a session of its own for hooks, too.

use anyhook_model::json::Object;
use serde_json::Value;

use super::{FOLDER, HOME_VARIABLE};
use crate::log::{
    Activity, ExecutedCall, LogFormat, LogLocation, LogObservation, LogRoots, LogState, about,
    seconds, text,
};
use crate::log_database::{LogDatabase, PartCall};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    vec![LogLocation {
        folder: homes.folder(HOME_VARIABLE, FOLDER),
        names: &["state.db"],
        form: LogFormat::Database(&DATABASE),
    }]
}

static DATABASE: LogDatabase = LogDatabase {
    tables: &["sessions", "messages"],
    sessions: "SELECT id, cwd, CAST(started_at * 1000 AS INTEGER), \
            CAST(1000 * coalesce((SELECT max(timestamp) FROM messages WHERE session_id = sessions.id), \
                started_at) AS INTEGER) \
        FROM sessions WHERE parent_session_id IS NULL AND octet_length(id) <= 200 \
        ORDER BY started_at DESC LIMIT ?1",
    newest_message: "SELECT CAST(id AS TEXT), CAST(timestamp * 1000 AS INTEGER), \
            json_object('role', role, 'finish', finish_reason, 'at', timestamp) \
        FROM messages WHERE session_id = ?1 AND ?2 > 0 ORDER BY timestamp DESC, id DESC LIMIT 1",
    messages_from: "SELECT CAST(id AS TEXT), CAST(timestamp * 1000 AS INTEGER), \
            json_object('role', role, 'finish', finish_reason, 'at', timestamp) \
        FROM messages WHERE session_id = ?1 \
            AND (CAST(timestamp * 1000 AS INTEGER), id) >= (?2, CAST(?3 AS INTEGER)) AND ?4 > 0 \
        ORDER BY timestamp, id LIMIT ?5",
    // A message has no parts, and no tokens.
    last_parts: "SELECT '' WHERE ?1 IS NULL AND ?2 IS NULL",
    all_messages: "SELECT '', '' WHERE ?1 IS NULL AND ?2 IS NULL AND ?3 IS NULL",
    all_parts: "SELECT '' WHERE ?1 IS NULL AND ?2 IS NULL",
    newest_part: "SELECT CAST(max(id) AS TEXT) FROM messages HAVING max(id) IS NOT NULL",
    parts_after: PARTS_AFTER,
    part: PART,
    call_of_part,
    count_message: |_, _| false,
    count_parts: |_, _| {},
};

/// The result of a call, and the message with the call. A subagent has no folder of its own.
macro_rules! parts {
    ($end:literal) => {
        concat!(
            "SELECT CAST(result.id AS TEXT), result.session_id, coalesce(session.cwd, parent.cwd), \
                CASE WHEN coalesce(octet_length(result.content), 0) <= ?2 THEN json_object( \
                    'role', result.role, 'call', result.tool_call_id, 'tool', result.tool_name, \
                    'content', result.content, 'at', result.timestamp, \
                    'calls', CASE WHEN result.role = 'tool' THEN (SELECT tool_calls FROM messages \
                        WHERE session_id = result.session_id AND id < result.id AND role = 'assistant' \
                        ORDER BY id DESC LIMIT 1) END) \
                ELSE '' END, CAST(session.started_at * 1000 AS INTEGER) \
            FROM messages AS result JOIN sessions AS session ON session.id = result.session_id \
            LEFT JOIN sessions AS parent ON parent.id = session.parent_session_id ",
            $end
        )
    };
}

const PARTS_AFTER: &str =
    parts!("WHERE result.id > CAST(?1 AS INTEGER) ORDER BY result.id LIMIT ?3");
const PART: &str = parts!("WHERE result.id = CAST(?1 AS INTEGER)");

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let message = state.object(line)?;
    let doing = match (text(&message, "role")?, text(&message, "finish")) {
        ("user" | "tool", _) | ("assistant", Some("tool_calls")) => Activity::Working,
        ("assistant", Some("stop" | "length")) => state.rest(),
        _ => return None,
    };
    Some(LogObservation::certain(seconds(message.get("at")), doing))
}

/// Returns what a message says about a tool call.
///
/// The result of a call that was denied, or not allowed, has only an error; that of a tool that does
/// not exist has no name.
fn call_of_part(data: &str) -> PartCall {
    let Ok(message) = serde_json::from_str::<Object>(data) else { return PartCall::Nothing };
    let (Some("tool"), Some(id), Some(tool)) =
        (text(&message, "role"), text(&message, "call"), text(&message, "tool"))
    else {
        return PartCall::Nothing;
    };
    let content = text(&message, "content").unwrap_or_default();
    let result = serde_json::from_str::<Object>(content).unwrap_or_default();
    if result.len() == 1 && result.contains_key("error") {
        return PartCall::Nothing;
    }
    PartCall::Executed(Box::new(ExecutedCall {
        id: Some(id.to_owned()),
        tool: Some(tool.to_owned()),
        about: text(&message, "calls").and_then(|calls| about_call(calls, id)),
        at: seconds(message.get("at")),
        ..ExecutedCall::default()
    }))
}

/// Returns what a call is about, given the calls of the message that it is in.
fn about_call(calls: &str, id: &str) -> Option<String> {
    let calls: Vec<Value> = serde_json::from_str(calls).ok()?;
    let call = calls.iter().find(|call| call.get("id").is_some_and(|own| own == id))?;
    let arguments = call.get("function")?.get("arguments")?.as_str()?;
    about(&serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into()))
}

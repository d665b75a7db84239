//! Reads the lines of an agent's wire: what they say about its state, and the calls it has executed.
//!
//! Observed with 2.1.0: a session has a folder for each of its agents; hooks are told the session. A
//! turn has a line for its start and one for its end. A permission prompt leaves no line.

use anyhook_model::json::Object;
use jiff::Timestamp;
use serde_json::Value;

use super::{FOLDER, HOME_VARIABLE};
use crate::log::{
    Activity, LogFormat, LogLocation, LogObservation, LogRoots, LogState, about, milliseconds,
    path_part, text,
};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    vec![LogLocation {
        folder: homes.folder(HOME_VARIABLE, FOLDER).join("sessions"),
        names: &["*", "*", "agents", "*", "wire.jsonl"],
        form: LogFormat::Lines,
    }]
}

pub(super) fn begin(path: &str) -> LogState {
    let mut state = LogState::default();
    state.name_session(path_part(path, 3));
    state.is_subagent = path_part(path, 1).is_some_and(|agent| agent != "main");
    state
}

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let object = state.object(line)?;
    let at = milliseconds(object.get("time"));
    let doing = match text(&object, "type")? {
        "profile.bind" => {
            let disclosed = object.get("environmentDisclosure");
            state.name_work_dir(disclosed.and_then(|disclosed| disclosed.get("cwd")?.as_str()));
            return None;
        }
        "context.append_loop_event" => {
            call(state, object.get("event")?.as_object()?, at);
            return None;
        }
        "turn.prompt" => Activity::Working,
        "turn.ended" => match text(&object, "reason") {
            Some("completed") => state.rest(),
            Some("cancelled") => state.break_off(),
            _ => return None,
        },
        _ => return None,
    };
    (!state.is_subagent).then(|| LogObservation::certain(at, doing))
}

/// Records a call, or its result.
fn call(state: &mut LogState, event: &Object, at: Option<Timestamp>) {
    let Some(id) = text(event, "toolCallId") else { return };
    match text(event, "type") {
        Some("tool.call") => {
            let tool = text(event, "name").unwrap_or_default();
            state.begin_call(id, tool, event.get("args").and_then(about));
        }
        Some("tool.result") => {
            let result = event.get("result").and_then(Value::as_object);
            if result.is_some_and(was_executed) {
                state.end_call(id, at);
            } else {
                state.drop_call(id);
            }
        }
        _ => {}
    }
}

/// What failed may have been refused before any hook was asked; a command has an exit code.
fn was_executed(result: &Object) -> bool {
    let has_failed = result.get("isError") == Some(&Value::Bool(true));
    let output = text(result, "output").unwrap_or_default();
    !has_failed || output.contains("Command failed with exit code: ")
}

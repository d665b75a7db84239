//! Reads the data of a message, or of a part of one: what it says about the agent's state.
//!
//! Observed with 1.18.33: a database contains all sessions; rows are updated as the agent works. A
//! message of the model without a time of completion is still being written. A permission prompt is
//! in no row. The caller skips sessions that have a parent, which are subagents'.

use anyhook_model::PromptType;
use anyhook_model::json::Object;
use serde_json::Value;

use super::database::DATABASE;
use crate::log::{
    Activity, LogFormat, LogLocation, LogObservation, LogRoots, LogState, failure_kind,
    milliseconds, text,
};

pub(super) fn places(homes: &LogRoots) -> Vec<LogLocation> {
    vec![LogLocation {
        folder: homes.folder("XDG_DATA_HOME", ".local/share").join("opencode"),
        // Release channels other than the stable one have their own database.
        names: &["opencode*.db"],
        form: LogFormat::Database(&DATABASE),
    }]
}

pub(super) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
    let row = state.object(line)?;
    match text(&row, "role") {
        Some("user") => {
            state.waits.clear();
            Some(LogObservation::certain(message_time(&row, "created"), Activity::Working))
        }
        Some("assistant") => Some(answer(state, &row)),
        None if text(&row, "type") == Some("tool") => tool(state, &row),
        _ => None,
    }
}

fn message_time(row: &Object, name: &str) -> Option<jiff::Timestamp> {
    milliseconds(row.get("time")?.get(name))
}

fn answer(state: &mut LogState, row: &Object) -> LogObservation {
    let folder = row.get("path").and_then(|path| path.get("cwd")).and_then(Value::as_str);
    state.name_work_dir(folder);
    let completed = message_time(row, "completed");
    if let Some(error) = row.get("error").and_then(Value::as_object) {
        let at = completed.or_else(|| message_time(row, "created"));
        return LogObservation::certain(at, failure(state, error));
    }
    match (completed, text(row, "finish")) {
        // The host itself continues after these.
        (Some(at), Some("tool-calls" | "unknown")) => {
            state.waits.clear();
            LogObservation::certain(Some(at), Activity::Working)
        }
        (Some(at), Some(_)) => LogObservation::certain(Some(at), state.rest()),
        _ => LogObservation::certain(message_time(row, "created"), state.at_work()),
    }
}

/// Reads a part about a call, which may wait for a person.
fn tool(state: &mut LogState, row: &Object) -> Option<LogObservation> {
    let call = text(row, "callID").unwrap_or_default();
    let run = row.get("state")?.as_object()?;
    let is_running = text(run, "status") == Some("running");
    state.answered(call);
    match text(row, "tool") {
        Some("question") if is_running => state.wait(call, PromptType::Question),
        Some("plan_exit") if is_running => state.wait(call, PromptType::PlanApproval),
        _ => {}
    }
    let times = run.get("time");
    let at = times.and_then(|times| times.get("end").or_else(|| times.get("start")));
    Some(LogObservation::certain(milliseconds(at), state.at_work()))
}

fn failure(state: &mut LogState, error: &Object) -> Activity {
    let name = text(error, "name").unwrap_or_default();
    let data = error.get("data").and_then(Value::as_object);
    let words = data.and_then(|data| text(data, "message")).unwrap_or(name);
    let status = data.and_then(|data| data.get("statusCode")?.as_u64());
    match name {
        "MessageAbortedError" => state.break_off(),
        "ProviderAuthError" => state.fail(anyhook_model::FailureKind::Unauthorized, words),
        _ => state.fail(failure_kind(status, words), words),
    }
}

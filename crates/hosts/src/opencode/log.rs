//! Reads the data of a message, or of a part of one: what it says about the agent's state.
//!
//! Observed with 1.18.33: a database contains all sessions; rows are updated as the agent works. A
//! message of the model without a time of completion is still being written. A permission prompt is
//! in no row. The caller skips sessions that have a parent, which are subagents'.

use anyhook_model::PromptType;
use anyhook_model::json::Object;
use serde_json::Value;

use super::database::DATABASE;
use super::flavour::Flavour;
use crate::log::{
    Activity, ExecutedCall, LogFormat, LogLocation, LogObservation, LogRoots, LogState, about,
    failure_kind, milliseconds, text,
};
use crate::log_database::PartCall;

pub(crate) fn places(flavour: &Flavour, homes: &LogRoots) -> Vec<LogLocation> {
    vec![LogLocation {
        folder: homes.folder("XDG_DATA_HOME", ".local/share").join(flavour.folder),
        names: flavour.databases,
        form: LogFormat::Database(&DATABASE),
    }]
}

pub(crate) fn read_line(state: &mut LogState, line: &str) -> Option<LogObservation> {
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

/// Returns what the data of a part says about a tool call.
///
/// What failed may have been refused before any hook was asked, for example by another plugin, and
/// the data does not say which. A call of a tool that does not exist becomes one of `invalid`.
pub(super) fn call_of_part(data: &str) -> PartCall {
    let Ok(part) = serde_json::from_str::<Object>(data) else { return PartCall::Nothing };
    let run = part.get("state").and_then(Value::as_object);
    let (Some("tool"), Some(run)) = (text(&part, "type"), run) else { return PartCall::Nothing };
    match (text(run, "status"), text(&part, "tool")) {
        (Some("pending" | "running"), _) => PartCall::Open,
        (Some("completed"), Some(tool)) if tool != "invalid" => {
            PartCall::Executed(Box::new(ExecutedCall {
                id: text(&part, "callID").map(str::to_owned),
                tool: Some(tool.to_owned()),
                about: run.get("input").and_then(about),
                at: run.get("time").and_then(|time| milliseconds(time.get("end"))),
                ..ExecutedCall::default()
            }))
        }
        _ => PartCall::Nothing,
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

//! Records of the journal.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::routing::get;

use super::input::{Name, Parameters};
use super::operation::{Operation, Parameter, Returned, type_name};
use crate::app::App;
use crate::error::PageError;
use crate::journal::{self, PAGE, RecordPage, RecordQuery, RecordTrace};
use crate::tokens::Scope;

const FILTERS: &[Parameter] = &[
    Parameter::text("text", "With this text in one of their values, ignoring case."),
    Parameter::text("session", "Of the session whose id starts so."),
    Parameter::text("host", "Of this agent, such as `claude-code`."),
    Parameter::text("project", "Of this project: its path or folder name; `*` matches anything."),
    Parameter::text("event", "Of this event, in any spelling."),
    Parameter::text("tool", "Of this tool, such as `Shell`."),
    Parameter::text("hook", "With this hook among those that ran."),
    Parameter::text(
        "verdict",
        "`deny`, `ask`, `allow`, `none`, `capped`, `failed`, `changed` or `context`.",
    ),
    Parameter::text("since", "Since a time, or how long ago: `2026-01-31`, `2h`, `7d`."),
    Parameter::text("until", "Until a time, in the same formats."),
    Parameter::text("before", "Older than this place: `older` of the page before."),
    Parameter::number("limit", "How many at most: 50 if absent, never more than 200."),
];

/// Returns its operations.
pub fn operations() -> Vec<Operation> {
    vec![
        Operation {
            id: "list_records",
            method: "get",
            path: "/records",
            summary: "Records of the journal, the newest first.",
            scope: Scope::Read,
            parameters: FILTERS,
            body: None,
            returns: Returned::Json(type_name!(RecordPage)),
            answers: get(list),
        },
        Operation {
            id: "show_record",
            method: "get",
            path: "/records/{id}",
            summary: "One record, and all that belongs to it.",
            scope: Scope::Read,
            parameters: const { &[Parameter::path("id", "The record's id.")] },
            body: None,
            returns: Returned::Json(type_name!(RecordTrace)),
            answers: get(show),
        },
    ]
}

async fn list(
    State(app): State<Arc<App>>,
    Parameters(query): Parameters<RecordQuery>,
) -> Result<Json<RecordPage>, PageError> {
    let read = query.read(anyhook_engine::now());
    if !read.problems.is_empty() {
        return Err(PageError::bad_request(read.problems.join("; ")));
    }
    journal::find(&app, read, query.limit.unwrap_or(PAGE)).await.map(Json)
}

async fn show(State(app): State<Arc<App>>, Name(id): Name) -> Result<Json<RecordTrace>, PageError> {
    let trace = journal::trace(&app, &id).await?;
    let is_first = trace.first.id == trace.record.id;
    Ok(Json(RecordTrace {
        first: (!is_first).then_some(trace.first),
        record: trace.record,
        later: trace.later,
        missing: trace.missing,
        heard: trace.heard.and_then(Result::ok).map(|told| *told),
    }))
}

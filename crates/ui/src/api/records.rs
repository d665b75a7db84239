//! Records of the journal.

use std::sync::Arc;

use crate::json::Json;
use anyhook_pages::search::VerdictWord;
use axum::extract::State;
use axum::routing::get;

use super::input::{Name, Parameters};
use super::operation::{Operation, Parameter, Returned, type_name};
use crate::app::App;
use crate::error::PageError;
use crate::journal::{self, MOST, PAGE, RecordPage, RecordQuery, RecordTrace};
use crate::tokens::Scope;

const FILTERS: &[Parameter] = &[
    Parameter::text("text", "With this text in one of their values, ignoring case."),
    Parameter::text("session", "Of the session whose id starts so."),
    Parameter::text("host", "Of this agent, such as `claude-code`."),
    Parameter::text("project", "Of this project: its path or folder name; `*` matches anything."),
    Parameter::text("event", "Of this event, in any spelling."),
    Parameter::text("tool", "Of this tool, such as `Shell`."),
    Parameter::text("hook", "With this hook among those that ran."),
    Parameter::word("verdict", "With this verdict, or with what hooks did.", &VerdictWord::WORDS),
    Parameter::time("since", "Since how long ago (`2h`, `7d`), or since a day or a time."),
    Parameter::time("until", "Until, in the same formats."),
    Parameter::pattern(
        "before",
        "Older than this place: `older` of the page before.",
        "^[0-9]{8}\\.[0-9]{1,15}$",
    ),
    Parameter::bounded("limit", "How many at most; 50 if absent.", 1, MOST as u64),
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
    let limit = query.limit.unwrap_or(PAGE);
    let mut read = query.read(anyhook_engine::now());
    if !(1..=MOST).contains(&limit) {
        read.problems.push(format!("`limit` is from 1 to {MOST}"));
    }
    if !read.problems.is_empty() {
        return Err(PageError::bad_request(read.problems.join("; ")));
    }
    journal::find(&app, read, limit).await.map(Json)
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

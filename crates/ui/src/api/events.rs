//! What happens, as it happens.

use std::sync::Arc;

use anyhook_daemon::page_server::PublishedEvent;
use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::Event;
use axum::routing::get;
use serde::Deserialize;

use super::input::Parameters;
use super::operation::{Operation, Parameter, Returned, type_name};
use crate::app::App;
use crate::error::PageError;
use crate::guard::Caller;
use crate::live::{EventStream, alive};
use crate::tokens::Scope;

/// Returns its operations.
pub fn operations() -> Vec<Operation> {
    vec![Operation {
        id: "events",
        method: "get",
        path: "/events",
        summary: "The daemon's events from now on, as server-sent events: `happened`, with a list \
                  of flat objects. The stream ends if its reader is too slow; `Last-Event-ID` \
                  resumes it.",
        scope: Scope::Read,
        parameters: const { &[Parameter::number("after", "The number of the last event received.")] },
        body: None,
        returns: Returned::Events(type_name!(PublishedEvent)),
        answers: get(events),
    }]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Followed {
    after: Option<u64>,
}

async fn events(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Parameters(followed): Parameters<Followed>,
) -> Result<impl IntoResponse, PageError> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let told = app.core.follow(last.or(followed.after)).await;
    let stream = EventStream::new(&app, told, None, |told: Vec<PublishedEvent>| {
        let number = told.last().map_or(0, |told| told.sequence);
        let all: Vec<_> = told.iter().map(PublishedEvent::to_object).collect();
        let event = Event::default().event("happened").id(number.to_string());
        // Objects of JSON are always JSON.
        event.data(serde_json::to_string(&all).unwrap_or_default())
    });
    Ok(alive(stream.while_admitted(&app, &caller)))
}

//! Statistics.

use std::sync::Arc;

use crate::json::Json;
use axum::extract::State;
use axum::routing::get;
use serde::Deserialize;

use super::input::Parameters;
use super::operation::{Operation, Parameter, Returned, type_name};
use crate::app::App;
use crate::error::PageError;
use crate::stats::{self, Statistics};
use crate::tokens::Scope;

/// Returns its operations.
pub fn operations() -> Vec<Operation> {
    vec![Operation {
        id: "stats",
        method: "get",
        path: "/stats",
        summary: "The journal counted, and what agents have used.",
        scope: Scope::Read,
        parameters: const {
            &[Parameter::time(
                "since",
                "Since how long ago (`24h`, `30d`), or since a day or a time; `7d` if absent.",
            )]
        },
        body: None,
        returns: Returned::Json(type_name!(Statistics)),
        answers: get(count),
    }]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Period {
    since: Option<String>,
}

async fn count(
    State(app): State<Arc<App>>,
    Parameters(period): Parameters<Period>,
) -> Result<Json<Statistics>, PageError> {
    let since = stats::since(period.since.as_deref(), anyhook_engine::now())?;
    stats::count(&app, since).await.map(Json)
}

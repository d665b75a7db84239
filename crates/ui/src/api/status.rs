//! The daemon.

use std::sync::Arc;

use crate::json::Json;
use anyhook_model::daemon::DaemonStatus;
use axum::extract::State;
use axum::routing::get;

use super::operation::{Operation, Returned, type_name};
use crate::app::App;
use crate::error::PageError;
use crate::tokens::Scope;

/// Returns its operations.
pub fn operations() -> Vec<Operation> {
    vec![Operation {
        id: "status",
        method: "get",
        path: "/status",
        summary: "The daemon's status.",
        scope: Scope::Read,
        parameters: &[],
        body: None,
        returns: Returned::Json(type_name!(DaemonStatus)),
        answers: get(status),
    }]
}

async fn status(State(app): State<Arc<App>>) -> Result<Json<DaemonStatus>, PageError> {
    app.status().await.map(Json)
}

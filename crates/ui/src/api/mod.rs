//! The HTTP API, version 1. Each operation is declared once, with what answers it; the router and
//! the description for programs (`openapi.json`) are made from the same list.

mod agents;
pub mod decisions;
mod events;
mod hooks;
pub mod input;
pub mod openapi;
mod operation;
mod pipelines;
mod records;
pub mod standing;
mod stats;
mod status;
mod workflows;

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;

use crate::app::App;
use crate::error::PageError;

use self::operation::Operation;

/// Returns every operation.
pub fn operations() -> Vec<Operation> {
    let all = [
        status::operations(),
        agents::operations(),
        decisions::operations(),
        standing::operations(),
        records::operations(),
        hooks::operations(),
        pipelines::operations(),
        workflows::operations(),
        stats::operations(),
        events::operations(),
        openapi::operations(),
    ];
    all.into_iter().flatten().collect()
}

/// Returns the routes below `/api/v1`.
pub fn router() -> Router<Arc<App>> {
    let all = operations().into_iter();
    let router = all.fold(Router::new(), |router, one| router.route(one.path, one.answers));
    router.fallback(nothing_here).method_not_allowed_fallback(wrong_method)
}

async fn nothing_here() -> PageError {
    PageError::new(StatusCode::NOT_FOUND, "unknown", "there is no such operation")
        .hint("GET /api/v1/openapi.json lists them")
}

async fn wrong_method() -> PageError {
    let message = "this operation has another method";
    PageError::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", message)
}

//! The pages. Each is made completely for each request; text from elsewhere is always escaped.

mod agents;
mod call;
mod decisions;
mod devices;
mod enter;
mod form;
mod hooks;
mod journal;
mod layout;
mod parts;
mod pipelines;
mod plot;
mod record;
mod stats;
#[cfg(feature = "workflow")]
mod workflows;

use std::sync::Arc;

use axum::Extension;
use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maud::{DOCTYPE, Markup, html};

use crate::app::App;
use crate::error::PageError;
use crate::guard::Caller;
use crate::listener::{Listener, Reach};

/// Returns the routes of the pages.
pub fn routes() -> Router<Arc<App>> {
    let routes = Router::new()
        .route("/", get(|| async { Redirect::to("/agents") }))
        .route("/leave", post(enter::leave))
        .route("/agents", get(agents::list))
        .route("/agents/{id}", get(agents::show))
        .route("/agents/{id}/input", post(agents::send))
        .route("/decisions", get(decisions::list))
        .route("/decisions/{id}", get(decisions::show))
        .route("/decisions/{id}/answer", post(decisions::answer))
        .route("/decisions/{id}/claim", post(decisions::claim))
        .route("/decisions/{id}/release", post(decisions::release))
        .route("/standing/{id}/revoke", post(decisions::revoke))
        .route("/journal", get(journal::list))
        .route("/journal/{id}", get(record::show))
        .route("/hooks", get(hooks::list))
        .route("/pipelines", get(pipelines::list))
        .route("/pipelines/{id}", get(pipelines::show))
        .route("/stats", get(stats::show))
        .route("/devices", get(devices::list))
        .route("/devices/{id}/remove", post(devices::remove));
    #[cfg(feature = "workflow")]
    let routes = routes
        .route("/workflows", get(workflows::list))
        .route("/workflows/{id}", get(workflows::show));
    routes
}

/// Returns how someone gets in at a listener.
pub fn ways_in(listener: &Listener) -> Router<Arc<App>> {
    match listener.reach {
        Reach::ThisMachine => Router::new().route("/enter", get(enter::enter)),
        Reach::Network => Router::new()
            .route("/pair", get(devices::pair).post(devices::arrive))
            .route("/pair/finish", post(devices::finish))
            .route("/device/nonce", get(devices::nonce)),
    }
}

/// There is no such page.
pub async fn nothing_here(caller: Option<Extension<Caller>>) -> Response {
    let error = PageError::new(StatusCode::NOT_FOUND, "unknown", "there is no such page");
    failed(&error, caller.as_deref())
}

/// A page that failed.
pub struct Failed(pub PageError, pub Caller);

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        failed(&self.0, Some(&self.1))
    }
}

/// Shows why a request was not answered; without a caller, without anything that only callers see.
pub fn failed(error: &PageError, caller: Option<&Caller>) -> Response {
    let content = html! {
        section.notice.bad role="alert" {
            h1 { (headline(error.status)) }
            p { (sentence(&error.message)) }
            @if let Some(hint) = &error.hint { p.hint { "Next: " code { (hint) } } }
        }
    };
    let page = match caller {
        Some(caller) => layout::bare("Not done", Some(caller), &content),
        None => layout::bare("Not let in", None, &content),
    };
    let mut response = (error.status, page).into_response();
    response.extensions_mut().insert(error.clone());
    response
}

fn headline(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "This page is locked",
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::CONFLICT => "Too late",
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::INSUFFICIENT_STORAGE => {
            "The daemon cannot do this now"
        }
        _ => "This was not done",
    }
}

/// Returns a message as a sentence.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

/// Makes a browser that comes from another site come again, from here: then it has its cookie.
pub fn reload() -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="refresh" content="0";
                title { "anyhook" }
            }
            body { p { a href="" { "Continue" } } }
        }
    }
}

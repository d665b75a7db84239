//! The files that are the same for everyone; they are in the program.

use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::app::App;

/// Part of the files' addresses, so that a new version is not mixed with an old one.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");
const DEVICE_SCRIPT: &str = include_str!("assets/device.js");
const ICON: &str = include_str!("assets/icon.svg");

/// Returns the routes of the files.
pub fn routes() -> Router<Arc<App>> {
    let routes = Router::new()
        .route("/assets/page.css", get(|| async { file("text/css; charset=utf-8", STYLE) }))
        .route("/assets/page.js", get(|| async { file("text/javascript; charset=utf-8", SCRIPT) }))
        .route(
            "/assets/device.js",
            get(|| async { file("text/javascript; charset=utf-8", DEVICE_SCRIPT) }),
        )
        .route("/assets/icon.svg", get(|| async { file("image/svg+xml", ICON) }));
    #[cfg(feature = "workflow")]
    let routes = routes.route(
        "/assets/workflow.css",
        get(|| async { file("text/css; charset=utf-8", crate::workflows::style()) }),
    );
    routes
}

fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    // Short: a newer program on the same address has newer files.
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "private, max-age=60")], text)
}

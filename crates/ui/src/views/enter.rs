//! The link that lets a browser in, and the way out.

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use jiff::Timestamp;
use serde::Deserialize;

use super::{devices, failed};
use crate::app::App;
use crate::error::PageError;
use crate::guard::{COOKIE, Caller, DEVICE_COOKIE};
use crate::secret::Secret;
use crate::server::is_path;

/// A link.
#[derive(Deserialize)]
pub struct Link {
    code: String,
    to: Option<String>,
}

/// Lets a browser in. The code is used up, so it does no harm that the address was seen; the page
/// that follows has an address without it.
pub async fn enter(
    State(app): State<Arc<App>>,
    link: Result<Query<Link>, QueryRejection>,
) -> Response {
    let Ok(Query(Link { code, to })) = link else {
        let error = PageError::bad_request("this is not a complete link");
        return failed(&error.hint("anyhook ui"), None);
    };
    let entered = app.sessions().enter(&Secret::received(&code), Timestamp::now());
    match entered {
        Ok(session) => {
            let cookie = format!(
                "{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=604800",
                session.text()
            );
            let to = to.filter(|to| is_path(to)).unwrap_or_else(|| "/agents".to_owned());
            ([(header::SET_COOKIE, cookie)], Redirect::to(&to)).into_response()
        }
        Err(error) => {
            let error = PageError::new(StatusCode::UNAUTHORIZED, "unauthorized", error.to_string());
            failed(&error.hint("anyhook ui"), None)
        }
    }
}

/// Ends a browser's session.
pub async fn leave(State(app): State<Arc<App>>, Extension(caller): Extension<Caller>) -> Response {
    let cookie = match &caller {
        Caller::Device { device, .. } => {
            if let Err(error) = devices::leave(&app, device).await {
                return failed(&error, Some(&caller));
            }
            format!("{DEVICE_COOKIE}=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0")
        }
        Caller::Browser { session, .. } => {
            app.sessions().leave(session);
            format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
        }
        Caller::Program { .. } => {
            format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
        }
    };
    let error = PageError::new(StatusCode::OK, "left", "this browser's session has ended");
    let mut page = failed(&error.hint("anyhook ui opens the page again"), None);
    if let Ok(cookie) = cookie.parse() {
        page.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    page
}

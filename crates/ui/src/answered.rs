//! What becomes of a request from the network: refusals are journaled, and what was signed by a
//! script is answered so that a script can read it.

use crate::json::Json;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::json;

use crate::app::App;
use crate::error::PageError;
use crate::guard::device_cookie;
use crate::secret::Secret;
use crate::signed::SIGNATURE;

/// How much of a path is journaled.
const PATH: usize = 200;

/// What is remembered of a request from the network until it is answered.
#[derive(Debug)]
pub struct NetworkRequest {
    about: String,
    session: Option<Secret>,
    is_change: bool,
    is_signed: bool,
}

impl NetworkRequest {
    /// Remembers a request.
    pub fn of(request: &Request) -> Self {
        let path: String = request.uri().path().chars().take(PATH).collect();
        Self {
            about: format!("{} {path}", request.method()),
            session: device_cookie(request.headers()).map(Secret::received),
            is_change: !request.method().is_safe(),
            is_signed: request.headers().contains_key(SIGNATURE),
        }
    }

    /// Finishes the answer.
    pub fn finish(self, app: &App, answered: Response) -> Response {
        let error = answered.extensions().get::<PageError>().cloned();
        if let Some(error) = &error {
            // A device that was removed comes with a cookie that nobody knows.
            let is_stranger = error.status == StatusCode::UNAUTHORIZED && self.session.is_some();
            if self.is_change || is_stranger {
                let device = self.session.and_then(|one| app.devices.find(&one, Timestamp::now()));
                let (name, limit) = match device {
                    Some(device) => (format!("{} ({})", device.name, device.id), &app.refusals),
                    None => ("an unknown device".to_owned(), &app.strangers),
                };
                app.journal_refusal(format!("{} from {name}", self.about), &error.message, limit);
            }
        }
        match error {
            _ if !self.is_signed => answered,
            Some(error) => error.into_response(),
            None if answered.status().is_redirection() => {
                let to = answered.headers().get(header::LOCATION);
                let to = to.and_then(|to| to.to_str().ok()).unwrap_or("/");
                Json(json!({ "to": to })).into_response()
            }
            None => answered,
        }
    }
}

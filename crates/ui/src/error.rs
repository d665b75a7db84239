//! Why a request is not answered, as JSON for programs; views show the same as a page.

use crate::json::Json;
use anyhook_model::daemon::{Refusal, RefusalCode};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageError {
    /// The status.
    pub status: StatusCode,
    /// A short, stable name.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
}

/// The body of an error.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorText,
}

/// An error, for programs and people.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorText {
    /// A short, stable name.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl PageError {
    /// Creates one without a hint.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: None }
    }

    /// Adds the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// There is nothing of that name.
    pub fn unknown(what: &str, name: &str) -> Self {
        let name: String = name.chars().take(100).collect();
        Self::new(StatusCode::NOT_FOUND, "unknown", format!("there is no {what} `{name}`"))
    }

    /// The request cannot be read.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// A file cannot be read.
    pub fn unreadable(error: &std::io::Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "unreadable", error.to_string())
    }

    /// The journal cannot be counted.
    pub fn of_stats(error: &anyhook_stats::StatsError) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "unreadable", error.to_string())
    }

    /// The daemon said something else.
    pub fn no_answer() -> Self {
        let message = "the daemon did not answer this request";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "no_answer", message)
    }
}

impl From<Refusal> for PageError {
    fn from(refusal: Refusal) -> Self {
        let (status, code) = match refusal.code {
            RefusalCode::Version => (StatusCode::INTERNAL_SERVER_ERROR, "version"),
            RefusalCode::BadRequest => (StatusCode::BAD_REQUEST, "bad_request"),
            RefusalCode::Unknown => (StatusCode::NOT_FOUND, "unknown"),
            RefusalCode::Ambiguous => (StatusCode::CONFLICT, "ambiguous"),
            RefusalCode::NoSuchChoice => (StatusCode::UNPROCESSABLE_ENTITY, "no_such_choice"),
            RefusalCode::AlreadyResolved => (StatusCode::CONFLICT, "already_resolved"),
            RefusalCode::NotAPerson => (StatusCode::FORBIDDEN, "not_a_person"),
            RefusalCode::Store => (StatusCode::INSUFFICIENT_STORAGE, "store"),
            RefusalCode::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
            RefusalCode::NotNow => (StatusCode::CONFLICT, "not_now"),
        };
        Self { status, code, message: refusal.message, hint: refusal.hint }
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let Self { status, code, message, hint } = self.clone();
        let error = ErrorText { code: code.to_owned(), message, hint };
        let mut response = (status, Json(ErrorBody { error })).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

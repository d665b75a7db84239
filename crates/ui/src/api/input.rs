//! Reads what a request contains, and says clearly what is wrong with it.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;

use crate::error::PageError;

/// The parameters of a query. Unknown ones are errors, if the type says so.
#[derive(Debug)]
pub struct Parameters<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PageError> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(parameters)) => Ok(Self(parameters)),
            Err(error) => Err(PageError::bad_request(error.body_text())),
        }
    }
}

/// The one variable part of a path.
#[derive(Debug)]
pub struct Name(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PageError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(error) => Err(PageError::bad_request(error.body_text())),
        }
    }
}

/// A body of JSON.
#[derive(Debug)]
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = PageError;

    async fn from_request(request: Request, state: &S) -> Result<Self, PageError> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.split(';').next().is_none_or(|kind| kind.trim() != "application/json") {
            let message = "the body must be application/json";
            return Err(PageError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", message));
        }
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|error| PageError::bad_request(error.body_text()))?;
        match serde_json::from_slice(&bytes) {
            Ok(body) => Ok(Self(body)),
            // The error has a line and a column.
            Err(error) => Err(PageError::bad_request(format!("the body cannot be read: {error}"))),
        }
    }
}

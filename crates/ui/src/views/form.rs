//! The fields of a form that was sent. A name may occur several times.

use axum::body::{Body, Bytes};
use axum::extract::{Form, FromRequest};
use axum::http::{Request, header};

use crate::error::PageError;

/// The fields of a form.
#[derive(Debug, Default)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads a body.
    pub async fn read(body: &Bytes) -> Result<Self, PageError> {
        let request = Request::post("/")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(body.clone()));
        let request = request.map_err(|error| PageError::bad_request(error.to_string()))?;
        let read = Form::<Vec<(String, String)>>::from_request(request, &()).await;
        let Form(fields) = read.map_err(|error| PageError::bad_request(error.body_text()))?;
        Ok(Self(fields))
    }

    /// Returns the value of a field.
    pub fn one(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Returns every value of a field.
    pub fn all<'form>(&'form self, name: &str) -> impl Iterator<Item = &'form str> {
        let is_it = move |(other, _): &&(String, String)| other == name;
        self.0.iter().filter(is_it).map(|(_, value)| value.as_str())
    }
}

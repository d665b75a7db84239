//! Standing answers: calls that a person has allowed for the rest of a session.

use std::sync::Arc;

use crate::json::Json;
use anyhook_model::approval_request::StandingAnswer;
use anyhook_model::daemon::{ClaimRequest, Request};
use axum::Extension;
use axum::extract::State;
use axum::routing::{delete, get};
use serde::Serialize;

use super::input::Name;
use super::operation::{Operation, Parameter, Returned, type_name};
use crate::app::App;
use crate::error::PageError;
use crate::guard::Caller;
use crate::tokens::Scope;

/// Returns its operations.
pub fn operations() -> Vec<Operation> {
    vec![
        Operation {
            id: "list_standing_answers",
            method: "get",
            path: "/standing",
            summary: "Every standing answer: calls that are allowed for the rest of a session.",
            scope: Scope::Read,
            parameters: &[],
            body: None,
            returns: Returned::List(type_name!(StandingAnswer)),
            answers: get(list),
        },
        Operation {
            id: "revoke_standing_answer",
            method: "delete",
            path: "/standing/{id}",
            summary: "Revokes a standing answer: the next such call is asked about again.",
            scope: Scope::Answer,
            parameters: const { &[Parameter::path("id", "The id of the decision it follows from.")] },
            body: None,
            returns: Returned::Json(type_name!(Revoked)),
            answers: delete(remove),
        },
    ]
}

/// It was revoked.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Revoked {
    /// The id of the decision it followed from.
    pub id: String,
}

async fn list(State(app): State<Arc<App>>) -> Result<Json<Vec<StandingAnswer>>, PageError> {
    app.standing().await.map(Json)
}

async fn remove(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
) -> Result<Json<Revoked>, PageError> {
    revoke(&app, &caller, &id).await.map(Json)
}

/// Revokes a standing answer.
pub async fn revoke(app: &App, caller: &Caller, id: &str) -> Result<Revoked, PageError> {
    // In full: a prefix could mean another one by now.
    let all = app.standing().await?;
    let found = all.iter().find(|one| one.id.as_str() == id);
    let id = found.ok_or_else(|| PageError::unknown("standing answer", id))?.id.to_string();
    let request = ClaimRequest { id: id.clone(), by: caller.name() };
    app.ask(Request::Revoke(request)).await?;
    Ok(Revoked { id })
}

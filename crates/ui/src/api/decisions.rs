//! Decisions: what waits for a person, and the answers.

use std::sync::Arc;

use crate::json::Json;
use anyhook_model::Resolution;
use anyhook_model::daemon::{ClaimRequest, DecisionView, Request, ResolveDecision, Response};
use axum::Extension;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;

use super::input::{Body, Name, Parameters};
use super::operation::{Operation, Parameter, Returned, type_name};
use crate::app::App;
use crate::error::PageError;
use crate::guard::Caller;
use crate::tokens::Scope;

const ID: Parameter = Parameter::path("id", "The decision's id.");

/// Returns its operations.
pub fn operations() -> Vec<Operation> {
    vec![
        Operation {
            id: "list_decisions",
            method: "get",
            path: "/decisions",
            summary: "Every decision: open and recently made ones, oldest first.",
            scope: Scope::Read,
            parameters: const { &[Parameter::flag("open", "Whether only open ones are listed.")] },
            body: None,
            returns: Returned::List(type_name!(DecisionView)),
            answers: get(list),
        },
        Operation {
            id: "show_decision",
            method: "get",
            path: "/decisions/{id}",
            summary: "One decision.",
            scope: Scope::Read,
            parameters: &[ID],
            body: None,
            returns: Returned::Json(type_name!(DecisionView)),
            answers: get(show),
        },
        Operation {
            id: "answer_decision",
            method: "post",
            path: "/decisions/{id}/answer",
            summary: "Answers a decision. The first answer counts.",
            scope: Scope::Answer,
            parameters: &[ID],
            body: Some(type_name!(Answer)),
            returns: Returned::Json(type_name!(Resolution)),
            answers: post(answer),
        },
        Operation {
            id: "claim_decision",
            method: "post",
            path: "/decisions/{id}/claim",
            summary: "Tells others that someone is about to answer.",
            scope: Scope::Answer,
            parameters: &[ID],
            body: None,
            returns: Returned::Json(type_name!(DecisionView)),
            answers: post(claim),
        },
        Operation {
            id: "release_decision",
            method: "post",
            path: "/decisions/{id}/release",
            summary: "Takes a claim back.",
            scope: Scope::Answer,
            parameters: &[ID],
            body: None,
            returns: Returned::Json(type_name!(DecisionView)),
            answers: post(release),
        },
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    #[serde(default)]
    open: bool,
}

/// An answer.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The option: its number or name. For a question, the answer: the numbers or texts of its
    /// options, or free text.
    pub choice: String,
    /// The answers to the remaining questions of the same decision, in order.
    #[serde(default)]
    pub more: Vec<String>,
    /// A message for the agent.
    #[serde(default)]
    pub message: Option<String>,
    /// Whether to allow exactly the same call for the rest of the agent's session.
    #[serde(default)]
    pub again: bool,
    /// The digest of the call that was shown: the answer counts for that call alone. It may be
    /// absent only where the decision has none.
    #[serde(default)]
    pub digest: Option<String>,
}

async fn list(
    State(app): State<Arc<App>>,
    Parameters(listed): Parameters<Listed>,
) -> Result<Json<Vec<DecisionView>>, PageError> {
    let mut decisions = app.decisions().await?;
    decisions.retain(|decision| !listed.open || decision.resolution.is_none());
    Ok(Json(decisions))
}

async fn show(
    State(app): State<Arc<App>>,
    Name(id): Name,
) -> Result<Json<DecisionView>, PageError> {
    app.decision(&id).await.map(Json)
}

async fn answer(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
    Body(answer): Body<Answer>,
) -> Result<Json<Resolution>, PageError> {
    resolve(&app, &caller, &id, answer).await.map(Json)
}

/// Answers a decision for a caller who has seen its call.
pub async fn resolve(
    app: &App,
    caller: &Caller,
    id: &str,
    answer: Answer,
) -> Result<Resolution, PageError> {
    let decision = app.decision(id).await?;
    if decision.inquiry.digest.is_some() && answer.digest.is_none() {
        let message = format!("decision {id} is about a call: the answer needs its digest");
        return Err(PageError::bad_request(message).hint("`inquiry.digest` of the decision"));
    }
    let Answer { choice, more, message, again, digest } = answer;
    let message = message.filter(|message| !message.trim().is_empty());
    // In full: a prefix could mean another one by now.
    let id = decision.inquiry.id.to_string();
    let (by, signature) = (caller.name(), caller.signature().cloned().map(Box::new));
    let resolve = ResolveDecision { id, choice, more, message, by, again, digest, signature };
    match app.ask(Request::Resolve(resolve)).await? {
        Response::Resolved(resolution) => Ok(*resolution),
        _ => Err(PageError::no_answer()),
    }
}

async fn claim(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
) -> Result<Json<DecisionView>, PageError> {
    change_claim(&app, &caller, id, Request::Claim).await.map(Json)
}

async fn release(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
) -> Result<Json<DecisionView>, PageError> {
    change_claim(&app, &caller, id, Request::Release).await.map(Json)
}

/// Claims or releases a decision.
pub async fn change_claim(
    app: &App,
    caller: &Caller,
    id: String,
    request: fn(ClaimRequest) -> Request,
) -> Result<DecisionView, PageError> {
    match app.ask(request(ClaimRequest { id, by: caller.name() })).await? {
        Response::Decision(decision) => Ok(*decision),
        _ => Err(PageError::no_answer()),
    }
}

//! Agents.

use std::sync::Arc;

use crate::json::Json;
use anyhook_model::daemon::{AgentView, Request, SendKeys};
use axum::Extension;
use axum::extract::State;
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};

use super::input::{Body, Name, Parameters};
use super::operation::{Operation, Parameter, Returned, type_name};
use crate::app::App;
use crate::error::PageError;
use crate::guard::Caller;
use crate::screen;
use crate::tokens::Scope;

const ID: Parameter = Parameter::path("id", "The agent's id or name.");

/// Returns its operations.
pub fn operations() -> Vec<Operation> {
    vec![
        Operation {
            id: "list_agents",
            method: "get",
            path: "/agents",
            summary: "Every agent.",
            scope: Scope::Read,
            parameters: const {
                &[Parameter::flag("all", "Whether those that have ended are listed, too.")]
            },
            body: None,
            returns: Returned::List(type_name!(AgentView)),
            answers: get(list),
        },
        Operation {
            id: "show_agent",
            method: "get",
            path: "/agents/{id}",
            summary: "One agent.",
            scope: Scope::Read,
            parameters: &[ID],
            body: None,
            returns: Returned::Json(type_name!(AgentView)),
            answers: get(show),
        },
        Operation {
            id: "agent_screen",
            method: "get",
            path: "/agents/{id}/screen",
            summary: "What is on the screen of an agent that the daemon runs.",
            scope: Scope::Read,
            parameters: &[ID],
            body: None,
            returns: Returned::Json(type_name!(Screen)),
            answers: get(of_screen),
        },
        Operation {
            id: "send_input",
            method: "post",
            path: "/agents/{id}/input",
            summary: "Types a line into the session of an agent that the daemon runs.",
            scope: Scope::Answer,
            parameters: &[ID],
            body: Some(type_name!(TypedInput)),
            returns: Returned::Json(type_name!(Sent)),
            answers: post(send),
        },
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    #[serde(default)]
    all: bool,
}

/// What is on a screen.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Screen {
    /// Its lines, without colors.
    pub text: String,
}

/// What to type.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TypedInput {
    /// The text; it is followed by the Enter key.
    pub text: String,
    /// Whether to type even if the agent is at a prompt, which would treat it as an answer.
    #[serde(default)]
    pub force: bool,
}

/// It was typed.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sent {
    /// The agent.
    pub agent: String,
}

async fn list(
    State(app): State<Arc<App>>,
    Parameters(listed): Parameters<Listed>,
) -> Result<Json<Vec<AgentView>>, PageError> {
    let mut agents = app.agents().await?;
    agents.retain(|agent| listed.all || !agent.full_state().is_over());
    Ok(Json(agents))
}

async fn show(State(app): State<Arc<App>>, Name(id): Name) -> Result<Json<AgentView>, PageError> {
    app.agent(&id).await.map(Json)
}

async fn of_screen(State(app): State<Arc<App>>, Name(id): Name) -> Result<Json<Screen>, PageError> {
    let agent = app.agent(&id).await?;
    screen::of_agent(&app, &agent.id).await.map(|text| Json(Screen { text }))
}

async fn send(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Name(id): Name,
    Body(TypedInput { text, force }): Body<TypedInput>,
) -> Result<Json<Sent>, PageError> {
    let agent = app.agent(&id).await?.id;
    let keys = SendKeys { agent: agent.clone(), text, force, by: caller.name() };
    app.ask(Request::Send(Box::new(keys))).await?;
    Ok(Json(Sent { agent }))
}

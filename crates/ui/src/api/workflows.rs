//! Workflows.

use std::sync::Arc;

use crate::json::Json;
use anyhook_model::report::workflow::{ListedWorkflow, WorkflowReport};
use axum::extract::State;
use axum::routing::get;

use super::input::Name;
use super::operation::{Operation, Parameter, Returned, type_name};
use crate::app::App;
use crate::error::PageError;
use crate::tokens::Scope;
use crate::workflows;

/// Returns its operations.
pub fn operations() -> Vec<Operation> {
    vec![
        Operation {
            id: "list_workflows",
            method: "get",
            path: "/workflows",
            summary: "Every workflow of this user, the one that changed last first.",
            scope: Scope::Read,
            parameters: &[],
            body: None,
            returns: Returned::List(type_name!(ListedWorkflow)),
            answers: get(list),
        },
        Operation {
            id: "show_workflow",
            method: "get",
            path: "/workflows/{id}",
            summary: "One workflow: its stages, and what it waits for.",
            scope: Scope::Read,
            parameters: const { &[Parameter::path("id", "The id of its run.")] },
            body: None,
            returns: Returned::Json(type_name!(WorkflowReport)),
            answers: get(show),
        },
    ]
}

async fn list(State(app): State<Arc<App>>) -> Result<Json<Vec<ListedWorkflow>>, PageError> {
    workflows::list(&app).await.map(Json)
}

async fn show(
    State(app): State<Arc<App>>,
    Name(id): Name,
) -> Result<Json<WorkflowReport>, PageError> {
    workflows::report(&app, &id).await.map(Json)
}

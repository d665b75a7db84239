//! Hooks in force, and how they fare.

use std::sync::Arc;

use crate::json::Json;
use axum::extract::State;
use axum::routing::get;
use serde::Deserialize;

use super::input::Parameters;
use super::operation::{Operation, Parameter, Returned, type_name};
use crate::app::App;
use crate::error::PageError;
use crate::hooks::{self, ProjectHooks};
use crate::tokens::Scope;

/// Returns its operations.
pub fn operations() -> Vec<Operation> {
    vec![Operation {
        id: "list_hooks",
        method: "get",
        path: "/hooks",
        summary: "The hooks in force in a project, how they fared in the last seven days, and what \
                  was proven of the agents that run them.",
        scope: Scope::Read,
        parameters: const {
            &[
                Parameter::text(
                    "project",
                    "The project's path: one in which an agent was seen. The last one, if absent.",
                ),
                Parameter::text("host", "Only hooks that run at this agent, such as `codex`."),
            ]
        },
        body: None,
        returns: Returned::Json(type_name!(ProjectHooks)),
        answers: get(list),
    }]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    project: Option<String>,
    host: Option<String>,
}

async fn list(
    State(app): State<Arc<App>>,
    Parameters(asked): Parameters<Asked>,
) -> Result<Json<ProjectHooks>, PageError> {
    let projects = hooks::projects(&app).await?;
    let project = hooks::chosen(&projects, asked.project.as_deref())?;
    hooks::of_project(&app, project, asked.host).await.map(Json)
}

//! Pipelines.

use std::sync::Arc;

use crate::json::Json;
use anyhook_model::pipeline::{PipelineLine, PipelineView};
use axum::extract::State;
use axum::routing::get;
use serde::Deserialize;

use super::input::{Name, Parameters};
use super::operation::{Operation, Parameter, Returned, type_name};
use crate::app::App;
use crate::error::PageError;
use crate::tokens::Scope;

const ID: Parameter = Parameter::path("id", "The pipeline's id.");

/// Returns its operations.
pub fn operations() -> Vec<Operation> {
    vec![
        Operation {
            id: "list_pipelines",
            method: "get",
            path: "/pipelines",
            summary: "Every pipeline, the newest first. Long values of variables are shortened.",
            scope: Scope::Read,
            parameters: &[],
            body: None,
            returns: Returned::List(type_name!(PipelineView)),
            answers: get(list),
        },
        Operation {
            id: "show_pipeline",
            method: "get",
            path: "/pipelines/{id}",
            summary: "One pipeline.",
            scope: Scope::Read,
            parameters: &[ID],
            body: None,
            returns: Returned::Json(type_name!(PipelineView)),
            answers: get(show),
        },
        Operation {
            id: "pipeline_log",
            method: "get",
            path: "/pipelines/{id}/log",
            summary: "What happened in a pipeline, line by line.",
            scope: Scope::Read,
            parameters: const {
                &[ID, Parameter::number("after", "The number of the last line received.")]
            },
            body: None,
            returns: Returned::List(type_name!(PipelineLine)),
            answers: get(log),
        },
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Followed {
    #[serde(default)]
    after: u64,
}

async fn list(State(app): State<Arc<App>>) -> Result<Json<Vec<PipelineView>>, PageError> {
    app.pipelines().await.map(Json)
}

async fn show(
    State(app): State<Arc<App>>,
    Name(id): Name,
) -> Result<Json<PipelineView>, PageError> {
    app.pipeline(&id).await.map(Json)
}

async fn log(
    State(app): State<Arc<App>>,
    Name(id): Name,
    Parameters(followed): Parameters<Followed>,
) -> Result<Json<Vec<PipelineLine>>, PageError> {
    app.pipeline_log(&id, followed.after).await.map(Json)
}

//! The description of the API for programs.

use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use super::operation::{Operation, Returned};
use crate::tokens::Scope;

/// The description, made by `cargo xtask generate`.
pub const DESCRIPTION: &str = include_str!("../../openapi.json");

/// Returns its operations.
pub fn operations() -> Vec<Operation> {
    vec![Operation {
        id: "openapi",
        method: "get",
        path: "/openapi.json",
        summary: "This description.",
        scope: Scope::Read,
        parameters: &[],
        body: None,
        returns: Returned::AnyJson,
        answers: get(description),
    }]
}

async fn description() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION)
}

/// Makes the description from the operations and the types.
#[cfg(feature = "schema")]
pub fn describe() -> serde_json::Value {
    use schemars::generate::SchemaSettings;
    use serde_json::json;

    use crate::error::ErrorBody;

    let settings = SchemaSettings::draft2020_12();
    let settings = settings.with(|it| it.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    let error = generator.subschema_for::<ErrorBody>();
    let mut paths = serde_json::Map::new();
    for operation in super::operations() {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = of_operation(&operation, &mut generator, &error);
    }
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "anyhook",
            "summary": "Agents, decisions and the journal of this machine.",
            "version": "1",
            "license": {"name": "Apache-2.0 OR MIT", "identifier": "Apache-2.0 OR MIT"},
        },
        "servers": [{"url": "/api/v1"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {
                "type": "http",
                "scheme": "bearer",
                "description": "`anyhook ui token add NAME` makes one for reading, with `--answer` \
                                one that may answer decisions.",
            }},
            "schemas": schemas,
        },
    })
}

#[cfg(feature = "schema")]
fn of_operation(
    operation: &Operation,
    generator: &mut schemars::SchemaGenerator,
    error: &schemars::Schema,
) -> serde_json::Value {
    use serde_json::{Value, json};

    let parameters: Vec<Value> = operation
        .parameters
        .iter()
        .map(|parameter| {
            json!({
                "name": parameter.name,
                "in": if parameter.is_in_path { "path" } else { "query" },
                "required": parameter.is_in_path,
                "description": parameter.about,
                "schema": of_parameter(parameter),
            })
        })
        .collect();
    let content = match operation.returns {
        Returned::Json(of) => json!({"application/json": {"schema": (of.schema)(generator)}}),
        Returned::List(of) => json!({
            "application/json": {"schema": {"type": "array", "items": (of.schema)(generator)}},
        }),
        Returned::Events(_) => json!({"text/event-stream": {"schema": {"type": "string"}}}),
        Returned::AnyJson => json!({"application/json": {"schema": {"type": "object"}}}),
    };
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "x-token-scope": operation.scope.name(),
        "parameters": parameters,
        "responses": {
            "200": {"description": "Done.", "content": content},
            "default": {
                "description": "It was not done: why, and the next step.",
                "content": {"application/json": {"schema": error}},
            },
        },
    });
    if let Some(body) = operation.body {
        described["requestBody"] = json!({
            "required": true,
            "content": {"application/json": {"schema": (body.schema)(generator)}},
        });
    }
    described
}

#[cfg(feature = "schema")]
fn of_parameter(parameter: &super::operation::Parameter) -> serde_json::Value {
    use serde_json::json;

    use super::operation::ParameterKind;

    match parameter.kind {
        ParameterKind::Text if parameter.is_in_path => json!({"type": "string", "minLength": 1}),
        ParameterKind::Text => json!({"type": "string"}),
        ParameterKind::Pattern(pattern) => json!({"type": "string", "pattern": pattern}),
        ParameterKind::Word(words) => json!({"type": "string", "enum": words}),
        ParameterKind::Flag => json!({"type": "boolean"}),
        ParameterKind::Number(least, most) => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
    }
}

//! Digests for detecting changes: of artifacts, and of the rules of a workflow.

use anyhook_engine::sha256_hex;
use serde_json::{Map, Value, json};

use super::definition::{ArtifactDefinition, SchemaChoice, WorkflowDefinition};
use super::vocabulary::Mode;
use anyhook_flow::runbook::SpannedName;

/// Returns the digest of a value, in hexadecimal digits. Neither the order of an object's keys nor
/// whitespace counts.
pub fn digest(value: &Value) -> String {
    sha256_hex(sorted(value).to_string().as_bytes())
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            let members = members.into_iter().map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(members.collect::<Map<String, Value>>())
        }
        other => other.clone(),
    }
}

/// Returns the digest of everything in a definition that determines the course of a workflow: who
/// produces what, in which order, and through which gates. How agents are started, and how often
/// and how long something is tried, is not part of it.
pub fn rules(definition: &WorkflowDefinition) -> String {
    let WorkflowDefinition { stages, reviews, risks, qa, .. } = definition;
    let stages = stages.iter().map(|stage| {
        let approval = stage.approval.as_ref();
        json!({
            "name": stage.name.text,
            "agent": stage.agent.text,
            "group": stage.group.as_ref().map(|group| &group.text),
            "after": texts(&stage.after),
            "optional": stage.optional,
            "reads": texts(&stage.reads),
            "artifacts": artifacts(&stage.artifacts),
            "approval": approval.map(|rule| json!([rule.when.name(), modes(&rule.modes)])),
        })
    });
    let reviews = reviews.iter().map(|review| {
        json!({
            "name": review.name.text,
            "agent": review.agent.text,
            "stages": texts(&review.stages),
            "reads": texts(&review.reads),
            "artifacts": artifacts(&review.artifacts),
        })
    });
    let risks = risks.iter().map(|rule| {
        let levels: Vec<&str> = rule.levels.iter().map(|level| level.name()).collect();
        json!([levels, texts(&rule.reviews), texts(&rule.stages)])
    });
    let qa = qa.as_ref().map(|rule| {
        let blocking: Vec<&str> = rule.blocking.iter().map(|severity| severity.name()).collect();
        json!([rule.stage.text, blocking, texts(&rule.fix)])
    });
    digest(&json!({
        "stages": stages.collect::<Vec<_>>(),
        "reviews": reviews.collect::<Vec<_>>(),
        "risks": risks.collect::<Vec<_>>(),
        "qa": qa,
    }))
}

fn artifacts(artifacts: &[ArtifactDefinition]) -> Vec<Value> {
    let each = artifacts.iter().map(|artifact| {
        let schema = match &artifact.schema {
            SchemaChoice::Kind(kind) => json!({ "kind": kind.name() }),
            SchemaChoice::File(file) => json!({ "file": file.text }),
        };
        json!([artifact.file.text, schema, modes(&artifact.modes), artifact.required])
    });
    each.collect()
}

fn texts(names: &[SpannedName]) -> Vec<&str> {
    names.iter().map(|name| name.text.as_str()).collect()
}

fn modes(modes: &[Mode]) -> Vec<&'static str> {
    modes.iter().map(|mode| mode.name()).collect()
}

#[cfg(test)]
mod tests;

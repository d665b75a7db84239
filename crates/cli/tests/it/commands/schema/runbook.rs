//! Runbooks and what is said of them keep to their schemas.

use std::collections::BTreeSet;
use std::fs;

use anyhook_flow::runbook::{RunbookFormat, tree};
use anyhook_model::runbook_keys::{self as keys, RunbookKey};
use anyhook_testkit::write;
use serde_json::{Value, json};

use super::{assert_valid, is_valid, schema};
use crate::environment;

#[test]
fn the_examples_keep_to_their_schema() {
    let environment = environment();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/runbooks");
    let mut count = 0;
    for file in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
        let extension = file.extension().unwrap_or_default().to_string_lossy().into_owned();
        let Some(format) = RunbookFormat::of_extension(&extension) else { continue };
        let text = fs::read_to_string(&file).unwrap();
        assert_valid(&environment, "runbook", &tree(&text, format).0.unwrap().to_json());
        count += 1;
    }
    assert!(count >= 6, "{count}");
    for bad in [
        json!({"pipelin": {}}),
        json!({"pipeline": {"a b": {"step": [{"name": "a", "run": "true"}]}}}),
        json!({"pipeline": {"p": {"step": []}}}),
        json!({"pipeline": {"p": {"step": [{"name": "a"}]}}}),
        json!({"pipeline": {"p": {"step": [{"name": "a", "run": "true", "on_done": 5}]}}}),
        json!({"agent": {"x": {"run": "claude", "on_prompt": "nudge"}}}),
        json!({"agent": {"x": {"run": "claude", "on_idle": {"action": "nudge", "attempts": 0}}}}),
        json!({"agent": {"x": {"run": "claude", "on_error": [{"match": "x", "action": "fail"}]}}}),
    ] {
        assert!(!is_valid(&environment, "runbook", &bad), "{bad}");
    }
}

/// The reader and the schema know the same keys.
#[test]
fn the_schema_has_every_key() {
    let environment = environment();
    let schema = schema(&environment, "runbook");
    let has = |place: &Value, known: &[RunbookKey]| {
        let there: BTreeSet<&str> =
            place["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(there, keys::names(known).into_iter().collect());
    };
    let [pipeline, step] = ["pipeline", "step"].map(|name| &schema["$defs"][name]);
    has(&schema, keys::RUNBOOK);
    has(pipeline, keys::PIPELINE);
    has(&pipeline["properties"]["vars"]["additionalProperties"]["anyOf"][1], keys::VARIABLE);
    has(&pipeline["properties"]["workspace"]["anyOf"][1], keys::WORKSPACE);
    has(&pipeline["properties"]["notify"], keys::NOTIFY);
    has(step, keys::STEP);
    has(&step["properties"]["run"]["anyOf"][1], keys::RUN);
    has(&schema["$defs"]["next"]["anyOf"][1], keys::NEXT);
    has(&schema["$defs"]["agent"], keys::AGENT);
}

#[test]
fn what_is_said_of_runbooks_keeps_to_its_schemas() {
    let environment = environment();
    let folder = environment.project().join(".agents/runbooks");
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/runbooks");
    for name in ["release.hcl", "write-and-review.toml", "prompts/writer.md"] {
        write(&folder.join(name), fs::read(format!("{examples}/{name}")).unwrap(), 0o644);
    }
    write(&folder.join("broken.hcl"), "pipeline \"release\" {\n}\nagent {\n}\n", 0o644);
    let check = environment.run(&["runbook", "check", "--json"]).json();
    assert_eq!(check["notes"].as_array().unwrap().len(), 1, "{check}");
    assert_valid(&environment, "runbook-check", &check);
    let list = environment.run(&["runbook", "list", "--json"]).json();
    assert_eq!(list["pipelines"].as_array().unwrap().len(), 2, "{list}");
    assert_valid(&environment, "runbook-list", &list);
    let show = environment.run(&["runbook", "show", "write-and-review", "--json"]);
    assert_eq!(show.code, 0, "{show:?}");
    assert_valid(&environment, "runbook-show", &show.json());
}

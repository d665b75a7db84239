//! Workflows and their artifacts have schemas.

use std::collections::BTreeSet;
use std::fs;

use anyhook_flow::runbook::{RunbookFormat, tree};
use anyhook_workflow::definition::{keys, read};
use anyhook_workflow::schemas::{ArtifactKind, OWN_KINDS};
use anyhook_workflow::vocabulary::{Mode, OnFailure, Risk, Severity, When};
use serde_json::{Value, json};

use super::{assert_valid, is_valid, schema};
use crate::environment;
use crate::workflow::{METHOD_FOLDER, method};

fn as_json(text: &str) -> Value {
    tree(text, RunbookFormat::Toml).0.unwrap().to_json()
}

#[test]
fn the_default_keeps_to_its_schema() {
    let environment = environment();
    assert_valid(&environment, "workflow-file", &as_json(method().text()));
}

/// The default with one text in it replaced: neither the reader nor the schema takes it.
#[test]
fn what_is_no_workflow_does_not() {
    let environment = environment();
    for (old, new) in [
        ("folder =", "foldre ="),
        ("folder = \"ARTIFACTS\"", "folder = \"../x\""),
        ("folder = \"ARTIFACTS\"", "folder = \"/x\""),
        ("name = \"delivery\"", "name = 7"),
        ("# run = \"claude\"", "run = \" \""),
        ("agent = \"qa_engineer\"\n", ""),
        ("schema = \"qa-output\"", "schema = \"qa-outputs\""),
        ("schema = \"qa-output\"", "required = true"),
        ("schema = \"qa-output\"", "schema = \"qa-output\"\nschema_file = \"own.json\""),
        ("schema = \"qa-output\"", "schema_file = \"a/../b.json\""),
        ("file = \"deployment-report.json\"", "file = \"a/b.json\""),
        ("file = \"deployment-report.json\"", "file = \"..\""),
        ("on_failure = \"block\"", "on_failure = \"rollback\""),
        ("on_failure = \"block\"", "on_failure = \"blok\""),
        ("approval = \"after\"\napproval_modes", "approval_modes"),
        ("approval_modes = [\"full_system\"]", "approval_modes = [\"full\"]"),
        ("optional = true", "optional = \"yes\""),
        ("retries = 0", "retries = 101"),
        ("timeout = \"8h\"", "timeout = \"soon\""),
        ("levels = [\"medium\"]\n", ""),
        ("levels = [\"medium\"]", "levels = [\"mediocre\"]"),
        ("blocking = [\"p0\", \"p1\"]", "blocking = [\"p9\"]"),
        ("stage = \"qa_testing\"\n", ""),
        ("server = \"context7\"\n", ""),
        ("server = \"gemini\"", "server = \"\""),
        ("tool = \"ask-gemini\"", "tool = 1"),
        ("stages = [\"architecture\"]\nmodes", "modes"),
        ("reviews = []", "reviews = [\"a b\"]"),
    ] {
        assert!(method().text().contains(old), "{old}");
        let text = method().text().replacen(old, new, 1);
        assert!(!read(&text, method()).is_usable(), "{new}");
        assert!(!is_valid(&environment, "workflow-file", &as_json(&text)), "{new}");
    }
    for bad in [json!({}), json!([]), json!({"stage": []}), json!({"stage": [{}]})] {
        assert!(!is_valid(&environment, "workflow-file", &bad), "{bad}");
    }
}

/// The reader and the schema know the same keys and words.
#[test]
fn the_schema_has_every_key_and_word() {
    let environment = environment();
    let schema = schema(&environment, "workflow-file");
    let has = |place: &Value, known: &keys::Table| {
        let there: BTreeSet<&str> =
            place["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(there, known.names().into_iter().collect());
    };
    has(&schema, &keys::WORKFLOW);
    has(&schema["properties"]["agent"]["additionalProperties"], &keys::AGENT);
    for (name, known) in [
        ("stage", &keys::STAGE),
        ("artifact", &keys::ARTIFACT),
        ("review", &keys::REVIEW),
        ("risk", &keys::RISK),
        ("qa", &keys::QA),
        ("documentation", &keys::DOCUMENTATION),
        ("second_opinion", &keys::SECOND_OPINION),
    ] {
        has(&schema["$defs"][name], known);
    }
    let modes: Vec<&str> = Mode::ALL.iter().map(|(_, name)| *name).collect();
    let risks: Vec<&str> = Risk::ALL.iter().map(|(_, name)| *name).collect();
    for (place, known) in [
        ("stage/properties/approval_modes/items", modes.clone()),
        ("artifact/properties/modes/items", modes.clone()),
        ("second_opinion/properties/modes/items", modes),
        ("risk/properties/levels/items", risks.clone()),
        ("second_opinion/properties/levels/items", risks),
        ("stage/properties/approval", When::ALL.iter().map(|(_, name)| *name).collect()),
        ("stage/properties/on_failure", OnFailure::ALL.iter().map(|(_, name)| *name).collect()),
        ("qa/properties/blocking/items", Severity::ALL.iter().map(|(_, name)| *name).collect()),
    ] {
        let words = schema["$defs"].pointer(&format!("/{place}/enum")).unwrap();
        assert_eq!(words, &json!(known), "{place}");
    }
    let kinds = schema.pointer("/$defs/artifact/properties/schema/enum").unwrap();
    let kinds: BTreeSet<&str> =
        kinds.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(kinds, method().kinds().map(ArtifactKind::name).collect());
}

#[test]
fn every_artifact_has_a_schema_that_its_sample_keeps_to() {
    let environment = environment();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../workflow/src");
    for kind in method().kinds() {
        let name = kind.name();
        let ran = environment.run(&["schema", name]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let home = if OWN_KINDS.contains(&kind) { folder } else { METHOD_FOLDER };
        let committed = fs::read_to_string(format!("{home}/schemas/{name}.json")).unwrap();
        assert_eq!(ran.stdout, committed, "{name}");
        let sample = fs::read(format!("{folder}/fixtures/{name}.json")).unwrap();
        assert_valid(&environment, name, &serde_json::from_slice(&sample).unwrap());
        assert!(!is_valid(&environment, name, &json!("nothing")), "{name}");
        jsonschema::meta::validate(&ran.json()).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    }
}

//! Tests of schemas: every kind has one, every constraint is enforced, every violation is reported
//! with its location.

use serde_json::json;

use super::*;
use crate::testing::{kind, method};

/// A valid sample of a kind.
fn sample(kind: ArtifactKind) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/fixtures");
    let text = std::fs::read_to_string(format!("{folder}/{kind}.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn schema(kind: ArtifactKind) -> Value {
    serde_json::from_str(kind.text()).unwrap()
}

/// A location, and the value to set or to remove.
type Patch = (&'static str, Option<Value>);

/// Sets the value at a location, or removes it.
fn patched(mut value: Value, pointer: &str, patch: Option<Value>) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match (value.pointer_mut(parent).unwrap(), patch) {
        (Value::Object(map), Some(patch)) => {
            map.insert(key.to_owned(), patch);
        }
        (Value::Object(map), None) => {
            map.shift_remove(key).unwrap();
        }
        (Value::Array(list), Some(patch)) => list[key.parse::<usize>().unwrap()] = patch,
        (other, patch) => panic!("{other} {patch:?}"),
    }
    value
}

#[test]
fn there_are_sixteen_kinds_and_every_sample_is_valid() {
    assert_eq!(method().kinds().count(), 16);
    for kind in method().kinds() {
        assert!(ArtifactSchema::new(kind.text()).is_ok(), "{kind}");
        assert_eq!(validate(kind, &sample(kind)), [], "{kind}");
        assert_eq!(method().kind(kind.name()), Some(kind));
        assert!(schema(kind)["title"].is_string(), "{kind}");
    }
}

/// Walks through a schema in parallel with a valid sample and violates every constraint once.
struct Walk {
    kind: ArtifactKind,
    schema: Value,
    sample: Value,
    broken: usize,
}

impl Walk {
    fn is_refused(&mut self, pointer: &str, patch: Option<Value>, expected: &str) {
        let value = match pointer {
            "" => patch.unwrap(),
            _ => patched(self.sample.clone(), pointer, patch),
        };
        let faults = validate(self.kind, &value);
        let found = faults.iter().any(|fault| fault.pointer == expected);
        assert!(found, "{} {pointer} {value}: {faults:?}", self.kind);
        assert!(faults.iter().all(|fault| !fault.message.is_empty()));
        self.broken += 1;
    }

    fn at(&mut self, schema: &Value, pointer: &str) {
        let mut schema = schema.clone();
        if let Some(reference) = schema["$ref"].as_str() {
            schema = self.schema.pointer(reference.strip_prefix('#').unwrap()).unwrap().clone();
        }
        let types = match &schema["type"] {
            Value::Array(types) => types.clone(),
            Value::Null => Vec::new(),
            one => vec![one.clone()],
        };
        let has = |name: &str| types.contains(&json!(name));
        if !types.is_empty() {
            let wrong = if has("boolean") { json!(7) } else { json!(true) };
            self.is_refused(pointer, Some(wrong), pointer);
            if !has("null") {
                self.is_refused(pointer, Some(Value::Null), pointer);
            }
        }
        if schema.get("enum").is_some() || schema.get("const").is_some() {
            self.is_refused(pointer, Some(json!("no such word")), pointer);
        }
        if has("string") && schema.get("minLength").is_some() {
            self.is_refused(pointer, Some(json!("")), pointer);
        }
        if let Some(limit) = schema["maxLength"].as_u64() {
            let long = "x".repeat(usize::try_from(limit).unwrap() + 1);
            self.is_refused(pointer, Some(json!(long)), pointer);
        }
        if schema.get("format").is_some() {
            self.is_refused(pointer, Some(json!("yesterday")), pointer);
        }
        if schema.get("minimum").is_some() {
            self.is_refused(pointer, Some(json!(-1)), pointer);
        }
        if let Some(limit) = schema["maximum"].as_u64() {
            self.is_refused(pointer, Some(json!(limit + 1)), pointer);
        }
        if schema.get("minItems").is_some() {
            self.is_refused(pointer, Some(json!([])), pointer);
        }
        if schema["uniqueItems"] == true {
            self.is_refused(pointer, Some(json!(["x", "x"])), pointer);
        }
        if schema.get("minProperties").is_some() {
            self.is_refused(pointer, Some(json!({})), pointer);
        }
        if schema["additionalProperties"] == false {
            let extra = format!("{pointer}/no such key");
            self.is_refused(&extra, Some(json!(1)), &extra);
        }
        for required in schema["required"].as_array().into_iter().flatten() {
            let there = format!("{pointer}/{}", required.as_str().unwrap());
            self.is_refused(&there, None, pointer);
        }
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            self.inner(inner, &format!("{pointer}/{key}"));
        }
        if let Some(items) = schema.get("items") {
            let list = self.sample.pointer(pointer).and_then(Value::as_array);
            if list.is_none_or(Vec::is_empty) {
                // The sample has none: an invalid one is the only entry.
                if items["type"] == "string" {
                    let wrong = format!("{pointer}/0");
                    self.is_refused(pointer, Some(json!([7])), &wrong);
                    return self.is_refused(pointer, Some(json!([""])), &wrong);
                }
                panic!("{}: the sample has nothing at {pointer}", self.kind);
            }
            self.at(items, &format!("{pointer}/0"));
        }
        if let Some(inner @ Value::Object(_)) = schema.get("additionalProperties") {
            let map = self.sample.pointer(pointer).and_then(Value::as_object);
            let key = map.and_then(|map| map.keys().next()).unwrap();
            let there = format!("{pointer}/{key}");
            self.at(inner, &there);
        }
    }

    fn inner(&mut self, schema: &Value, pointer: &str) {
        let is_there = self.sample.pointer(pointer).is_some_and(|value| !value.is_null());
        let has_inner = ["properties", "additionalProperties", "$ref"]
            .iter()
            .any(|key| schema.get(key).is_some());
        assert!(is_there || !has_inner, "{}: the sample has nothing at {pointer}", self.kind);
        self.at(schema, pointer);
    }
}

#[test]
fn every_constraint_refuses_what_breaks_it() {
    let mut broken = 0;
    for kind in method().kinds() {
        let mut walk = Walk { kind, schema: schema(kind), sample: sample(kind), broken: 0 };
        let whole = match walk.schema.get("else").filter(|_| walk.schema["if"]["type"] == "array") {
            Some(one) => one.clone(),
            None => walk.schema.clone(),
        };
        walk.at(&whole, "");
        assert!(walk.broken > 15, "{kind}: {}", walk.broken);
        broken += walk.broken;
    }
    assert!(broken > 800, "{broken}");
}

#[test]
fn what_depends_on_something_else_is_refused_too() {
    let unavailable = json!({"topic": "x", "source": "y", "status": "unavailable"});
    let cases: &[(ArtifactKind, &[Patch], &str)] = &[
        (ArtifactKind::QA, &[("/bugs", Some(json!([])))], "/bugs"),
        (
            ArtifactKind::QA,
            &[("/verdict", Some(json!("major_issues"))), ("/bugs", Some(json!([])))],
            "/bugs",
        ),
        (
            kind("safety-output"),
            &[("/verdict", Some(json!("reject"))), ("/findings", Some(json!([])))],
            "/findings",
        ),
        (
            kind("governance-output"),
            &[("/verdict", Some(json!("needs_changes"))), ("/findings", Some(json!([])))],
            "/findings",
        ),
        (
            kind("code-health-output"),
            &[("/verdict", Some(json!("reject"))), ("/findings", Some(json!([])))],
            "/findings",
        ),
        (ArtifactKind::SIGNAL, &[("/warnings", None)], ""),
        (ArtifactKind::SIGNAL, &[("/warnings", Some(json!([])))], "/warnings"),
        (ArtifactKind::SIGNAL, &[("/status", Some(json!("failed")))], ""),
        (
            ArtifactKind::SIGNAL,
            &[("/status", Some(json!("blocked"))), ("/reason", Some(Value::Null))],
            "/reason",
        ),
        (
            ArtifactKind::SIGNAL,
            &[("/next_agent_required", Some(json!([])))],
            "/next_agent_required",
        ),
        (
            ArtifactKind::SIGNAL,
            &[("/next_agent_required", Some(json!([7])))],
            "/next_agent_required/0",
        ),
        (ArtifactKind::STATE, &[("/status", Some(json!("paused")))], "/paused_at"),
        (ArtifactKind::STATE, &[("/paused_at", Some(json!("requirements")))], "/paused_at"),
        (ArtifactKind::CONTEXT_REFRESH, &[("/summary", None)], ""),
        (ArtifactKind::CONTEXT_REFRESH, &[("/fetched_at", Some(Value::Null))], "/fetched_at"),
        (ArtifactKind::CONTEXT_REFRESH, &[("/status", Some(json!("unavailable")))], ""),
        (ArtifactKind::SECOND_OPINION, &[("/verdict", Some(Value::Null))], "/verdict"),
        (ArtifactKind::SECOND_OPINION, &[("/concerns", None)], ""),
        (ArtifactKind::SECOND_OPINION, &[("/status", Some(json!("unavailable")))], ""),
    ];
    for (kind, patches, expected) in cases {
        let value = patches
            .iter()
            .fold(sample(*kind), |value, (pointer, patch)| patched(value, pointer, patch.clone()));
        let faults = validate(*kind, &value);
        let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        assert_eq!(pointers, [*expected], "{kind} {patches:?}: {faults:?}");
    }
    assert_eq!(validate(ArtifactKind::CONTEXT_REFRESH, &unavailable)[0].pointer, "");
}

#[test]
fn what_may_be_null_may_be() {
    for (kind, pointer) in [
        (kind("pm-output"), "/risk_level"),
        (ArtifactKind::SIGNAL, "/risk_level"),
        (ArtifactKind::SIGNAL, "/next_agent_required"),
        (ArtifactKind::STATE, "/execution_mode"),
        (ArtifactKind::STATE, "/safety_and_governance/risk_level"),
        (ArtifactKind::QA, "/bugs/0/stage"),
        (ArtifactKind::PROJECT, "/technology_stack/frontend"),
    ] {
        let value = patched(sample(kind), pointer, Some(Value::Null));
        assert_eq!(validate(kind, &value), [], "{kind} {pointer}");
    }
}

#[test]
fn requirements_and_handover_say_the_mode() {
    for kind in [kind("pm-output"), kind("architect-output"), kind("architecture-assessment")] {
        for mode in ["full_system", "feature", "bug_fix", "refactor"] {
            let value = patched(sample(kind), "/execution_mode", Some(json!(mode)));
            assert_eq!(validate(kind, &value), []);
        }
        assert!(!validate(kind, &patched(sample(kind), "/execution_mode", None)).is_empty());
    }
}

#[test]
fn one_context_refresh_report_is_a_list_of_one() {
    let one = sample(ArtifactKind::CONTEXT_REFRESH);
    let gone = json!({"topic": "x", "source": "y", "status": "unavailable", "reason": "no server"});
    assert_eq!(validate(ArtifactKind::CONTEXT_REFRESH, &json!([one, gone])), []);
    assert_eq!(validate(ArtifactKind::CONTEXT_REFRESH, &json!([])), []);
    let wrong = json!([one, {"topic": "x", "source": "y"}, {"topic": 7}]);
    let faults = validate(ArtifactKind::CONTEXT_REFRESH, &wrong);
    let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(pointers, ["/1", "/1", "/2", "/2", "/2", "/2/topic"]);
}

#[test]
fn every_fault_is_told_in_words() {
    let value = json!({
        "summary": "", "verdict": "maybe", "tests": {"total": -1, "passed": "9", "failed": 0},
        "bugs": [{"id": "B1", "title": "x", "severity": "p9"}], "surprise/~": 1,
    });
    let words: Vec<String> =
        validate(ArtifactKind::QA, &value).iter().map(SchemaViolation::to_string).collect();
    assert_eq!(
        words,
        [
            "/bugs/0/severity: is `p9`, not one of `p0`, `p1`, `p2`, `p3`",
            "/summary: is empty",
            "/surprise~1~0: unknown key `surprise/~`; remove it",
            "/tests/passed: is `9`, but must be of type integer",
            "/tests/total: is -1, less than 0",
            "/verdict: is `maybe`, not one of `approve`, `needs_fixes`, `major_issues`",
        ]
    );
    let words: Vec<String> =
        validate(ArtifactKind::QA, &json!([])).iter().map(SchemaViolation::to_string).collect();
    assert_eq!(words, ["/: is a list, but must be of type object"]);
}

#[test]
fn without_a_schema_nothing_passes() {
    let faults = method().validate_file("ARTIFACTS/system/surprise.json", &json!({}));
    assert_eq!(faults[0].message, "there is no schema for `ARTIFACTS/system/surprise.json`");
}

#[test]
fn nothing_is_fetched() {
    for target in [
        "https://example.com/schema.json",
        "http://127.0.0.1:9/x",
        "file:///etc/passwd",
        "other.json",
    ] {
        let refused = ArtifactSchema::new(&json!({"$ref": target}).to_string());
        assert!(matches!(refused, Err(SchemaError::Schema(_))), "{target}");
    }
    assert!(matches!(ArtifactSchema::new("{"), Err(SchemaError::Json(_))));
    assert!(matches!(ArtifactSchema::new(r#"{"type": 7}"#), Err(SchemaError::Schema(_))));
    let draft = r##"{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "string"}}, "$ref": "#/definitions/a"}"##;
    assert_eq!(ArtifactSchema::new(draft).unwrap().validate(&json!(7)).len(), 1);
}

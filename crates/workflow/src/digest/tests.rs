use proptest::prelude::*;

use super::*;
use crate::testing::{DEFAULT, read};

#[test]
fn the_digest_is_that_of_the_text_with_sorted_keys() {
    // printf '{"a":[1,{"c":null,"d":"x"}],"b":true}' | sha256sum
    let value: Value =
        serde_json::from_str(r#"{"b": true, "a": [1, {"d": "x", "c": null}]}"#).unwrap();
    assert_eq!(digest(&value), "f6658db83e97a2fdd06cd6f6f955685cab902bd0bb29f1fba8ecd342f46352e3");
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-d]{0,2}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn turned(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(turned).collect(),
        Value::Object(members) => {
            let members = members.iter().rev().map(|(key, value)| (key.clone(), turned(value)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn equal_values_and_no_others_have_the_same_digest(one in values(), other in values()) {
        prop_assert_eq!(digest(&one), digest(&turned(&one)));
        prop_assert_eq!(digest(&one) == digest(&other), one == other);
    }
}

fn rules_with(from: &str, to: &str) -> String {
    let text = DEFAULT.replacen(from, to, 1);
    assert_ne!(text, DEFAULT, "{from}");
    let reading = read(&text);
    assert!(reading.is_usable(), "{:?}", reading.findings);
    rules(&reading.definition)
}

#[test]
fn whatever_decides_is_part_of_the_rules() {
    let before = rules(&read(DEFAULT).definition);
    for (from, to) in [
        ("approval = \"after\"\n", ""),
        ("approval = \"before\"\n", "approval = \"after\"\n"),
        ("approval_modes = [\"full_system\"]", "approval_modes = [\"feature\"]"),
        ("agent = \"qa_engineer\"", "agent = \"devops_engineer\""),
        ("after = [\"implementation\"]", "after = [\"implementation\", \"requirements\"]"),
        ("optional = true", "optional = false"),
        ("schema = \"pm-output\"", "schema = \"project-config\""),
        ("schema = \"pm-output\"", "schema_file = \"pm-output\""),
        ("file = \"qa-test-report.json\"", "file = \"report.json\""),
        ("stages = []", "stages = [\"implementation\"]"),
        ("levels = [\"medium\"]", "levels = [\"critical\"]"),
        ("blocking = [\"p0\", \"p1\"]", "blocking = [\"p0\"]"),
    ] {
        assert_ne!(rules_with(from, to), before, "{from} → {to}");
    }
}

#[test]
fn whether_an_artifact_is_required_is_part_of_the_rules() {
    let schema = "schema = \"pm-output\"";
    let more = format!("{schema}\n\n[[stage.artifact]]\nfile = \"plan.json\"\n{schema}\n");
    let optional = format!("{more}required = false\n");
    assert_ne!(rules_with(schema, &more), rules_with(schema, &optional));
}

#[test]
fn what_decides_nothing_is_no_part_of_the_rules() {
    let before = rules(&read(DEFAULT).definition);
    for (from, to) in [
        ("name = \"delivery\"", "# a note\n\nname = \"delivery\"\nrun = \"claude\""),
        ("timeout = \"2h\"", "timeout = \"5s\""),
        ("retries = 2", "retries = 7"),
        ("server = \"gemini\"", "server = \"critic\""),
        ("description = \"", "description = \"Well: "),
    ] {
        assert_eq!(rules_with(from, to), before, "{from} → {to}");
    }
}

//! What agents and people get wrong: a clear error, and the state is as it was.

use std::fs;

use anyhook_testkit::write;
use serde_json::json;

use super::workflow_fixture::{Desk, artifact, artifact_path, signal};

/// Hands in a signal that must be refused.
fn refused(desk: &Desk, signal: &serde_json::Value) -> String {
    let before = desk.state();
    let ran = desk.hand_in(signal);
    assert_eq!(ran.code, 65, "{ran:?}");
    assert!(ran.stderr.contains("hint: "), "{ran:?}");
    assert_eq!(desk.state(), before, "untouched");
    ran.stderr
}

#[test]
fn an_artifact_that_is_not_there() {
    let desk = Desk::new();
    let signal = signal("requirements", &[&artifact_path("requirements")]);
    let why = refused(&desk, &signal);
    assert!(
        why.contains("`ARTIFACTS/product-manager/product-requirements-packet.json` is missing")
    );
}

#[test]
fn an_artifact_that_the_signal_does_not_name() {
    let desk = Desk::new();
    desk.make("requirements");
    let why = refused(&desk, &signal("requirements", &[]));
    assert!(why.contains("`requirements` is incomplete without"), "{why}");
}

#[test]
fn an_artifact_that_is_no_json() {
    let desk = Desk::new();
    let signal = desk.make("requirements");
    write(&desk.path(&artifact_path("requirements")), "{\n  \"project_name\": oops\n}", 0o644);
    let why = refused(&desk, &signal);
    assert!(why.contains("it is not JSON: expected value at line 2 column 19"), "{why}");
}

#[test]
fn an_artifact_that_is_huge() {
    let desk = Desk::new();
    let signal = desk.make("requirements");
    let mut packet = artifact("requirements", "full_system");
    packet["summary"] = json!("x".repeat(5 * 1024 * 1024));
    desk.write(&artifact_path("requirements"), &packet);
    let why = refused(&desk, &signal);
    assert!(why.contains("it is larger than 4194304 bytes"), "{why}");
}

#[test]
fn an_artifact_that_leads_out_of_the_project() {
    let desk = Desk::new();
    let signal = desk.make("requirements");
    let path = desk.path(&artifact_path("requirements"));
    let outside = desk.environment.home().join("packet.json");
    fs::rename(&path, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &path).unwrap();
    let why = refused(&desk, &signal);
    assert!(why.contains("it is outside the project"), "{why}");
}

#[test]
fn a_folder_that_leads_out_of_the_project() {
    let environment = crate::environment();
    let outside = environment.home().join("elsewhere");
    fs::create_dir_all(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, environment.project().join("ARTIFACTS")).unwrap();
    let ran = environment.run(&["workflow", "init"]);
    assert_eq!(ran.code, 65, "{ran:?}");
    assert!(ran.stderr.contains("is outside the project: a link leads there"), "{ran:?}");
    let asked = environment.run(&["context7", "react"]);
    assert_ne!(asked.code, 0, "{asked:?}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing was written there");
}

#[test]
fn an_artifact_of_an_unknown_kind() {
    let desk = Desk::new();
    let mut signal = desk.make("requirements");
    signal["output_artifacts"] =
        json!([artifact_path("requirements"), "ARTIFACTS/product-manager/poem.json"]);
    desk.write("ARTIFACTS/product-manager/poem.json", &json!({}));
    let why = refused(&desk, &signal);
    assert!(why.contains("there is no schema for `ARTIFACTS/product-manager/poem.json`"), "{why}");
    let validated = desk.run(&["validate", "ARTIFACTS/product-manager/poem.json"]);
    assert_eq!(validated.code, 1);
    assert!(validated.stdout.contains("there is no schema"), "{validated:?}");
}

#[test]
fn every_error_of_an_artifact_with_its_place() {
    let desk = Desk::new();
    let packet = json!({
        "project_name": "",
        "execution_mode": "everything",
        "requirements": [{"id": "R1", "title": "Buy", "priority": "must", "acceptance_criteria": []}],
        "surprise": 1,
    });
    let signal = desk.make_with("requirements", &packet);
    let before = desk.state();
    assert_run!(desk.environment, desk.hand_in(&signal));
    assert_eq!(desk.state(), before);
    assert_run!(desk.environment, desk.run(&["validate", "--all"]));
    let report = desk.run(&["validate", "--all", "--json"]);
    assert_eq!(report.code, 1);
    assert_run!(desk.environment, report);
}

#[test]
fn a_signal_of_the_wrong_agent_or_stage_or_out_of_order() {
    let desk = Desk::new();
    let good = desk.make("requirements");
    for (key, value, expected) in [
        ("agent", json!("qa_engineer"), "`requirements` belongs to `product_manager`"),
        ("stage", json!("deployment"), "`deployment` belongs to `devops_engineer`"),
        ("stage", json!("lunch"), "there is no stage or review `lunch`"),
        ("status", json!("nearly"), "/status: is `nearly`, not one of"),
        ("next_agent_required", json!("qa_engineer"), "`qa_engineer` cannot come after"),
        ("completed_at", json!("yesterday"), "/completed_at"),
    ] {
        let mut signal = good.clone();
        signal[key] = value;
        let why = refused(&desk, &signal);
        assert!(why.contains(expected), "{why}");
    }
    let early = desk.make("architecture");
    let why = refused(&desk, &early);
    assert!(why.contains("the stage `architecture` is pending, not in_progress"), "{why}");
    assert!(why.contains("hint: current agents: requirements"), "{why}");
    assert_eq!(desk.hand_in(&good).code, 0);
    // The same stage again, under another name.
    let mut twice = good;
    twice["id"] = json!("another");
    let why = refused(&desk, &twice);
    assert!(why.contains("the stage `requirements` is completed"), "{why}");
}

#[test]
fn a_review_that_nobody_asked_for() {
    let desk = Desk::new();
    let why = refused(&desk, &desk.make("safety_review"));
    assert!(why.contains("`safety_review` was not requested"), "{why}");
}

#[test]
fn a_signal_that_is_none() {
    let desk = Desk::new();
    for input in ["", "[]", "{", "null", "\u{0}"] {
        let ran = desk.environment.run_with_input(&["workflow", "complete", "-"], input);
        assert_eq!(ran.code, 65, "{input:?}: {ran:?}");
    }
    let huge = format!("\"{}\"", "x".repeat(5 * 1024 * 1024));
    let ran = desk.environment.run_with_input(&["workflow", "complete", "-"], huge);
    assert!(ran.code == 65 && ran.stderr.contains("larger than"), "{ran:?}");
}

#[test]
fn a_schema_that_refers_to_an_address_is_refused_and_nothing_is_fetched() {
    let desk = Desk::new();
    let file = desk.path(".agents/workflow.toml");
    let text = fs::read_to_string(&file).unwrap();
    let own = text.replace("schema = \"pm-output\"", "schema_file = \"schemas/own.json\"");
    fs::write(&file, own).unwrap();
    desk.ok(&["reset", "--rules", "--by", "ann"]);
    let signal = desk.make("requirements");
    let why = refused(&desk, &signal);
    assert!(why.contains("cannot read `schemas/own.json`: it does not exist"), "{why}");
    desk.write("schemas/own.json", &json!({"$ref": "https://example.com/schema.json"}));
    let why = refused(&desk, &signal);
    assert!(why.contains("nothing is fetched"), "{why}");
    assert_run!(desk.environment, desk.run(&["check"]));
    let named = desk.run(&["check", ".agents/workflow.toml", "--json"]);
    assert_eq!(named.code, 1, "{named:?}");
    let (report, text) = (named.json(), fs::read_to_string(&file).unwrap());
    let line = text.lines().position(|line| line.starts_with("schema_file")).unwrap() + 1;
    assert_eq!(report["usable"], false, "{report}");
    assert_eq!(report["problems"][0]["code"], "schema", "{report}");
    assert_eq!(report["problems"][0]["line"], line, "{report}");
    // One that stands by itself is used.
    desk.write("schemas/own.json", &json!({"type": "object", "required": ["poem"]}));
    assert!(refused(&desk, &signal).contains("`poem` is missing"));
    let mut packet = artifact("requirements", "full_system");
    packet["poem"] = json!("roses");
    assert_eq!(desk.hand_in(&desk.make_with("requirements", &packet)).code, 0);
}

#[test]
fn every_error_of_every_artifact_at_once() {
    let desk = Desk::new();
    let file = desk.path(".agents/workflow.toml");
    let text = fs::read_to_string(&file).unwrap();
    let more = ["absent", "broken", "wrong"].map(|name| {
        format!("[[stage.artifact]]\nfile = \"{name}.json\"\nschema = \"devops-output\"\n\n")
    });
    let pm = "schema = \"pm-output\"\n\n";
    fs::write(&file, text.replacen(pm, &format!("{pm}{}", more.concat()), 1)).unwrap();
    desk.ok(&["reset", "--rules", "--by", "ann"]);
    let folder = "ARTIFACTS/product-manager";
    write(&desk.path(&format!("{folder}/broken.json")), "{", 0o644);
    desk.write(&format!("{folder}/wrong.json"), &json!({"status": "nearly"}));
    let mut signal = desk.make("requirements");
    signal["output_artifacts"] = json!([
        artifact_path("requirements"),
        format!("./{folder}/absent.json"),
        "broken.json",
        format!("{folder}/wrong.json"),
    ]);
    let why = refused(&desk, &signal);
    insta::assert_snapshot!(why);
    // To whoever has a hook look at it, too.
    desk.write(&super::workflow_fixture::signal_path("product_manager"), &signal);
    let event = json!({"event_type": "subagent_stop", "subagent_type": "product_manager"});
    let arguments = ["workflow", "validate", "--event", "--part", "artifacts"];
    let ran = desk.event(&arguments, &event);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("absent.json` is missing"), "{ran:?}");
    assert!(ran.stderr.contains("it is not JSON"), "{ran:?}");
    assert!(ran.stderr.contains("/status: is `nearly`"), "{ran:?}");
}

#[test]
fn names_that_are_not_there() {
    let desk = Desk::new();
    let ran = desk.run(&["check", "nofile.toml"]);
    assert_eq!(ran.code, 65, "{ran:?}");
    assert!(ran.stderr.contains("hint: no such file"), "{ran:?}");
    let ran = desk.run(&["approve", "requirement", "--by", "ann"]);
    assert!(ran.stderr.contains("hint: available: requirements, architecture, "), "{ran:?}");
    let ran = desk.run(&["approve", "requirements", "--by", "ann"]);
    assert!(
        ran.stderr.contains("hint: run `anyhook workflow status` to see what is pending"),
        "{ran:?}"
    );
    let file = desk.path(".agents/workflow.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("schema = \"pm-output\"", "schema = \"x.json\"")).unwrap();
    let ran = desk.run(&["check"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("write `schema_file = \"…\"` for your own"), "{ran:?}");
}

#[test]
fn a_definition_with_cycles_and_unknown_names() {
    let desk = Desk::new();
    let file = desk.path(".agents/workflow.toml");
    let text = fs::read_to_string(&file).unwrap();
    let broken = text
        .replacen("agent = \"product_manager\"", "agent = \"product_manger\"", 1)
        .replacen("after = [\"requirements\"]", "after = [\"qa_testing\"]", 1);
    fs::write(&file, broken).unwrap();
    let before = desk.state();
    assert_run!(desk.environment, desk.run(&["check"]));
    assert_eq!(desk.run(&["check", "--json"]).code, 1);
    for arguments in
        [&["status"][..], &["next"], &["init"], &["approve", "requirements", "--by", "a"]]
    {
        let ran = desk.run(arguments);
        assert_eq!(ran.code, 65, "{ran:?}");
    }
    assert_eq!(desk.state(), before);
}

#[test]
fn a_configuration_that_is_wrong() {
    let desk = Desk::new();
    desk.write("project-config.json", &json!({"project_name": 7, "risk_level": "some"}));
    assert_run!(desk.environment, desk.run(&["context", "product_manager"]));
}

#[test]
fn agents_that_are_not_there_and_artifacts_that_are_gone() {
    let desk = Desk::new();
    assert_run!(desk.environment, desk.run(&["context", "poet"]));
    // The stage that should have made it is named.
    let early = desk.run(&["context", "system_architect"]);
    assert_eq!(early.code, 65);
    assert!(
        early.stderr.contains("which the stage `requirements` produces; it is in_progress"),
        "{early:?}"
    );
    desk.complete("requirements");
    desk.approve("requirements");
    fs::remove_file(desk.path(&artifact_path("requirements"))).unwrap();
    assert_run!(desk.environment, desk.run(&["context", "system_architect"]));
}

#[test]
fn a_workflow_that_was_not_begun() {
    let environment = crate::environment();
    for command in ["status", "next", "history"] {
        let ran = environment.run(&["workflow", command]);
        assert_eq!(ran.code, 65);
        assert!(ran.stderr.contains("hint: anyhook workflow init"), "{ran:?}");
    }
    assert!(!environment.project().join("ARTIFACTS").exists());
}

#[test]
fn a_schema_that_is_not_there_is_told_beside_other_mistakes() {
    let environment = crate::environment();
    let text = "[agent.a]\nrunn = \"x\"\n[[stage]]\nname = \"one\"\nagent = \"a\"\n\
                [[stage.artifact]]\nfile = \"one.json\"\nschema_file = \"own.json\"\n\
                [[stage.artifact]]\nfile = \"two.json\"\nschema_file = \"/own.json\"\n";
    write(&environment.project().join("bad.toml"), text, 0o644);
    let report = environment.run(&["workflow", "check", "bad.toml", "--json"]).json();
    let codes: Vec<&str> = report["problems"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["code"].as_str())
        .collect();
    assert_eq!(codes, ["unknown-key", "schema", "path"], "{report:#}");
}

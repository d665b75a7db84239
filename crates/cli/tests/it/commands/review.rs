//! `anyhook review`, against real server processes.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use anyhook_testkit::{TestEnv, wait_until, write};
use serde_json::{Value, json};

use crate::environment;
use crate::mcp::{artifact, both, calls, give_servers, must_be_gone, scripted, started, user_file};
use crate::workflow::workflow_fixture::Desk;

const PACKET: &str = "ARTIFACTS/system-architect/architecture-handover-packet.json";
const BESIDE: &str = "ARTIFACTS/system-architect/second-opinion-review.json";
const LATEST: &str = "ARTIFACTS/system/second-opinion-review.json";

fn packet(environment: &TestEnv, value: &Value) {
    write(&environment.project().join(PACKET), value.to_string(), 0o644);
}

#[test]
fn an_opinion_is_shown_and_kept() {
    let environment = environment();
    give_servers(&environment, "newer");
    let wanted = json!({"wanted": "approve_with_notes", "limit": 12345});
    let text = serde_json::to_string_pretty(&wanted).unwrap().replace('\n', " ");
    write(&environment.project().join(PACKET), &text, 0o644);
    assert_run!(environment, environment.run(&["review", PACKET]), @"
    exit code: 0
    ----- stdout -----
    approve with notes  ARTIFACTS/system-architect/architecture-handover-packet.json
    reviewer   gemini
    concern    345 }
    suggestion a cache
    ");
    let review = artifact(&environment, BESIDE);
    assert_eq!(review, artifact(&environment, LATEST));
    assert_eq!(review["verdict"], "approve_with_notes");
    let ran = environment.run(&["review", PACKET, "--json"]);
    assert_eq!((ran.code, ran.json()["suggestions"].clone()), (0, json!(["a cache"])));
    must_be_gone(&environment);
}

/// Only what is in the folder of an agent has its review beside it.
#[test]
fn an_artifact_that_is_no_agents() {
    let environment = environment();
    give_servers(&environment, "newer");
    write(&environment.project().join("docs/plan.json"), "{}", 0o644);
    assert_eq!(environment.run(&["review", "docs/plan.json"]).code, 0);
    assert_eq!(artifact(&environment, LATEST)["scope"], "docs/plan.json");
    assert!(!environment.project().join("docs/second-opinion-review.json").exists());
}

#[test]
fn an_answer_without_a_verdict() {
    let environment = environment();
    give_servers(&environment, "newer");
    packet(&environment, &json!("no opinion"));
    assert_run!(environment, environment.run(&["review", PACKET]), @"
    exit code: 1
    ----- stderr -----
    error: no second opinion: the MCP server `gemini`: its answer has no verdict: I would rather not say.
    hint: ask again, or use another of its tools
    ");
    let review = artifact(&environment, BESIDE);
    assert_eq!((&review["status"], review.get("verdict")), (&json!("unavailable"), None));
    let json = environment.run(&["review", PACKET, "--json"]);
    assert_eq!((json.code, json.json()["status"].clone()), (1, json!("unavailable")));
}

#[test]
fn a_server_that_is_of_no_use() {
    let environment = environment();
    packet(&environment, &json!({}));
    for (mode, timeout, why) in [
        ("dead", "1m", "it ended while connecting (exit code 1); last output: no config"),
        ("garbage", "5s", "not a valid protocol message"),
        ("endless", "1m", "its answer is longer than"),
        ("normal", "1m", "it has no tool `ask-gemini`"),
    ] {
        give_servers(&environment, mode);
        let ran = environment.run(&["review", PACKET, "--timeout", timeout]);
        assert_eq!(ran.code, 1, "{mode}: {ran:?}");
        assert!(ran.stderr.contains(why) && ran.stderr.contains("hint: "), "{mode}: {ran:?}");
        assert!(artifact(&environment, LATEST)["reason"].as_str().unwrap().contains(why));
    }
    must_be_gone(&environment);
}

#[test]
fn artifacts_that_are_not_sent_to_anybody() {
    let environment = environment();
    give_servers(&environment, "newer");
    let project = environment.project();
    write(&environment.home().join("secret.json"), "{}", 0o600);
    write(&project.join("words.json"), "{\n  \"a\": oops\n}", 0o644);
    write(&project.join("large.json"), format!("\"{}\"", "x".repeat(1024 * 1024)), 0o644);
    write(&project.join("huge.json"), format!("\"{}\"", "x".repeat(64 << 20)), 0o644);
    symlink(environment.home().join("secret.json"), project.join("link.json")).unwrap();
    for (path, why) in [
        ("nowhere.json", "cannot be read: No such file or directory"),
        ("../secret.json", "is outside the project"),
        ("link.json", "is outside the project"),
        (".", "is not an artifact"),
        (".git", "it is not a file"),
        ("words.json", "it is not JSON: expected value at line 2 column 8"),
        ("large.json", "it is larger than 1 MiB"),
        ("huge.json", "it is larger than"),
    ] {
        let ran = environment.run(&["review", path]);
        assert_eq!((ran.code, ran.stdout.as_str()), (65, ""), "{path}: {ran:?}");
        assert!(ran.stderr.contains(why), "{path}: {ran:?}");
    }
    assert_eq!(started(&environment), 0);
    assert!(!project.join("ARTIFACTS").exists());
}

/// The tool that the workflow names, or the only one that the server has.
#[test]
fn the_workflow_says_who_is_asked() {
    let environment = environment();
    let servers = json!({"mcpServers": {"critic": scripted(&environment, "newer")}});
    write(&user_file(&environment), servers.to_string(), 0o644);
    assert_eq!(environment.run(&["workflow", "init"]).code, 0);
    packet(&environment, &json!({}));
    let file = environment.project().join(".agents/workflow.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(environment.run(&["review", PACKET]).code, 1);
    fs::write(&file, text.replace("server = \"gemini\"", "server = \"critic\"")).unwrap();
    assert_eq!(environment.run(&["review", PACKET]).code, 0);
    assert_eq!(artifact(&environment, BESIDE)["reviewer"], "critic");
    fs::write(
        &file,
        text.replace(
            "server = \"gemini\"\ntool = \"ask-gemini\"",
            "server = \"critic\"\ntool = \"ask-nobody\"",
        ),
    )
    .unwrap();
    let ran = environment.run(&["review", PACKET]);
    assert!(ran.stderr.contains("it has no tool `ask-nobody`"), "{ran:?}");
    assert!(ran.stderr.contains("hint: available: resolve-library-id, query-docs, ask-gemini"));
}

#[test]
fn wrong_usage() {
    let environment = environment();
    for arguments in
        [&["review"][..], &["review", "a.json", "b.json"], &["review", "a.json", "--event"]]
    {
        let ran = environment.run(arguments);
        assert_eq!(ran.code, 64, "{arguments:?}: {ran:?}");
    }
}

#[test]
fn a_signal_ends_the_server_too() {
    let environment = environment();
    packet(&environment, &json!({}));
    give_servers(&environment, "silent");
    let mut command = environment.command(&["review", PACKET]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    wait_until("the server to be started", || started(&environment) == 1);
    let process = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &process]).status().unwrap().success());
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
    must_be_gone(&environment);
    assert!(!environment.project().join(LATEST).exists());
}

/// What the pack's hook calls when an agent has completed its stage.
mod event {
    use super::*;

    fn stop(desk: &Desk, agent: &str) {
        let event = json!({"event_type": "subagent_stop", "subagent_type": agent});
        let ran = desk.event(&["review", "--event", "--timeout", "20s"], &event);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{ran:?}");
    }

    #[test]
    fn a_completed_stage_is_asked_about_once() {
        let desk = Desk::new();
        let environment = &desk.environment;
        give_servers(environment, "newer");
        desk.up_to("architecture");
        stop(&desk, "product_manager");
        stop(&desk, "system_architect");
        assert_eq!(started(environment), 0, "nobody wants one of requirements of a low risk");
        desk.complete("architecture");
        for agent in ["Explore", "product_manager", "system-architect", "system-architect"] {
            stop(&desk, agent);
        }
        assert_eq!(calls(environment), ["ask-gemini"]);
        assert_eq!(artifact(environment, BESIDE)["scope"], PACKET);
        assert_eq!(artifact(environment, LATEST), artifact(environment, BESIDE));
        // Sent back and done again, it is another one.
        desk.ok(&["reject", "architecture", "--by", "ann", "--note", "smaller"]);
        stop(&desk, "system-architect");
        let mut signal = desk.make("architecture");
        signal["id"] = json!("architecture-2");
        assert_eq!(desk.hand_in(&signal).code, 0);
        stop(&desk, "system-architect");
        assert_eq!(calls(environment).len(), 2);
    }

    #[test]
    fn at_a_high_risk_every_stage_is_asked_about() {
        let desk = Desk::with(&json!({"project_name": "shop", "risk_level": "high"}));
        give_servers(&desk.environment, "newer");
        let mut packet = crate::workflow::workflow_fixture::artifact("requirements", "feature");
        packet["risk_level"] = json!("high");
        assert_eq!(desk.hand_in(&desk.make_with("requirements", &packet)).code, 0);
        stop(&desk, "product_manager");
        let review = "ARTIFACTS/product-manager/second-opinion-review.json";
        assert_eq!(artifact(&desk.environment, review)["verdict"], "needs_changes");
    }

    /// Nobody who approves a stage is to miss what was said of one of its artifacts.
    #[test]
    fn several_artifacts_have_one_review() {
        let desk = Desk::new();
        give_servers(&desk.environment, "newer");
        let file = desk.path(".agents/workflow.toml");
        let second = "schema = \"pm-output\"\n\n[[stage.artifact]]\nfile = \"plan.json\"\nschema = \"devops-output\"\n";
        let text = fs::read_to_string(&file)
            .unwrap()
            .replacen("schema = \"pm-output\"\n", second, 1)
            .replace(
                "stages = [\"architecture\"]\nmodes = [\"full_system\"]",
                "stages = [\"requirements\"]\nmodes = []",
            );
        fs::write(&file, text).unwrap();
        desk.ok(&["reset", "--rules", "--by", "ann"]);
        let mut signal = desk.make("requirements");
        let mut plan = crate::workflow::workflow_fixture::artifact("deployment", "full_system");
        plan["summary"] = json!("no opinion");
        desk.write("ARTIFACTS/product-manager/plan.json", &plan);
        signal["output_artifacts"] =
            json!([signal["output_artifacts"][0], "ARTIFACTS/product-manager/plan.json"]);
        let ran = desk.hand_in(&signal);
        assert_eq!(ran.code, 0, "{ran:?}");
        stop(&desk, "product_manager");
        let review =
            artifact(&desk.environment, "ARTIFACTS/product-manager/second-opinion-review.json");
        assert_eq!(review["verdict"], "needs_changes");
        assert_eq!(
            review["scope"],
            "ARTIFACTS/product-manager/product-requirements-packet.json, ARTIFACTS/product-manager/plan.json"
        );
        let last = review["concerns"].as_array().unwrap().last().unwrap().as_str().unwrap();
        assert!(
            last.starts_with("ARTIFACTS/product-manager/plan.json: the MCP server"),
            "{review}"
        );
        assert_eq!(calls(&desk.environment).len(), 2);
        stop(&desk, "product_manager");
        assert_eq!(calls(&desk.environment).len(), 2);
    }

    #[test]
    fn without_a_server_the_review_says_so_and_nobody_asks_again() {
        let desk = Desk::new();
        desk.up_to("architecture");
        desk.complete("architecture");
        stop(&desk, "system_architect");
        let review = artifact(&desk.environment, BESIDE);
        assert_eq!(review["status"], "unavailable");
        assert!(review["reason"].as_str().unwrap().contains("no MCP server `gemini`"), "{review}");
        write(&user_file(&desk.environment), both(&json!({"command": "/nowhere"})), 0o644);
        stop(&desk, "system_architect");
        assert_eq!(artifact(&desk.environment, BESIDE), review);
    }
}

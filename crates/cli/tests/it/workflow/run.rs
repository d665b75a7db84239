//! `anyhook workflow run` with agents that are scripts, and everything else real.

use anyhook_testkit::{run, write};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::scripted_agents::Crew;
use super::workflow_fixture::{Desk, artifact};
use crate::mcp::{give_servers, must_be_gone, started};

/// Waits for the test before it hands in.
const WAITS: &str = "wait(lambda: (root / \"go\").exists())";

#[test]
fn from_the_requirements_to_the_deployment() {
    let crew = Crew::new(
        r#"
if stage.endswith("_implementation"):
    # None of the three goes on before all have begun: they work at the same time.
    begun = lambda: sum(line.endswith("_implementation 1 began") for line in said())
    wait(lambda: begun() == 3)
"#,
    );
    let first = crew.run(&[]);
    assert_eq!(first.code, 0, "{first:?}");
    assert!(first.stdout.contains("paused at requirements"), "{first:?}");
    assert!(first.stdout.contains("anyhook workflow approve requirements"), "{first:?}");
    assert_eq!(crew.said(), ["requirements 1 began", "requirements 1 hands in"]);
    crew.desk.approve("requirements");
    let second = crew.run(&[]);
    assert!(second.stdout.contains("paused at architecture"), "{second:?}");
    crew.desk.approve("architecture");
    let third = crew.run(&[]);
    assert_eq!(third.code, 0, "{third:?}");
    assert!(third.stdout.contains("Start `deployment`?"), "{third:?}");
    assert_eq!(crew.desk.status("deployment"), "pending");
    crew.desk.approve("deployment");
    let last = crew.run(&["--json"]);
    assert_eq!(last.code, 0, "{last:?}");
    assert_eq!(last.json()["status"], "completed");
    assert!(last.stderr.contains("devops_engineer starts"), "{last:?}");
    let began = crew.said().iter().filter(|line| line.ends_with("1 began")).count();
    assert_eq!((began, crew.said().len()), (7, 14), "{:?}", crew.said());
    let pipelines = crew.pipelines();
    assert!(pipelines.iter().all(|(_, phase)| phase == "completed"), "{pipelines:?}");
    let again = crew.run(&[]);
    assert_eq!((again.code, again.stdout.as_str()), (0, "delivery is completed\n"));
}

#[test]
fn an_agent_does_not_say_what_is_started() {
    let crew = Crew::new("");
    let as_agent = |arguments: &[&str]| {
        let mut command = crew.desk.environment.command(arguments);
        command.env("CLAUDECODE", "1");
        run(command, b"")
    };
    let refused = |arguments: &[&str]| {
        let ran = as_agent(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
        assert!(ran.stderr.contains("`anyhook workflow run` is refused: only a person"), "{ran:?}");
        ran.stderr
    };
    refused(&["workflow", "run", "--with", "./worker"]);
    let file = crew.desk.path(".agents/workflow.toml");
    let text = super::method().text();
    let text = text.replace("# run = \"claude\"", "run = \"./worker\"");
    write(&file, &text, 0o644);
    let said = refused(&["workflow", "run"]);
    assert!(said.contains("anyhook trust .agents/workflow.toml"), "{said}");
    assert_eq!(as_agent(&["workflow", "run", "--dry-run"]).code, 0, "nothing is started");
    let trusted = crew.desk.environment.run(&["trust", "workflow.toml"]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
    assert!(trusted.stdout.contains("run = \"./worker\""), "{trusted:?}");
    // What a person trusted, an agent may run.
    let ran = as_agent(&["workflow", "run"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(crew.said(), ["requirements 1 began", "requirements 1 hands in"]);
    write(&file, text + "# changed\n", 0o644);
    refused(&["workflow", "run"]);
}

#[test]
fn killed_it_is_taken_up_and_nobody_is_started_twice() {
    let crew = Crew::new(WAITS);
    for _ in 0..2 {
        let run = crew.begin(&[]);
        crew.wait_said("requirements 1 began");
        run.signal("-9");
        assert_eq!(run.finish().code, 128 + 9);
    }
    let last = crew.begin(&[]);
    last.wait_told("product_manager is already working");
    crew.go();
    let last = last.finish();
    assert_eq!(last.code, 0, "{last:?}");
    assert_eq!(crew.said(), ["requirements 1 began", "requirements 1 hands in"]);
    assert_eq!(crew.pipelines(), [("requirements".to_owned(), "completed".to_owned())]);
}

#[test]
fn interrupted_it_says_that_the_agents_go_on() {
    let crew = Crew::new(WAITS);
    let first = crew.begin(&[]);
    crew.wait_said("requirements 1 began");
    let second = crew.run(&[]);
    assert_eq!(second.code, 1, "{second:?}");
    let who = format!("process {} is already running this workflow", first.id());
    assert!(second.stderr.contains(&who), "{second:?}");
    first.signal("-TERM");
    let first = first.finish();
    assert_eq!(first.code, 1, "{first:?}");
    assert!(first.stdout.contains("interrupted: the agents keep working"), "{first:?}");
    assert!(first.stdout.contains("anyhook pipeline cancel"), "{first:?}");
    crew.go();
    crew.wait_said("requirements 1 hands in");
    crew.wait("the session to end", || {
        crew.pipelines() == [("requirements".to_owned(), "completed".to_owned())]
    });
}

#[test]
fn an_agent_that_dies_is_tried_again_and_then_the_stage_has_failed() {
    let crew = Crew::new("sys.exit(3)");
    let ran = crew.run(&[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    // Each attempt waits longer than the one before.
    let list = crew.desk.environment.run(&["pipeline", "list", "--all", "--json"]).json();
    let mut all: Vec<_> = list.as_array().unwrap().iter().collect();
    let time = |one: &Value, key: &str| one[key].as_str().unwrap().parse::<Timestamp>().unwrap();
    all.sort_by_key(|one| time(one, "created"));
    for (pair, pause) in all.windows(2).zip([1, 2]) {
        let waited = time(pair[1], "created").duration_since(time(pair[0], "ended"));
        assert!(waited >= SignedDuration::from_secs(pause), "{waited:?}");
    }
    for one in &all {
        let id = one["id"].as_str().unwrap();
        assert!(ran.stdout.contains(&format!("hint: anyhook pipeline logs {id}")), "{ran:?}");
        let logs = crew.desk.environment.run(&["pipeline", "logs", id]);
        assert!(logs.stdout.contains("the agent exited: exit code 3"), "{logs:?}");
    }
    let began = ["requirements 1 began", "requirements 2 began", "requirements 3 began"];
    assert_eq!(crew.said(), began);
    assert!(ran.stdout.contains("failed: requirements"), "{ran:?}");
    assert!(ran.stdout.contains("anyhook workflow reset requirements"), "{ran:?}");
    crew.behave("");
    crew.desk.ok(&["reset", "requirements", "--by", "ann"]);
    let ran = crew.run(&[]);
    assert!(ran.stdout.contains("paused at requirements"), "{ran:?}");
}

#[test]
fn a_stage_that_takes_too_long_is_ended_and_tried_again() {
    let desk = Desk::new();
    let file = desk.path(".agents/workflow.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    write(&file, text.replacen("timeout = \"2h\"", "timeout = \"5s\"", 1), 0o644);
    let crew = Crew::at(desk, "if attempt == 1: time.sleep(600)");
    let ran = crew.run(&[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("failed: it took longer than 5s"), "{ran:?}");
    assert!(crew.has_said("requirements 2 began"), "{:?}", crew.said());
    assert_eq!(crew.pipelines()[0], ("requirements".to_owned(), "cancelled".to_owned()));
}

#[test]
fn time_runs_from_when_the_agent_was_started() {
    let desk = Desk::new();
    desk.up_to("deployment");
    desk.approve("deployment");
    // Approved long ago, and nobody has run it since.
    let mut state = desk.state();
    state["stages"]["deployment"]["started_at"] = "2026-01-02T03:04:05Z".into();
    desk.write("ARTIFACTS/system/workflow-state.json", &state);
    let crew = Crew::at(desk, "");
    let ran = crew.run(&[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("delivery is completed"), "{ran:?}");
    assert_eq!(crew.said(), ["deployment 1 began", "deployment 1 hands in"]);
}

#[test]
fn what_happened_meanwhile_is_told() {
    let crew = Crew::new(&format!("{WAITS}\nif attempt == 1: sys.exit(3)"));
    let run = crew.begin(&[]);
    crew.wait_said("requirements 1 began");
    run.signal("-9");
    run.finish();
    crew.go();
    crew.wait("the agent to end", || {
        crew.pipelines() == [("requirements".to_owned(), "failed".to_owned())]
    });
    let ran = crew.run(&[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("failed: its agent failed"), "{ran:?}");
    assert!(ran.stdout.contains("product_manager starts, attempt 2"), "{ran:?}");
}

#[test]
fn what_is_blocked_is_told_beside_what_a_person_is_asked() {
    let desk = Desk::new();
    let file = desk.path(".agents/workflow.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let stage = "name = \"backend_implementation\"\n";
    write(&file, text.replacen(stage, &format!("{stage}approval = \"after\"\n"), 1), 0o644);
    desk.ok(&["reset", "--rules"]);
    desk.up_to("frontend_implementation");
    let crew = Crew::at(
        desk,
        r#"
if stage == "frontend_implementation":
    signal.update(status="blocked", reason="no design")
"#,
    );
    let ran = crew.run(&[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("paused at backend_implementation"), "{ran:?}");
    assert!(ran.stdout.contains("blocked: frontend_implementation: no design"), "{ran:?}");
    let ran = crew.run(&["--json"]);
    assert_eq!((ran.code, &ran.json()["status"]), (1, &json!("paused")), "{ran:?}");
}

#[test]
fn an_agent_that_rests_too_early_is_told_what_is_missing() {
    let crew = Crew::new(&format!(
        "subprocess.run([\"{}\", \"emit\", \"agent:idle\"])\nsay(\"told \" + input())",
        env!("CARGO_BIN_EXE_anyhook")
    ));
    let ran = crew.run(&[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let told = "requirements 1 told `requirements` is not completed yet.";
    assert!(crew.said()[1].starts_with(told), "{:?}", crew.said());
}

#[test]
fn reviewers_work_where_the_risk_is_high() {
    let desk = Desk::with(&json!({"project_name": "shop", "risk_level": "high"}));
    let crew = Crew::at(desk, "");
    let ran = crew.run(&[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for review in ["safety_review", "governance_review"] {
        assert!(crew.has_said(&format!("{review} 1 hands in")), "{ran:?}");
        let place = format!("{review} of requirements");
        assert!(ran.stdout.contains(&place), "{ran:?}");
    }
    assert!(ran.stdout.contains("paused at requirements"), "{ran:?}");
    assert!(ran.stdout.contains("safety_review approve"), "{ran:?}");
}

#[test]
fn others_help_before_an_agent_begins_and_before_a_person_decides() {
    let desk = Desk::with(&json!({
        "project_name": "shop", "risk_level": "low",
        "technology_stack": {"frontend": {"framework": "Next.js"}},
    }));
    give_servers(&desk.environment, "newer");
    desk.up_to("architecture");
    let crew =
        Crew::at(desk, "if \"Current documentation for Next.js\" in prompt: say(\"documented\")");
    let first = crew.run(&[]);
    let question = first.stdout.find("paused at architecture").unwrap();
    assert!(first.stdout[question..].contains("gemini"), "{first:?}");
    crew.desk.approve("architecture");
    let second = crew.run(&[]);
    assert_eq!(second.code, 0, "{second:?}");
    for stage in ["frontend", "backend", "ai"] {
        crew.wait_said(&format!("{stage}_implementation 1 documented"));
    }
    assert!(!crew.has_said("qa_testing 1 documented"), "{:?}", crew.said());
    must_be_gone(&crew.desk.environment);
}

/// A project whose documentation is asked for next, for three agents.
fn to_be_documented(mode: &str) -> Desk {
    let desk = Desk::with(&json!({
        "project_name": "shop", "risk_level": "low",
        "technology_stack": {"frontend": {"framework": "Next.js"}},
    }));
    desk.up_to("frontend_implementation");
    give_servers(&desk.environment, mode);
    desk
}

#[test]
fn interrupted_it_leaves_no_server() {
    let crew = Crew::at(to_be_documented("silent"), "");
    let run = crew.begin(&[]);
    crew.wait("the servers to start", || started(&crew.desk.environment) == 3);
    run.signal("-TERM");
    let ran = run.finish();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("interrupted: no agent is working"), "{ran:?}");
    must_be_gone(&crew.desk.environment);
    assert!(crew.said().is_empty(), "{:?}", crew.said());
}

#[test]
fn help_that_cannot_be_had_is_told_and_stops_nobody() {
    let desk = to_be_documented("newer");
    // Somebody's own, which is not written over.
    desk.write("ARTIFACTS/system/context-refresh-report.json", &json!({"mine": true}));
    let crew = Crew::at(desk, "");
    let ran = crew.run(&[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let line = ran.stdout.lines().find(|line| line.contains("no documentation: ")).unwrap();
    assert!(line.contains("frontend_implementation"), "{line}");
    assert!(line.contains("context-refresh-report.json"), "{line}");
    assert!(ran.stdout.contains("Start `deployment`?"), "{ran:?}");
    assert_eq!(started(&crew.desk.environment), 0);
}

#[test]
fn a_person_is_asked_through_the_daemon() {
    let crew = Crew::new("");
    let all = crew.begin(&["--wait"]);
    let asked = crew.wait_asked("requirements");
    assert!(
        crew.desk
            .environment
            .run(&["agent", "list", "--json"])
            .json()
            .as_array()
            .unwrap()
            .iter()
            .all(|agent| agent["id"].as_str().unwrap().contains(".requirements."))
    );
    crew.resolve(&asked, "reject", "says nothing about speed");
    crew.wait_said("requirements 2 hands in");
    let again = crew.wait_asked("requirements");
    assert_ne!(again, asked);
    crew.resolve(&again, "approve", "good");
    let approval = &crew.desk.state()["stages"]["requirements"]["approval"];
    assert!(approval.is_null() || approval["note"] == "good", "{approval}");
    let asked = crew.wait_asked("architecture");
    let approval = crew.desk.state()["stages"]["requirements"]["approval"].clone();
    assert_eq!((&approval["by"], &approval["note"]), (&json!("ann"), &json!("good")));
    // Somebody else decides in another terminal: the question is withdrawn.
    crew.desk.approve("architecture");
    crew.wait("the question to be withdrawn", || {
        crew.gates().iter().any(|one| {
            one["inquiry"]["id"] == asked.as_str() && one["resolution"]["ending"] == "dismissed"
        })
    });
    let asked = crew.wait_asked("deployment");
    crew.resolve(&asked, "reject", "not on a Friday");
    let ended = all.finish();
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stdout.contains("blocked: deployment"), "{ended:?}");
    assert!(ended.stdout.contains("not on a Friday"), "{ended:?}");
}

#[test]
fn a_person_chooses_what_becomes_of_bugs() {
    let desk = Desk::new();
    desk.up_to("qa_testing");
    let crew = Crew::at(desk, "");
    let mut report = artifact("qa_testing", "full_system");
    report["verdict"] = "needs_fixes".into();
    report["bugs"] = json!([{
        "id": "B1", "title": "The total is wrong", "severity": "p2",
        "stage": "backend_implementation", "steps_to_reproduce": ["Buy two books."],
    }]);
    crew.will_make("qa_testing", &report);
    let run = crew.begin(&["--wait"]);
    let asked = crew.wait_asked("qa_testing");
    crew.will_make("qa_testing", &artifact("qa_testing", "full_system"));
    crew.resolve(&asked, "fix", "mend it");
    crew.wait_said("backend_implementation 2 hands in");
    let asked = crew.wait_asked("deployment");
    // An answer that nobody lives to apply is not lost.
    run.signal("-STOP");
    crew.resolve(&asked, "approve", "go");
    run.signal("-9");
    run.finish();
    assert_eq!(crew.desk.status("deployment"), "pending");
    let last = crew.run(&[]);
    assert_eq!(last.code, 0, "{last:?}");
    assert!(last.stdout.contains("delivery is completed"), "{last:?}");
    assert!(!crew.has_said("frontend_implementation 2 began"), "{:?}", crew.said());
}

#[test]
fn the_daemon_may_be_killed_meanwhile() {
    let crew = Crew::new(WAITS);
    let all = crew.begin(&["--wait"]);
    crew.wait_said("requirements 1 began");
    crew.desk.environment.kill_daemon();
    crew.go();
    let asked = crew.wait_asked("requirements");
    crew.desk.environment.kill_daemon();
    assert_eq!(crew.wait_asked("requirements"), asked, "it is the same question");
    crew.resolve(&asked, "approve", "good");
    let asked = crew.wait_asked("architecture");
    crew.desk.environment.kill_daemon();
    crew.desk.approve("architecture");
    crew.wait_asked("deployment");
    assert!(crew.gates().iter().any(|one| one["inquiry"]["id"] == asked.as_str()));
    drop(all);
    let began = crew.said().iter().filter(|line| line.ends_with("1 began")).count();
    assert_eq!((began, crew.said().len()), (6, 12), "once each: {:?}", crew.said());
}

#[test]
fn a_dry_run_starts_nobody() {
    let crew = Crew::new("");
    let ran = crew.run(&["--dry-run"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for text in
        ["requirements: product_manager, attempt 1", "./worker", "# You are `product_manager`"]
    {
        assert!(ran.stdout.contains(text), "{text}: {ran:?}");
    }
    let plans = crew.run(&["--dry-run", "--json"]).json();
    assert_eq!(plans[0]["variables"]["stage"], "requirements");
    assert!(crew.desk.environment.daemon().is_none());
}

#[test]
fn everybody_must_have_a_command_before_anybody_is_started() {
    let desk = Desk::new();
    let file = desk.path(".agents/workflow.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let agent = "[agent.product_manager]\n";
    write(&file, text.replacen(agent, &format!("{agent}run = \"./worker\"\n"), 1), 0o644);
    let mut command = desk.environment.command(&["workflow", "run"]);
    command.env("PATH", desk.environment.root());
    let ran = run(command, b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("no command is set to start `system_architect`"), "{ran:?}");
    assert!(desk.environment.daemon().is_none());
}

#[test]
fn one_that_has_not_written_its_number_yet_is_another_process() {
    let crew = Crew::new("");
    let file = crew.desk.path("ARTIFACTS/system/.workflow-run.lock");
    let lock = std::fs::File::create(file).unwrap();
    lock.lock().unwrap();
    let ran = crew.run(&[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("another process is already running this workflow"), "{ran:?}");
    assert!(crew.said().is_empty());
}

#[test]
fn what_cannot_be_run_is_told_before_anybody_is_started() {
    let desk = Desk::new();
    let mut command = desk.environment.command(&["workflow", "run"]);
    command.env("PATH", desk.environment.root());
    let ran = run(command, b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("no agent that anyhook can start is on the PATH"), "{ran:?}");
    assert!(ran.stderr.contains("hint: anyhook workflow run --with COMMAND"), "{ran:?}");
    write(&desk.path(".agents/workflow.toml"), "name = 3\n", 0o644);
    let ran = desk.run(&["run"]);
    assert_eq!(ran.code, 65, "{ran:?}");
    assert!(ran.stderr.contains("workflow.toml:1:8"), "{ran:?}");
    assert!(desk.environment.daemon().is_none());
    std::fs::remove_dir_all(desk.path("ARTIFACTS")).unwrap();
    std::fs::remove_file(desk.path(".agents/workflow.toml")).unwrap();
    let ran = desk.run(&["run"]);
    assert_eq!(ran.code, 65, "{ran:?}");
    assert!(ran.stderr.contains("hint: anyhook workflow init"), "{ran:?}");
}

//! What hooks' scripts call: the event on standard input says whose turn it is.

use anyhook_testkit::CommandRun;
use serde_json::{Value, json};

use super::workflow_fixture::{Desk, artifact, artifact_path, signal_path};

fn started(agent: &str) -> Value {
    json!({"event_type": "subagent_start", "subagent_name": agent, "subagent_type": agent})
}

fn stopped(agent: &str) -> Value {
    json!({"event_type": "subagent_stop", "subagent_type": agent, "final_message": "done"})
}

/// What a script's answer has for the model.
fn told(ran: &CommandRun) -> String {
    match ran.stdout.as_str() {
        "" => String::new(),
        _ => ran.json()["additional_context"].as_str().unwrap().to_owned(),
    }
}

const CONTEXT: &[&str] = &["workflow", "context", "--event"];
const SIGNAL: &[&str] = &["workflow", "validate", "--event", "--part", "signal"];
const ARTIFACTS: &[&str] = &["workflow", "validate", "--event", "--part", "artifacts"];
const COMPLETE: &[&str] = &["workflow", "complete", "--event"];
const NEXT: &[&str] = &["workflow", "next", "--event"];

#[test]
fn an_agent_is_given_exactly_what_the_command_prints() {
    let desk = Desk::new();
    desk.complete("requirements");
    desk.approve("requirements");
    let time = without("completed_at");
    let printed = time(desk.ok(&["context", "system_architect"]).stdout.trim_end());
    let given = desk.event(CONTEXT, &started("system-architect"));
    assert_eq!((given.code, time(&told(&given))), (0, printed.clone()));
    assert!(printed.contains("xylophone"), "the requirements are in it: {printed}");
    // In parts, as the hooks of the pack give it, it is the same.
    let parts = ["workflow-state", "project-config", "upstream-artifacts", "output-schema"];
    let parts = parts.map(|part| {
        let ran = desk.event(&[CONTEXT, &["--part", part]].concat(), &started("system_architect"));
        time(&told(&ran))
    });
    assert_eq!(parts.join("\n\n"), printed);
    assert!(printed.chars().count() < 10_000, "agents take in no more");
}

/// Returns a text without the time in a signal.
fn without(key: &'static str) -> impl Fn(&str) -> String {
    move |text| {
        let begin = format!("\"{key}\":\"");
        let mut parts = text.split(&begin);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |whole, part| {
            let rest = part.split_once('"').map_or("", |(_, rest)| rest);
            format!("{whole}\"{key}\":\"[TIME]\"{rest}")
        })
    }
}

#[test]
fn what_is_too_long_is_cut_and_says_where_the_rest_is() {
    let desk = Desk::new();
    let mut packet = artifact("requirements", "full_system");
    packet["summary"] = json!(format!("xylophone {}", "ä".repeat(50_000)));
    assert_eq!(desk.hand_in(&desk.make_with("requirements", &packet)).code, 0);
    desk.approve("requirements");
    let given = told(&desk.event(CONTEXT, &started("system_architect")));
    assert!(given.chars().count() < 10_000);
    assert!(given.contains("xylophone"));
    let rest = format!("… (truncated; for the rest: {})", artifact_path("requirements"));
    assert!(given.contains(&rest), "{given}");
    let whole = desk.ok(&["context", "system_architect", "--json"]).json();
    let summary = &whole["upstream_artifacts"][artifact_path("requirements")]["summary"];
    assert_eq!(summary.as_str().unwrap().chars().count(), 50_010);
}

#[test]
fn whoever_is_none_of_the_workflow_is_left_alone() {
    let desk = Desk::new();
    for event in [
        started("Explore"),
        stopped("Explore"),
        json!({"event_type": "before_agent", "prompt": "hello"}),
        json!({"event_type": "before_stop"}),
    ] {
        for command in [CONTEXT, SIGNAL, ARTIFACTS, COMPLETE] {
            let ran = desk.event(command, &event);
            assert_eq!(
                (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
                (0, "", ""),
                "{command:?} {event}"
            );
        }
    }
    // Nor is anybody where no workflow was begun.
    let elsewhere = crate::environment();
    for command in [CONTEXT, SIGNAL, ARTIFACTS, COMPLETE, NEXT] {
        let ran = elsewhere.run_with_input(command, stopped("product_manager").to_string());
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (0, "", ""),
            "{command:?}"
        );
    }
    assert!(!elsewhere.project().join("ARTIFACTS").exists());
}

#[test]
fn a_broken_workflow_is_nobody_elses_trouble() {
    let desk = Desk::new();
    let called = |agent: &str| json!({"event_type": "before_tool", "tool_name": "Subagent", "tool_input": {"subagent_type": agent}});
    let guard = &["guard", "workflow"];
    let damage =
        [("ARTIFACTS/system/workflow-state.json", "{"), (".agents/workflow.toml", "name = 7\n")];
    for (file, text) in damage {
        anyhook_testkit::write(&desk.path(file), text, 0o644);
        for command in [CONTEXT, SIGNAL, ARTIFACTS, COMPLETE] {
            for event in [stopped("Explore"), json!({"event_type": "before_stop"})] {
                let ran = desk.event(command, &event);
                assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{file} {command:?} {event}");
            }
            // Those it may concern are not let through.
            assert_eq!(desk.event(command, &stopped("product-manager")).code, 65, "{file}");
        }
        assert_eq!(desk.event(guard, &called("Explore")).code, 0, "{file}");
        assert_eq!(desk.event(guard, &called("system-architect")).code, 65, "{file}");
    }
}

#[test]
fn nobody_hands_in_the_work_of_another() {
    let desk = Desk::new();
    let requirements = desk.make("requirements");
    let mut command = desk.environment.command(&["workflow", "complete", "-"]);
    command.env("ANYHOOK_WORKFLOW_AGENT", "system_architect");
    let ran = anyhook_testkit::run(command, requirements.to_string().as_bytes());
    assert_eq!(ran.code, 65, "{ran:?}");
    assert!(ran.stderr.contains("this is the session of `system_architect`"), "{ran:?}");
    // Nor does a signal for another let an agent stop.
    let mut other = requirements;
    other["agent"] = json!("safety_agent");
    desk.write(&signal_path("product_manager"), &other);
    let sent_back = desk.event(COMPLETE, &stopped("product_manager"));
    assert_eq!(sent_back.code, 2);
    assert!(sent_back.stderr.contains("it is for `safety_agent`"), "{sent_back:?}");
}

#[test]
fn one_whose_turn_has_not_come_is_told_so_once() {
    let desk = Desk::new();
    let early = desk.event(CONTEXT, &started("system_architect"));
    assert!(early.stdout.contains("needs `ARTIFACTS/product-manager/"), "{early:?}");
    let part = [CONTEXT, &["--part", "project-config"]].concat();
    assert_eq!(desk.event(&part, &started("system_architect")).stdout, "");
    desk.complete("requirements");
    let late = desk.event(CONTEXT, &started("product_manager"));
    assert!(late.stdout.contains("It is not `product_manager`'s turn"), "{late:?}");
}

#[test]
fn an_agent_that_has_not_handed_in_is_sent_back() {
    let desk = Desk::new();
    let sent_back = desk.event(SIGNAL, &stopped("product_manager"));
    assert_eq!(sent_back.code, 2, "{sent_back:?}");
    assert!(sent_back.stderr.contains("not done yet"), "{sent_back:?}");
    // What it is told to write is what is taken.
    let template = sent_back.stderr.lines().last().unwrap();
    let signal: Value = serde_json::from_str(template).unwrap();
    desk.write(&signal_path("product_manager"), &signal);
    desk.make("requirements");
    for command in [SIGNAL, ARTIFACTS, COMPLETE] {
        let ran = desk.event(command, &stopped("product_manager"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{command:?}");
    }
    assert_eq!(desk.status("requirements"), "completed");
    // It may stop as often as it likes then.
    for command in [SIGNAL, ARTIFACTS, COMPLETE] {
        assert_eq!(desk.event(command, &stopped("product_manager")).code, 0);
    }
}

#[test]
fn an_agent_whose_artifact_is_wrong_is_sent_back_with_every_error() {
    let desk = Desk::new();
    let signal =
        desk.make_with("requirements", &json!({"project_name": "shop", "requirements": []}));
    desk.write(&signal_path("product_manager"), &signal);
    assert_eq!(desk.event(SIGNAL, &stopped("product_manager")).code, 0, "the signal is fine");
    let sent_back = desk.event(ARTIFACTS, &stopped("product_manager"));
    assert_eq!(sent_back.code, 2);
    for error in ["`execution_mode` is missing", "`summary` is missing", "/requirements:"] {
        assert!(sent_back.stderr.contains(error), "{error}: {sent_back:?}");
    }
    // Without the hooks before it, handing in says the same.
    let refused = desk.event(COMPLETE, &stopped("product_manager"));
    assert_eq!((refused.code, &refused.stderr), (2, &sent_back.stderr));
    assert_eq!(desk.status("requirements"), "in_progress");
}

#[test]
fn a_signal_of_an_earlier_attempt_does_not_count() {
    let desk = Desk::new();
    let signal = desk.make("requirements");
    desk.write(&signal_path("product_manager"), &signal);
    assert_eq!(desk.event(COMPLETE, &stopped("product_manager")).code, 0);
    desk.ok(&["reject", "requirements", "--by", "ann", "--note", "again"]);
    let sent_back = desk.event(SIGNAL, &stopped("product_manager"));
    assert_eq!(sent_back.code, 2);
    assert!(sent_back.stderr.contains("handed in before"), "{sent_back:?}");
}

/// The signal that an agent is told to write, which it writes.
fn written_as_told(desk: &Desk, agent: &str) {
    let given = told(&desk.event(CONTEXT, &started(agent)));
    let signal = given.lines().find(|line| line.starts_with("{\"id\"")).unwrap();
    desk.write(&signal_path(agent), &serde_json::from_str(signal).unwrap());
    let done = desk.event(COMPLETE, &stopped(agent));
    assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{agent}: {signal}");
}

#[test]
fn every_review_has_a_signal_of_its_own() {
    let desk = Desk::with(&json!({"project_name": "shop", "risk_level": "high"}));
    let review = |verdict: &str| {
        let mut review = artifact("safety_review", "");
        review["stage_reviewed"] = desk.state()["current_stage"].clone();
        review["verdict"] = json!(verdict);
        review["findings"] = json!([{"title": "Privacy", "severity": "high"}]);
        desk.make_with("safety_review", &review);
    };
    let others = || {
        let mut review = artifact("governance_review", "");
        review["stage_reviewed"] = desk.state()["current_stage"].clone();
        desk.make_with("governance_review", &review);
        written_as_told(&desk, "governance_agent");
    };
    desk.make("requirements");
    written_as_told(&desk, "product_manager");
    // The same stage twice, for it is sent back once, and then another stage.
    review("needs_changes");
    written_as_told(&desk, "safety_agent");
    others();
    assert_eq!(desk.status("requirements"), "in_progress");
    written_as_told(&desk, "product_manager");
    review("approve");
    written_as_told(&desk, "safety_agent");
    others();
    desk.approve("requirements");
    desk.make("architecture");
    written_as_told(&desk, "system_architect");
    review("approve");
    written_as_told(&desk, "safety_agent");
    others();
    assert_eq!(desk.state()["paused_at"], "architecture");
}

#[test]
fn a_session_that_was_started_as_an_agent_is_one() {
    let desk = Desk::new();
    let with = |arguments: &[&str], event: Value, variables: &[(&str, &str)]| {
        let mut command = desk.environment.command(arguments);
        command.envs(variables.iter().copied());
        anyhook_testkit::run(command, event.to_string().as_bytes())
    };
    let agent = ("ANYHOOK_WORKFLOW_AGENT", "product_manager");
    let prompt = json!({"event_type": "before_agent", "prompt": "begin"});
    let given = with(CONTEXT, prompt.clone(), &[agent]);
    assert!(given.stdout.contains("Your stage is `requirements`"), "{given:?}");
    // Its prompt has it already.
    let given = with(CONTEXT, prompt, &[agent, ("ANYHOOK_WORKFLOW_CONTEXT", "given")]);
    assert_eq!(given.stdout, "");
    let stop = with(SIGNAL, json!({"event_type": "before_stop"}), &[agent]);
    assert_eq!(stop.code, 2, "{stop:?}");
    // A helper that it starts is none.
    let helper = with(SIGNAL, stopped("Explore"), &[agent]);
    assert_eq!(helper.code, 0);
}

#[test]
fn the_main_agent_is_told_who_comes_next() {
    let desk = Desk::with(&json!({"project_name": "shop"}));
    let prompt = json!({"event_type": "before_agent", "prompt": "go on"});
    let called = |agent: &str| json!({"event_type": "after_tool", "tool_name": "Subagent", "tool_input": {"subagent_type": agent}});
    let told = desk.event(NEXT, &prompt).stdout;
    assert!(
        told.contains("Start the subagent `product_manager` to do the stage `requirements`"),
        "{told}"
    );
    let mut packet = artifact("requirements", "full_system");
    packet["risk_level"] = json!("medium");
    desk.hand_in(&desk.make_with("requirements", &packet));
    let review = |name: &str| {
        desk.event(&[NEXT, &["--review", name]].concat(), &called("product_manager")).stdout
    };
    assert!(
        review("safety_review")
            .contains("Start the subagent `safety_agent` to review the stage `requirements`")
    );
    assert_eq!(review("governance_review"), "");
    assert_eq!(review("code_health_review"), "");
    desk.complete("safety_review");
    let told = desk.event(NEXT, &called("safety_agent")).stdout;
    assert!(told.contains("is waiting for a person"), "{told}");
    assert!(told.contains("anyhook workflow approve requirements"), "{told}");
    // Other calls are nobody's business.
    assert_eq!(desk.event(NEXT, &called("Explore")).stdout, "");
    let shell =
        json!({"event_type": "after_tool", "tool_name": "Shell", "tool_input": {"command": "ls"}});
    assert_eq!(desk.event(NEXT, &shell).stdout, "");
}

#[test]
fn an_input_that_is_no_event() {
    let desk = Desk::new();
    for command in [CONTEXT, SIGNAL, COMPLETE, NEXT] {
        let ran = desk.environment.run_with_input(command, "{");
        assert_eq!(ran.code, 65, "{command:?}: {ran:?}");
        assert!(ran.stderr.contains("standard input is not an event"), "{ran:?}");
    }
}

//! Whoever is sent back is told why: in what the agent is given, as text, as JSON and by hooks.

use serde_json::{Value, json};

use super::workflow_fixture::{Desk, artifact};

fn bug(id: &str, stage: &str) -> Value {
    json!({
        "id": id, "title": format!("TOTALWRONG {id}"), "severity": "p1", "stage": stage,
        "steps_to_reproduce": ["Buy two.", "Look at the total."],
        "expected": "EXPECTEDSUM", "actual": "ACTUALSUM",
    })
}

/// A desk whose tests found bugs, about which a person has decided: they are to be fixed.
fn sent_back(verdict: &str, bugs: &[Value]) -> Desk {
    let desk = Desk::new();
    desk.up_to("qa_testing");
    let mut report = artifact("qa_testing", "");
    report["verdict"] = json!(verdict);
    report["summary"] = json!("SUMMARYOFTESTS");
    report["bugs"] = json!(bugs);
    let ran = desk.hand_in(&desk.make_with("qa_testing", &report));
    assert_eq!(ran.code, 0, "{ran:?}");
    desk.ok(&["reject", "qa_testing", "--by", "ann"]);
    desk
}

/// What the hooks of the pack give an agent that starts.
fn by_hooks(desk: &Desk, agent: &str) -> String {
    let event =
        json!({"event_type": "subagent_start", "subagent_name": agent, "subagent_type": agent});
    let parts = ["workflow-state", "project-config", "upstream-artifacts", "output-schema"];
    let parts = parts.map(|part| {
        let ran = desk.event(&["workflow", "context", "--event", "--part", part], &event);
        assert_eq!(ran.code, 0, "{ran:?}");
        match ran.stdout.as_str() {
            "" => String::new(),
            _ => ran.json()["additional_context"].as_str().unwrap().to_owned(),
        }
    });
    parts.join("\n\n")
}

#[test]
fn an_engineer_is_told_the_bugs_to_fix() {
    for verdict in ["needs_fixes", "major_issues"] {
        let bugs = [bug("B1", "backend_implementation"), bug("B2", "frontend_implementation")];
        let desk = sent_back(verdict, &bugs);
        let text = desk.ok(&["context", "backend_engineer"]).stdout;
        for given in [text, by_hooks(&desk, "backend_engineer")] {
            for part in [
                "ann wants these bugs fixed",
                "SUMMARYOFTESTS",
                "B1 (p1): TOTALWRONG B1",
                "1. Buy two. 2. Look at the total.",
                "EXPECTEDSUM",
                "ACTUALSUM",
                "ARTIFACTS/qa-engineer/qa-test-report.json",
                "run `anyhook workflow complete",
            ] {
                assert!(given.contains(part), "{verdict}: {part}: {given}");
            }
            assert!(!given.contains("B2"), "that one is for another: {given}");
            assert!(given.chars().count() < 10_000);
        }
        let json = desk.ok(&["context", "backend_engineer", "--json"]).json();
        assert_eq!(json["findings"][0]["source"], "qa_testing");
        assert_eq!(json["findings"][0]["items"][0], bug("B1", "backend_implementation"));
        let other = desk.ok(&["context", "frontend_engineer"]).stdout;
        assert!(other.contains("TOTALWRONG B2") && !other.contains("TOTALWRONG B1"), "{other}");
    }
}

#[test]
fn bugs_without_room_are_counted_and_the_report_is_named() {
    let bugs = (0..200).map(|number| bug(&format!("B{number}"), "backend_implementation"));
    let desk = sent_back("needs_fixes", &bugs.collect::<Vec<_>>());
    let text = desk.ok(&["context", "backend_engineer"]).stdout;
    assert!(text.chars().count() < 10_000, "agents take in no more: {}", text.chars().count());
    let rest = "read `ARTIFACTS/qa-engineer/qa-test-report.json`";
    assert!(text.contains("of 200 are not shown in full") && text.contains(rest), "{text}");
    assert!(text.contains("run `anyhook workflow complete"), "{text}");
    // What the state keeps is whole there.
    let json = desk.ok(&["context", "backend_engineer", "--json"]).json();
    let findings = &json["findings"][0];
    let kept = findings["items"].as_array().unwrap().len();
    assert!(kept > 20, "{kept}");
    assert_eq!(kept as u64 + findings["omitted"].as_u64().unwrap(), 200);
}

#[test]
fn a_reviewer_s_findings_reach_the_agent() {
    for verdict in ["needs_changes", "reject"] {
        let desk = Desk::with(&json!({"project_name": "shop", "risk_level": "medium"}));
        desk.complete("requirements");
        let mut review = artifact("safety_review", "");
        review["verdict"] = json!(verdict);
        review["summary"] = json!("NOPRIVACY");
        review["findings"] = json!([{
            "title": "UNENCRYPTED", "severity": "high", "location": "packet.json#/R1",
            "recommendation": "ENCRYPTIT",
        }]);
        let ran = desk.hand_in(&desk.make_with("safety_review", &review));
        assert_eq!(ran.code, 0, "{ran:?}");
        if verdict == "reject" {
            assert_eq!(desk.status("requirements"), "blocked");
            desk.ok(&["reset", "requirements", "--by", "ann", "--note", "TRYAGAIN"]);
        }
        let given = desk.ok(&["context", "product_manager"]).stdout;
        for part in [
            "NOPRIVACY",
            "(high): UNENCRYPTED",
            "location: packet.json#/R1",
            "recommendation: ENCRYPTIT",
            "ARTIFACTS/safety-agent/safety-review.json",
        ] {
            assert!(given.contains(part), "{verdict}: {part}: {given}");
        }
        assert_eq!(given.contains("TRYAGAIN"), verdict == "reject", "{given}");
    }
}

#[test]
fn who_rejects_hands_on_the_second_opinion() {
    let desk = Desk::new();
    desk.complete("requirements");
    let opinion = json!({
        "scope": "ARTIFACTS/product-manager/product-requirements-packet.json",
        "reviewer": "gemini", "status": "reviewed", "verdict": "needs_changes",
        "concerns": ["TOOMANYGOALS"], "suggestions": ["DROPONE"],
        "reviewed_at": jiff::Timestamp::now().to_string(),
    });
    desk.write("ARTIFACTS/product-manager/second-opinion-review.json", &opinion);
    desk.ok(&["reject", "requirements", "--by", "ann", "--note", "NOSPEED"]);
    let given = desk.ok(&["context", "product_manager"]).stdout;
    for part in ["ann rejected it: NOSPEED", "gemini", "TOOMANYGOALS", "suggestion: DROPONE"] {
        assert!(given.contains(part), "{part}: {given}");
    }
    // It is of the attempt that was rejected, and of no later one.
    let mut again = desk.make("requirements");
    again["id"] = json!("requirements-2");
    assert_eq!(desk.hand_in(&again).code, 0);
    let given = desk.ok(&["context", "product_manager"]).stdout;
    assert!(!given.contains("TOOMANYGOALS"), "{given}");
}

#[test]
fn a_bad_bug_cannot_be_approved() {
    let desk = Desk::new();
    desk.up_to("qa_testing");
    let mut report = artifact("qa_testing", "");
    report["bugs"] = json!([{"id": "B1", "title": "All is lost", "severity": "p0"}]);
    let signal = desk.make_with("qa_testing", &report);
    let ran = desk.hand_in(&signal);
    assert_eq!(ran.code, 65, "{ran:?}");
    assert!(ran.stderr.contains("these bugs are open: B1 (p0)"), "{ran:?}");
    assert!(ran.stderr.contains("hint: set the verdict to `needs_fixes`"), "{ran:?}");
    assert_eq!(desk.status("qa_testing"), "in_progress");
    report["bugs"][0]["status"] = json!("fixed");
    desk.make_with("qa_testing", &report);
    assert_eq!(desk.hand_in(&signal).code, 0);
    assert_eq!(desk.state()["paused_at"], "deployment");
}

#[test]
fn a_configuration_that_is_gone_is_said_loudly() {
    let desk = Desk::new();
    assert_eq!(desk.ok(&["context", "product_manager"]).stderr, "");
    std::fs::remove_file(desk.path("project-config.json")).unwrap();
    let absent = "project-config.json is missing";
    for command in [&["context", "product_manager"][..], &["status"], &["next"]] {
        let ran = desk.ok(command);
        assert!(ran.stderr.contains(&format!("warning: {absent}")), "{command:?}: {ran:?}");
    }
    assert!(by_hooks(&desk, "product_manager").contains(absent));
    desk.ok(&["init"]);
    assert_eq!(desk.ok(&["status"]).stderr, "");
}

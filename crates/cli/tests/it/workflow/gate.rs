//! `anyhook guard workflow --wait`: a person is asked before an agent starts.

use std::io::Write;
use std::process::{Child, Stdio};

use anyhook_testkit::{CommandRun, finish};
use serde_json::json;

use super::scripted_agents::Crew;

/// The requirements wait for a person.
fn at_the_gate() -> Crew {
    let crew = Crew::new("");
    crew.desk.complete("requirements");
    crew
}

/// Asks beside the test whether an agent may start.
fn guard(crew: &Crew, wait: &str) -> Child {
    let event = json!({
        "event_type": "before_tool", "tool_name": "Subagent",
        "tool_input": {"subagent_type": "system-architect", "prompt": "begin"},
    });
    let mut command = crew.desk.environment.command(&["guard", "workflow", "--wait", wait]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    write!(child.stdin.take().unwrap(), "{event}").unwrap();
    child
}

fn ended(crew: &Crew, mut child: Child) -> CommandRun {
    crew.wait("the end of the guard", || child.try_wait().unwrap().is_some());
    finish(child)
}

#[test]
fn a_person_lets_it_start() {
    let crew = at_the_gate();
    let child = guard(&crew, "10m");
    crew.resolve(&crew.wait_asked("requirements"), "approve", "good");
    let ran = ended(&crew, child);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let approval = &crew.desk.state()["stages"]["requirements"]["approval"];
    assert_eq!((&approval["by"], &approval["note"]), (&json!("ann"), &json!("good")));
    // From then on nobody is asked.
    assert_eq!(ended(&crew, guard(&crew, "10m")).code, 0);
    assert_eq!(crew.gates().len(), 1);
}

#[test]
fn a_person_does_not_let_it_start() {
    let crew = at_the_gate();
    let child = guard(&crew, "10m");
    crew.resolve(&crew.wait_asked("requirements"), "reject", "says nothing about speed");
    let ran = ended(&crew, child);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("it is not `system_architect`'s turn"), "{ran:?}");
    assert!(
        ran.stderr.contains("hint: first, `product_manager` has to finish `requirements`"),
        "{ran:?}"
    );
    assert_eq!(crew.desk.status("requirements"), "in_progress");
}

#[test]
fn nobody_answers_in_time() {
    let crew = at_the_gate();
    let asked = crew.wait_asked("requirements");
    let ran = ended(&crew, guard(&crew, "1s"));
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("anyhook workflow approve requirements"), "{ran:?}");
    // It is as it was: the same question, which is still to be answered.
    let gates = crew.gates();
    assert_eq!(gates.len(), 1, "{gates:?}");
    assert_eq!(gates[0]["inquiry"]["id"], asked.as_str());
    assert!(gates[0]["resolution"].is_null(), "{gates:?}");
    assert_eq!(crew.desk.state()["paused_at"], "requirements");
}

#[test]
fn somebody_approves_it_elsewhere() {
    let crew = at_the_gate();
    let child = guard(&crew, "10m");
    let asked = crew.wait_asked("requirements");
    crew.desk.approve("requirements");
    let ran = ended(&crew, child);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    crew.wait("the question to be withdrawn", || {
        crew.gates().iter().any(|one| {
            one["inquiry"]["id"] == asked.as_str() && one["resolution"]["ending"] == "dismissed"
        })
    });
}

//! Claude Code on a screen, with the daemon: what it waits for is known, and can be answered from
//! elsewhere.

use std::process::Command;

use anyhook_testkit::agents::{AGENT_PATIENCE, AgentSandbox};
use anyhook_testkit::model_server::{ModelTurn, tells};
use anyhook_testkit::{wait_within, write};
use serde_json::Value;

use super::interactive_claude::{DIALOG, Seat, question, shell};

/// Permissions wait for a person.
fn waiting(bed: &mut AgentSandbox) {
    let settings = "[decisions]\nwait = [\"permission\"]\nwait_seconds = 120\n";
    write(&bed.home().join(".config/agents/anyhook.toml"), settings, 0o644);
}

/// Opens an agent that asks before it runs `touch done`.
fn asked() -> Option<(Seat, String)> {
    asked_about("touch done")
}

fn asked_about(command: &str) -> Option<(Seat, String)> {
    let seat = Seat::take(waiting, [shell(command), ModelTurn::text("it rests")])?;
    seat.screen.submit("do it");
    seat.screen.wait_for(DIALOG);
    wait_within(AGENT_PATIENCE, "a decision", || decisions(&seat, &[]).len() == 1);
    let open = decisions(&seat, &[]);
    assert_eq!(open[0]["inquiry"]["kind"], "permission", "{open:#?}");
    assert_eq!(open[0]["inquiry"]["about"], command);
    let agent = agent(&seat).unwrap();
    assert_eq!(agent["state"], "prompting", "{agent:#}");
    assert_eq!(agent["prompt_type"], "permission");
    assert_eq!(agent["decision"], open[0]["inquiry"]["id"]);
    assert!(seat.screen.text().contains(DIALOG) && !seat.exists("done"), "it waits for a person");
    let id = open[0]["inquiry"]["id"].as_str().unwrap().to_owned();
    Some((seat, id))
}

fn decisions(seat: &Seat, more: &[&str]) -> Vec<Value> {
    let arguments = [&["decision", "list", "--json"], more].concat();
    seat.bed.environment().run(&arguments).json().as_array().unwrap().clone()
}

/// Returns how a decision ended, once it has.
fn ended(seat: &Seat, id: &str) -> Value {
    let find = || {
        let all = decisions(seat, &["--all"]);
        let one = all.into_iter().find(|one| one["inquiry"]["id"] == id).unwrap();
        Some(one["resolution"].clone()).filter(Value::is_object)
    };
    wait_within(AGENT_PATIENCE, "the decision's end", || find().is_some());
    find().unwrap()
}

/// Returns the agent, which is the only one.
fn agent(seat: &Seat) -> Option<Value> {
    let listed = seat.bed.environment().run(&["agent", "list", "--all", "--json"]).json();
    assert!(listed.as_array().unwrap().len() < 2, "{listed:#}");
    listed.get(0).cloned()
}

fn wait_for_state(seat: &Seat, state: &str) -> Value {
    let is_so = || agent(seat).is_some_and(|agent| agent["state"] == state);
    wait_within(AGENT_PATIENCE, state, is_so);
    agent(seat).unwrap()
}

/// Returns the journal's records of permission requests.
fn permissions(seat: &Seat) -> Vec<Value> {
    let mut records = seat.bed.environment().journal();
    records.retain(|record| record["native_name"] == "PermissionRequest");
    records
}

#[test]
fn an_answer_from_elsewhere_takes_the_dialog_away() {
    let Some((seat, id)) = asked() else { return };
    let made = seat.bed.environment().run(&["decision", "resolve", &id, "allow"]);
    assert_eq!(made.code, 0, "{made:?}");
    seat.screen.wait_until("no dialog", |text| !text.contains(DIALOG));
    seat.wait_for("Stop", "");
    assert!(seat.exists("done"));
    assert_eq!(ended(&seat, &id)["ending"], "chosen");
    assert_eq!(permissions(&seat)[0]["verdict"]["decision"], "allow");
    wait_for_state(&seat, "idle");
}

#[test]
fn the_model_is_told_why_not() {
    let Some((seat, id)) = asked() else { return };
    let message = ["--message", "not on this branch"];
    let made =
        seat.bed.environment().run(&[&["decision", "resolve", &id, "deny"][..], &message].concat());
    assert_eq!(made.code, 0, "{made:?}");
    seat.screen.wait_until("no dialog", |text| !text.contains(DIALOG));
    seat.wait_for("Stop", "");
    assert!(!seat.exists("done"));
    let requests = seat.screen.model().requests();
    assert_eq!(requests.len(), 2);
    assert!(tells(&requests[1], "not on this branch"), "{:#}", requests[1]);
    wait_for_state(&seat, "idle");
}

#[test]
fn an_answer_in_the_dialog_dismisses_the_decision() {
    let Some((seat, id)) = asked() else { return };
    seat.answer("Enter", DIALOG);
    seat.wait_for("Stop", "");
    assert!(seat.exists("done"));
    let ended = ended(&seat, &id);
    assert_eq!(ended["ending"], "dismissed", "{ended:#}");
    let late = seat.bed.environment().run(&["decision", "resolve", &id, "deny"]);
    assert_ne!(late.code, 0, "nobody waits for it: {late:?}");
    // The hook process has its answer, so it ends by itself.
    seat.wait_for("PermissionRequest", "Shell");
    assert!(permissions(&seat)[0]["verdict"]["decision"].is_null());
    wait_for_state(&seat, "idle");
}

/// At once: not only when the command has ended.
#[test]
fn a_command_that_was_allowed_in_the_dialog_ends_the_decision_while_it_runs() {
    let command = "until [ -e go ]; do sleep 0.1; done; touch 'done'";
    let Some((seat, id)) = asked_about(command) else { return };
    seat.answer("Enter", DIALOG);
    let ended = ended(&seat, &id);
    assert_eq!(ended["ending"], "dismissed", "{ended:#}");
    wait_for_state(&seat, "working");
    assert!(!seat.exists("done"), "it still runs");
    // The process that waited writes its record now, which revives nothing.
    seat.wait_for("PermissionRequest", "Shell");
    assert_eq!(decisions(&seat, &[]), Vec::<Value>::new());
    assert_eq!(agent(&seat).unwrap()["state"], "working");
    write(&seat.bed.project().join("go"), "", 0o644);
    seat.wait_for("Stop", "");
    assert!(seat.exists("done"));
    wait_for_state(&seat, "idle");
}

#[test]
fn escape_dismisses_the_decision() {
    let Some((seat, id)) = asked() else { return };
    seat.answer("Escape", DIALOG);
    let ended = ended(&seat, &id);
    assert_eq!(ended["ending"], "dismissed", "{ended:#}");
    seat.wait_for("PermissionRequest", "Shell");
    assert_eq!(permissions(&seat).len(), 1);
    assert!(!seat.exists("done"));
    assert_eq!(seat.bed.environment().run(&["verify"]).code, 0);
}

#[test]
fn its_state_is_listed() {
    let script = [question(), ModelTurn::text("it rests")];
    let Some(seat) = Seat::take(|_| {}, script) else { return };
    seat.wait_for("SessionStart", "");
    let listed = wait_for_state(&seat, "idle");
    assert_eq!(listed["process"]["pid"], seat.screen.process(), "{listed:#}");
    seat.screen.submit("do it");
    let listed = wait_for_state(&seat, "prompting");
    assert_eq!(listed["prompt_type"], "question", "{listed:#}");
    assert_eq!(listed["source"], "hook");
    seat.screen.wait_for("Which colour?");
    seat.answer("Enter", "Enter to select");
    seat.screen.wait_for("it rests");
    wait_for_state(&seat, "idle");
    assert!(decisions(&seat, &["--all"]).is_empty(), "nobody waits for one");
    seat.screen.submit("/exit");
    let listed = wait_for_state(&seat, "exited");
    assert_eq!(listed["source"], "hook", "{listed:#}");
    let open = seat.bed.environment().run(&["agent", "list", "--json"]).json();
    assert_eq!(open.as_array().map(Vec::len), Some(0), "{open:#}");
    wait_within(AGENT_PATIENCE, "the end", || seat.screen.exit_code() == Some(0));
    assert_eq!(wait_for_state(&seat, "exited")["source"], "hook", "an orderly end stays one");
}

/// Opens an agent that asks a question, and returns the decision about it.
fn asked_a_question() -> Option<(Seat, Value)> {
    let seat = Seat::take(waiting, [question(), ModelTurn::text("it rests")])?;
    seat.screen.submit("do it");
    seat.screen.wait_for("Which colour?");
    wait_within(AGENT_PATIENCE, "a decision", || decisions(&seat, &[]).len() == 1);
    let asked = decisions(&seat, &[]).remove(0)["inquiry"].clone();
    assert_eq!((&asked["kind"], &asked["question"]), (&"question".into(), &"Which colour?".into()));
    assert_eq!(wait_for_state(&seat, "prompting")["prompt_type"], "question");
    Some((seat, asked))
}

#[test]
fn a_question_is_answered_from_elsewhere() {
    for (choice, answer) in [("2", "blue"), ("red", "red"), ("a warm grey", "a warm grey")] {
        let Some((seat, asked)) = asked_a_question() else { return };
        let names: Vec<&Value> =
            asked["options"].as_array().unwrap().iter().map(|option| &option["name"]).collect();
        assert_eq!(names, ["red", "blue", "decline"]);
        assert_eq!(asked["options"][0]["does"], "it is red");
        let id = asked["id"].as_str().unwrap();
        let made = seat.bed.environment().run(&["decision", "resolve", id, choice]);
        assert_eq!((made.code, made.stdout), (0, format!("{id}: {answer}\n")), "{}", made.stderr);
        seat.wait_for("Stop", "");
        let requests = seat.screen.model().requests();
        assert!(tells(&requests[1], &format!("=\"{answer}\"")), "{:#}", requests[1]);
        assert_eq!(decisions(&seat, &["--all"]).len(), 1, "one question, one decision");
        wait_for_state(&seat, "idle");
    }
}

#[test]
fn a_question_is_declined_from_elsewhere() {
    let Some((seat, asked)) = asked_a_question() else { return };
    let id = asked["id"].as_str().unwrap();
    let decline = ["decision", "resolve", id, "decline", "--message", "ask me tomorrow"];
    let made = seat.bed.environment().run(&decline);
    assert_eq!(made.code, 0, "{made:?}");
    seat.wait_for("Stop", "");
    let requests = seat.screen.model().requests();
    assert!(tells(&requests[1], "ask me tomorrow"), "{:#}", requests[1]);
}

#[test]
fn a_question_answered_on_the_screen_ends_its_decision() {
    let Some((seat, asked)) = asked_a_question() else { return };
    seat.answer("Enter", "Enter to select");
    seat.wait_for("Stop", "");
    let requests = seat.screen.model().requests();
    assert!(tells(&requests[1], "red"), "{:#}", requests[1]);
    assert_eq!(ended(&seat, asked["id"].as_str().unwrap())["ending"], "dismissed");
    // The hook process ends, and its late record revives nothing.
    seat.wait_for("PermissionRequest", "AskUserQuestion");
    wait_for_state(&seat, "idle");
    assert!(decisions(&seat, &[]).is_empty());
}

#[test]
fn one_that_is_killed_is_gone() {
    let Some((seat, id)) = asked() else { return };
    let process = seat.screen.process();
    assert_eq!(agent(&seat).unwrap()["process"]["pid"], process);
    let killed = Command::new("kill").args(["-9", &process.to_string()]).status().unwrap();
    assert!(killed.success());
    let listed = wait_for_state(&seat, "gone");
    assert_eq!(listed["source"], "process", "{listed:#}");
    assert_eq!(ended(&seat, &id)["ending"], "dismissed");
}

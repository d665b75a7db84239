//! Claude Code on a screen, wired in with `anyhook install`: what it waits for is in the journal at
//! once, and what it does with hooks that take their time. And Cline.

use std::fs;
use std::path::Path;

use anyhook_testkit::agents::{AGENT_PATIENCE, Agent, AgentSandbox};
use anyhook_testkit::model_server::{ModelTurn, tells};
use anyhook_testkit::wait_within;
use serde_json::json;

use super::interactive_claude::{DIALOG, Seat, question, shell};
use crate::environment;

/// A hook that answers a permission request when it is told to, by a file in the home folder.
fn hesitant(bed: &AgentSandbox, answer: &str) {
    let script = format!(
        "echo $$ >\"$HOME/hesitates\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done\n\
         echo '{{\"decision\": \"{answer}\", \"reason\": \"after some thought\"}}'"
    );
    bed.environment().user_hook("hesitant", "trigger: permission_request", &script);
}

fn go(bed: &AgentSandbox) {
    fs::write(bed.home().join("go"), "").unwrap();
}

#[test]
fn what_it_waits_for_is_in_the_journal() {
    let script = [
        shell("touch one"),
        question(),
        ModelTurn::text("it rests"),
        ModelTurn::refusal(429, "no"),
    ];
    let Some(seat) = Seat::take(|bed| bed.set_variable("CLAUDE_CODE_MAX_RETRIES", "0"), script)
    else {
        return;
    };
    seat.wait_for("SessionStart", "");
    seat.screen.submit("do it");
    seat.wait_for("PermissionRequest", "Shell");
    seat.screen.wait_for(DIALOG);
    assert_eq!(seat.count("Stop"), 0);
    seat.answer("Enter", DIALOG);
    seat.wait_for("PreToolUse", "AskUserQuestion");
    assert!(seat.exists("one"));
    seat.screen.wait_for("Which colour?");
    seat.wait_for("PermissionRequest", "AskUserQuestion");
    seat.answer("Enter", "Enter to select");
    seat.wait_for("Stop", "");
    seat.screen.wait_for("it rests");
    seat.screen.submit("once more");
    seat.wait_for("StopFailure", "");
    let records = seat.bed.environment().journal();
    let failed = records.iter().find(|record| record["native_name"] == "StopFailure").unwrap();
    assert_eq!(failed["event"], "StopFailure");
    assert_eq!(failed["payload"]["error"], "rate_limit", "{failed:#}");
    assert_eq!(seat.count("Stop"), 1, "a turn that failed has not stopped");
    seat.screen.submit("/exit");
    seat.wait_for("SessionEnd", "");
    wait_within(AGENT_PATIENCE, "the end", || seat.screen.exit_code() == Some(0));
    let told = seat.told();
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    let wanted = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "Stop",
        "UserPromptSubmit",
        "StopFailure",
        "SessionEnd",
    ];
    // A slow machine gets notifications as well.
    let names: Vec<&str> = names.into_iter().filter(|name| *name != "Notification").collect();
    assert_eq!(names, wanted);
}

#[test]
fn a_plan_is_a_permission_request_of_its_tool() {
    let plan = ModelTurn::tool("ExitPlanMode", json!({"plan": "1. do it"}));
    let prepare = |bed: &mut AgentSandbox| {
        bed.add_argument("--permission-mode");
        bed.add_argument("plan");
    };
    let Some(seat) = Seat::take(prepare, [plan, ModelTurn::text("it rests")]) else { return };
    seat.screen.submit("plan it");
    seat.wait_for("PreToolUse", "ExitPlanMode");
    seat.wait_for("PermissionRequest", "ExitPlanMode");
    seat.screen.wait_for("Yes, and");
    seat.answer("Enter", "Yes, and");
    seat.wait_for("Stop", "");
}

/// What the person says first counts; the hook is not ended, and its answer comes to nothing.
#[test]
fn a_person_is_faster_than_a_hook() {
    let script = [shell("touch done"), ModelTurn::text("it rests")];
    let Some(seat) = Seat::take(|bed| hesitant(bed, "deny"), script) else { return };
    seat.screen.submit("do it");
    seat.screen.wait_for(DIALOG);
    wait_within(AGENT_PATIENCE, "the hook", || seat.bed.home().join("hesitates").exists());
    assert!(!seat.exists("done"));
    seat.answer("Enter", DIALOG);
    seat.wait_for("Stop", "");
    assert!(seat.exists("done"));
    assert_eq!(seat.count("PermissionRequest"), 0, "the hook has not answered yet");
    go(&seat.bed);
    seat.wait_for("PermissionRequest", "Shell");
    let records = seat.bed.environment().journal();
    let late = records.iter().find(|record| record["native_name"] == "PermissionRequest").unwrap();
    assert_eq!(late["verdict"]["decision"], "deny", "{late:#}");
    let requests = seat.screen.model().requests();
    assert!(!requests.iter().any(|request| tells(request, "after some thought")));
}

/// A hook that answers while the dialog is on the screen takes it away.
#[test]
fn a_hook_is_faster_than_a_person() {
    for (answer, runs) in [("allow", true), ("deny", false)] {
        let script = [shell("touch done"), ModelTurn::text("it rests")];
        let Some(seat) = Seat::take(|bed| hesitant(bed, answer), script) else { return };
        seat.screen.submit("do it");
        seat.screen.wait_for(DIALOG);
        wait_within(AGENT_PATIENCE, "the hook", || seat.bed.home().join("hesitates").exists());
        assert!(seat.screen.text().contains(DIALOG) && !seat.exists("done"));
        go(&seat.bed);
        seat.wait_for("Stop", "");
        seat.screen.wait_until("no dialog", |text| !text.contains(DIALOG));
        assert_eq!(seat.exists("done"), runs, "{answer}");
        let requests = seat.screen.model().requests();
        assert_eq!(requests.len(), 2);
        assert_eq!(tells(&requests[1], "after some thought"), !runs, "{answer}");
    }
}

/// Escape ends the hook that waits, and the session's log is all that tells of it.
#[test]
fn escape_ends_a_waiting_hook() {
    let script = [shell("touch done"), ModelTurn::text("it rests")];
    let Some(seat) = Seat::take(|bed| hesitant(bed, "allow"), script) else { return };
    seat.screen.submit("do it");
    seat.screen.wait_for(DIALOG);
    let hook = || fs::read_to_string(seat.bed.home().join("hesitates")).unwrap_or_default();
    wait_within(AGENT_PATIENCE, "the hook", || hook().ends_with('\n'));
    let process = Path::new("/proc").join(hook().trim());
    assert!(process.exists());
    seat.answer("Escape", DIALOG);
    wait_within(AGENT_PATIENCE, "the hook's end", || !process.exists());
    wait_within(AGENT_PATIENCE, "the log", || seat.log().contains("[Request interrupted by user"));
    assert_eq!(seat.count("Stop"), 0);
    assert!(!seat.exists("done"));
}

/// Asserted so that we notice when it learns to tell.
#[test]
fn a_no_is_not_told() {
    for key in ["4", "Escape"] {
        let Some(seat) = Seat::take(|_| {}, [shell("touch done"), ModelTurn::text("it rests")])
        else {
            return;
        };
        seat.screen.submit("do it");
        seat.wait_for("PermissionRequest", "Shell");
        seat.screen.wait_for(DIALOG);
        seat.answer(key, DIALOG);
        seat.screen.wait_for("Interrupted");
        wait_within(AGENT_PATIENCE, "the log", || {
            seat.log().contains("[Request interrupted by user")
        });
        seat.screen.submit("something else");
        seat.wait_for("Stop", "");
        let told = seat.told();
        let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().filter(|name| *name != "Notification").collect();
        let wanted = [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PermissionRequest",
            "UserPromptSubmit",
            "Stop",
        ];
        assert_eq!(names, wanted, "{key}");
        assert!(!seat.exists("done"));
    }
}

/// Cline on its screen heeds hooks as it does without one. Asserted so that we notice when it learns to
/// tell of prompts.
#[test]
fn cline() {
    let Some(bed) = AgentSandbox::within(environment(), Agent::Cline) else { return };
    let matter = "trigger: before_tool\nmatcher: {tool: Shell, pattern: 'touch forbidden'}";
    bed.environment().user_hook("no-danger", matter, "echo never-do-that >&2\nexit 2");
    assert_eq!(bed.environment().run(&["install", "cline"]).code, 0);
    let script = [
        bed.shell_tool("touch free"),
        bed.shell_tool("touch forbidden"),
        ModelTurn::text("it rests"),
        ModelTurn::text("it is done"),
    ];
    let Some(screen) = bed.open(script) else { return };
    // It shows the place for the prompt before it takes keys.
    screen.press_until("x", "what was typed", |text| text.contains("❯ x"));
    screen.submit(": do it now");
    screen.wait_for("it rests");
    assert!(bed.project().join("free").exists());
    assert!(!bed.project().join("forbidden").exists());
    let requests = screen.model().requests();
    assert!(requests.last().is_some_and(|request| tells(request, "never-do-that")));
    let told = |native: &str| {
        let records = bed.environment().journal();
        records.iter().filter(|record| record["native_name"] == native).count()
    };
    screen.submit("once more");
    screen.wait_for("it is done");
    assert_eq!((told("UserPromptSubmit"), told("PreToolUse")), (0, 2));
}

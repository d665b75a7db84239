//! Journals to sum up, with fixed times.

use anyhook_engine::journal::Journal;
use anyhook_model::{
    Decision, Effect, EventKind, Failure, Lost, Record, RecordId, RunOutcome, RunRecord,
};
use anyhook_testkit::TestEnv;
use jiff::{SignedDuration, Timestamp};

use crate::environment;

/// Makes a record so many minutes after the beginning of March.
pub fn record(number: u64, minutes: i64, host: &str, about: &str) -> Record {
    let start: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
    let at = start + SignedDuration::from_mins(minutes);
    // Odd, so that no two are alike.
    let id = RecordId::from_random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut record = Record::new(id, at, host, EventKind::BeforeTool);
    record.session = Some(format!("{host}-{}", minutes / 2_000));
    record.tool = Some("Shell".to_owned());
    record.about = Some(about.to_owned());
    record.took_us = 1_500;
    record
}

/// Adds a run to a record, and what it says to the verdict.
pub fn add(record: &mut Record, hook: &str, took_us: u64, decision: Decision) {
    if decision.effect > record.verdict.effect {
        record.verdict.effect = decision.effect;
        record.verdict.by = Some(hook.to_owned());
    }
    record.took_us += took_us;
    record.runs.push(RunRecord {
        hook: hook.to_owned(),
        folder: format!("/hooks/{hook}"),
        shadow: false,
        outcome: Some(RunOutcome::Exited(0)),
        decision,
        failure: None,
        notes: Vec::new(),
        stdout: String::new(),
        stderr: String::new(),
        took_us,
    });
}

fn ask() -> Decision {
    Decision { effect: Some(Effect::Ask), ..Decision::default() }
}

/// A week in which nearly everything happens.
fn week() -> Vec<Record> {
    let mut records = Vec::new();
    let days: [i64; 7] = [40, 220, 310, 260, 350, 150, 70];
    let minutes = days.iter().zip(0..).flat_map(|(events, day)| {
        (0..*events).map(move |event| day * 1_440 + event * 1_440 / events)
    });
    for (number, minutes) in (0_u64..).zip(minutes) {
        let host = if number % 3 == 0 { "codex" } else { "claude-code" };
        let mut one = record(number, minutes, host, &format!("make target-{number}"));
        let deny = number % 90 == 7;
        let decision = if deny { Decision::deny("not here") } else { Decision::default() };
        add(&mut one, "guard-shell", 4_000 + number % 50 * 200, decision);
        if number % 4 == 0 && !deny {
            let decision = match number % 40 {
                0 => Decision::deny("this file is not formatted\nrun the formatter"),
                4 => ask(),
                _ => Decision::default(),
            };
            add(&mut one, "lint", 80_000 + number * 400, Decision::default());
            let lint = one.runs.last_mut().unwrap();
            lint.shadow = true;
            lint.decision = decision;
            if number % 200 == 8 {
                lint.decision = Decision::default();
                lint.outcome = Some(RunOutcome::TimedOut(5_000));
                lint.failure = Some("timed out after 5000 ms".to_owned());
                lint.took_us = 5_000_000;
            }
        }
        if number % 25 == 3 {
            add(&mut one, "ask-before-push", 2_500, ask());
            if host == "codex" {
                let instead = "deny, with a reason that explains how to approve".to_owned();
                one.lost = vec![Lost { what: "ask".to_owned(), instead }];
            }
        }
        if number % 400 == 9 {
            add(&mut one, "broken", 1_100, Decision::default());
            one.runs.last_mut().unwrap().failure = Some("exit 1: no such table".to_owned());
        }
        if number % 300 == 11 {
            one.redacted = vec!["github-token".to_owned()];
        }
        records.push(one);
    }
    records.extend(aside_capped_and_ignored());
    records
}

/// A hook that runs aside, a stop that was blocked too often, a denied call that ran.
fn aside_capped_and_ignored() -> Vec<Record> {
    let mut begun = record(5_000, 3_000, "codex", "make it so");
    begun.event = EventKind::AfterTool;
    add(&mut begun, "notify", 900, Decision::default());
    begun.runs[0].outcome = Some(RunOutcome::Detached);
    let mut ended = record(5_001, 3_000, "codex", "make it so");
    ended.event = EventKind::AfterTool;
    ended.of = Some(begun.id.clone());
    add(&mut ended, "notify", 2_345_678, Decision::deny("too late to count"));
    ended.verdict.effect = None;
    let mut stop = record(5_002, 4_000, "claude-code", "done");
    stop.event = EventKind::BeforeStop;
    stop.tool = None;
    add(&mut stop, "green-tests", 8_000_000, Decision::deny("tests fail"));
    stop.verdict.effect = None;
    stop.verdict.capped = true;
    let mut denied = record(5_003, 5_000, "opencode", "rm -rf build");
    add(&mut denied, "guard-shell", 5_000, Decision::deny("not here"));
    let mut ran = record(5_004, 5_001, "opencode", "rm -rf build");
    ran.event = EventKind::AfterTool;
    ran.denied_by = Some(denied.id.clone());
    let mut closed = record(5_005, 6_000, "opencode", "ls");
    add(&mut closed, "strict", 1_000, Decision::default());
    closed.runs[0].failure = Some("exit 127: jq: not found".to_owned());
    closed.verdict.effect = Some(Effect::Deny);
    closed.verdict.failed = vec![Failure {
        hook: "strict".to_owned(),
        why: "exit 127: jq: not found".to_owned(),
        blocked: true,
    }];
    vec![begun, ended, stop, denied, ran, closed]
}

/// Writes a journal.
pub fn write(environment: &TestEnv, records: Vec<Record>) {
    Journal::new(&environment.state()).append(records).unwrap();
}

/// A week's journal and some hooks.
pub fn busy() -> TestEnv {
    let environment = environment();
    write(&environment, week());
    let hook = |name: &str, matter: &str| environment.user_hook(name, matter, "exit 0");
    hook("guard-shell", "trigger: before_tool");
    hook("lint", "trigger: before_tool\nmode: shadow\non_failure: block");
    hook("deploy-window", "trigger: [before_tool, before_stop]\nmatcher: {pattern: deploy}");
    environment.project_hook("stranger", "trigger: before_tool", "exit 0");
    environment
}

/// A journal of two records.
pub fn quiet() -> TestEnv {
    let environment = environment();
    let mut one = record(1, 60, "codex", "ls");
    add(&mut one, "guard", 1_000, Decision::default());
    let mut two = record(2, 125, "codex", "mkfs");
    add(&mut two, "guard", 3_000, Decision::deny("not here"));
    write(&environment, vec![one, two]);
    environment
}

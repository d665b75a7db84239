//! Tests that count handmade records.

use anyhook_engine::discover::InstalledHooks;
use anyhook_model::report::StatsReport;
use anyhook_model::report::stats::ShadowStats;
use anyhook_model::{
    Decision, Effect, EventKind, Failure, Lost, Record, RecordId, RunOutcome, RunRecord,
};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use crate::report::{HookSelection, make};
use crate::shadow::shadow_of;
use crate::tally::{Tally, TallyScope};

fn at(hours: i64) -> Timestamp {
    let start: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
    start + SignedDuration::from_hours(hours)
}

fn record(id: &str, hours: i64, runs: Vec<RunRecord>) -> Record {
    let mut record =
        Record::new(RecordId::from_text(id), at(hours), "codex", EventKind::BeforeTool);
    record.session = Some("one".to_owned());
    record.tool = Some("Shell".to_owned());
    record.about = Some("ls".to_owned());
    record.took_us = runs.iter().map(|run| run.took_us).sum::<u64>() + 100;
    record.verdict.effect =
        runs.iter().filter(|run| !run.shadow).filter_map(|run| run.decision.effect).max();
    record.runs = runs;
    record
}

fn run(hook: &str, took_us: u64) -> RunRecord {
    RunRecord {
        hook: hook.to_owned(),
        folder: String::new(),
        shadow: false,
        outcome: Some(RunOutcome::Exited(0)),
        decision: Decision::default(),
        failure: None,
        notes: Vec::new(),
        stdout: String::new(),
        stderr: String::new(),
        took_us,
    }
}

fn says(hook: &str, effect: Effect) -> RunRecord {
    let decision = Decision { effect: Some(effect), ..Decision::default() };
    RunRecord { decision, ..run(hook, 1_000) }
}

fn fails(hook: &str, why: &str) -> RunRecord {
    RunRecord { failure: Some(why.to_owned()), ..run(hook, 1_000) }
}

fn scope() -> TallyScope {
    TallyScope { keep: 3, ..TallyScope::default() }
}

fn tally(scope: TallyScope, records: &[Record]) -> Tally {
    let mut tally = Tally::new(scope);
    for record in records {
        tally.take(record);
    }
    tally
}

fn report(tally: &Tally) -> StatsReport {
    let installed = InstalledHooks::default();
    make(tally, &HookSelection { installed: &installed, hooks: &[] }, at(100))
}

#[test]
fn what_hooks_said_is_counted() {
    let mut changes = run("guard", 1_000);
    changes.decision.modified_input = Some(serde_json::Map::new());
    let mut elsewhere = record("e", 4, vec![changes.clone()]);
    elsewhere.event = EventKind::AfterTool;
    let counted = tally(
        scope(),
        &[
            record("a", 0, vec![says("guard", Effect::Deny)]),
            record("b", 1, vec![says("guard", Effect::Ask)]),
            record("c", 2, vec![says("guard", Effect::Allow)]),
            record("d", 3, vec![changes]),
            elsewhere,
        ],
    )
    .hook("guard");
    assert_eq!((counted.runs, counted.blocks, counted.asks, counted.allows), (5, 1, 1, 1));
    assert_eq!(counted.input_changes, 1, "after the call there is no input to change");
    assert_eq!(counted.last, Some(at(4)));
}

#[test]
fn a_deny_that_did_not_count_is_no_block() {
    let deny = || vec![says("gate", Effect::Deny)];
    let mut capped = record("a", 0, deny());
    capped.event = EventKind::BeforeStop;
    capped.verdict.effect = None;
    capped.verdict.capped = true;
    let mut after_stop = record("b", 1, deny());
    after_stop.event = EventKind::AfterStop;
    after_stop.with = Some(capped.id.clone());
    let mut aside = record("c", 2, deny());
    aside.of = Some(capped.id.clone());
    aside.verdict.effect = None;
    let tally = tally(scope(), &[capped, after_stop, aside]);
    let counted = tally.hook("gate");
    assert_eq!((counted.runs, counted.blocks, counted.capped), (3, 0, 1));
    let host = &tally.hosts["codex"];
    assert_eq!((host.events, host.denials, host.capped), (2, 0, 1));
}

#[test]
fn a_failure_that_blocks_is_a_block() {
    let mut closed = record("a", 0, vec![fails("guard", "exit 1")]);
    closed.verdict.effect = Some(Effect::Deny);
    closed.verdict.failed =
        vec![Failure { hook: "guard".to_owned(), why: "exit 1".to_owned(), blocked: true }];
    let open = record("b", 1, vec![fails("guard", "exit 1")]);
    let counted = tally(scope(), &[closed, open]).hook("guard");
    assert_eq!((counted.failures, counted.blocks, counted.blocks_by_failure), (2, 1, 1));
}

#[test]
fn an_ask_that_nobody_can_answer_is_a_denial() {
    let mut asked = record("a", 0, vec![says("asker", Effect::Ask)]);
    asked.lost = vec![Lost { what: "ask".to_owned(), instead: "deny, with a reason".to_owned() }];
    let tally = tally(scope(), &[asked, record("b", 1, vec![says("asker", Effect::Ask)])]);
    let host = &tally.hosts["codex"];
    assert_eq!((host.denials, host.asks, host.lost["ask"]), (1, 1, 1));
    assert_eq!(tally.hook("asker").blocks, 0, "the hook did not say so");
}

#[test]
fn a_run_aside_counts_once_with_its_own_time() {
    let begun = RunRecord { outcome: Some(RunOutcome::Detached), ..run("notify", 300) };
    let mut ended = record("b", 1, vec![run("notify", 2_000_000)]);
    ended.of = Some(RecordId::from_text("a"));
    ended.took_us = 2_000_000;
    let lost = RunRecord { outcome: Some(RunOutcome::Detached), ..run("notify", 300) };
    let tally = tally(scope(), &[record("a", 0, vec![begun]), ended, record("c", 2, vec![lost])]);
    let counted = tally.hook("notify");
    assert_eq!((counted.runs, counted.unfinished(), counted.times.sum_us()), (1, 1, 2_000_000));
    let host = &tally.hosts["codex"];
    assert_eq!((host.events, host.times.sum_us()), (2, 800), "the host did not wait for it");
}

#[test]
fn a_hook_that_was_not_started_has_no_time() {
    let unusable = RunRecord { outcome: None, ..fails("broken", "unusable") };
    let late = RunRecord {
        outcome: Some(RunOutcome::NotStarted("too late".to_owned())),
        ..fails("broken", "not started")
    };
    let slow =
        RunRecord { outcome: Some(RunOutcome::TimedOut(500)), ..fails("broken", "timed out") };
    let tally = tally(
        scope(),
        &[record("a", 0, vec![unusable]), record("b", 1, vec![late]), record("c", 2, vec![slow])],
    );
    let counted = tally.hook("broken");
    assert_eq!((counted.runs, counted.timeouts, counted.times.count()), (3, 1, 1));
    assert_eq!(report(&tally).always_failing, ["broken"]);
}

#[test]
fn two_failures_are_not_always() {
    let twice = [0, 1].map(|hour| record("a", hour, vec![fails("broken", "exit 1")]));
    assert!(report(&tally(scope(), &twice)).always_failing.is_empty());
}

#[test]
fn what_a_shadow_hook_would_have_done() {
    let shadow = |run: RunRecord| RunRecord { shadow: true, ..run };
    let deny = |reason: &str| RunRecord { decision: Decision::deny(reason), ..run("lint", 1_000) };
    let both = vec![says("guard", Effect::Deny), shadow(deny("also"))];
    let mut aside = record("g", 6, vec![shadow(deny("too late"))]);
    aside.of = Some(RecordId::from_text("a"));
    let records = [
        record("a", 0, vec![shadow(deny("not so"))]),
        record("b", 1, vec![shadow(run("lint", 1_000))]),
        record("c", 2, vec![shadow(fails("lint", "exit 1"))]),
        record("d", 3, vec![shadow(says("lint", Effect::Ask))]),
        record("e", 4, both),
        record("f", 5, vec![shadow(says("lint", Effect::Allow))]),
        aside,
    ];
    let open = tally(scope(), &records);
    let counted = shadow_of(&open, "lint").unwrap();
    let counts = |shadow: &ShadowStats| {
        let ShadowStats { runs, would_block, would_block_by_failure, blocked_anyway, .. } = *shadow;
        assert_eq!((runs, shadow.would_ask, shadow.failures), (6, 1, 1));
        (would_block, would_block_by_failure, blocked_anyway)
    };
    assert_eq!(counts(&counted), (2, 0, 1));
    let ids = |tally: &Tally| -> Vec<String> {
        shadow_of(tally, "lint").unwrap().last.iter().map(|block| block.id.to_string()).collect()
    };
    assert_eq!(ids(&open), ["e", "a"], "the last first");
    assert_eq!(open.hook("lint").blocks, 0);
    assert_eq!(open.hook("lint").asks, 0);
    let fails_closed = ["lint".to_owned()].into();
    let closed = tally(TallyScope { fails_closed, ..scope() }, &records);
    assert_eq!(ids(&closed), ["e", "c", "a"]);
    assert_eq!(counts(&shadow_of(&closed, "lint").unwrap()), (3, 1, 1));
    assert_eq!(shadow_of(&closed, "guard"), None);
    assert_eq!(shadow_of(&closed, "nobody"), None);
}

#[test]
fn only_the_period_and_the_host_count() {
    let mut elsewhere = record("d", 2, vec![run("guard", 1)]);
    elsewhere.host = "opencode".to_owned();
    let records = [
        record("a", 0, vec![run("guard", 1)]),
        record("b", 1, vec![run("guard", 1)]),
        record("c", 3, vec![run("guard", 1)]),
        elsewhere,
    ];
    let within = TallyScope { since: Some(at(1)), until: Some(at(3)), ..scope() };
    let counted = tally(within.clone(), &records);
    assert_eq!((counted.records, counted.hook("guard").runs), (2, 2));
    assert_eq!(counted.oldest, Some(at(0)), "the journal reaches back further");
    let counted = tally(TallyScope { host: Some("opencode".to_owned()), ..within }, &records);
    assert_eq!((counted.records, counted.hosts.len()), (1, 1));
}

#[test]
fn sessions_of_two_hosts_are_two() {
    let mut elsewhere = record("b", 1, vec![run("guard", 3_000)]);
    elsewhere.host = "opencode".to_owned();
    let mut nowhere = record("c", 2, vec![run("guard", 90_000)]);
    nowhere.session = None;
    let again = record("d", 3, vec![run("guard", 2_000)]);
    let tally =
        tally(scope(), &[record("a", 0, vec![run("guard", 1_000)]), elsewhere, nowhere, again]);
    let report = report(&tally);
    assert_eq!(report.sessions, 2);
    let guard = &report.hooks[0].all;
    assert_eq!((guard.sessions, guard.per_session_us), (2, Some(3_000)));
    let codex = &report.hosts[0];
    assert_eq!((codex.host.as_str(), codex.sessions), ("codex", 1));
    assert_eq!((codex.session_median_us, codex.session_max_us), (Some(3_200), Some(3_200)));
}

#[test]
fn steps_are_hours_or_days() {
    let records = [0, 1, 1, 5].map(|hour| record("a", hour, vec![run("guard", 1)]));
    let hourly = TallyScope { since: Some(at(0)), until: Some(at(6)), ..scope() };
    let counted = report(&tally(hourly, &records));
    assert_eq!(counted.hooks[0].all.runs_per_step, [1, 2, 0, 0, 0, 1]);
    let steps = counted.steps.unwrap();
    assert_eq!((steps.unit.as_str(), steps.start, steps.count), ("hour", at(0), 6));
    let records = [0, 23, 24, 80].map(|hour| record("a", hour, vec![says("guard", Effect::Deny)]));
    let daily = TallyScope { since: Some(at(0)), until: Some(at(96)), ..scope() };
    let counted = report(&tally(daily, &records));
    assert_eq!(counted.hooks[0].all.blocks_per_step, [2, 1, 0, 1]);
    assert_eq!(counted.steps.unwrap().unit, "day");
}

#[test]
fn steps_begin_with_the_journal_if_it_is_shorter() {
    let records = [30, 31].map(|hour| record("a", hour, vec![run("guard", 1)]));
    let long = TallyScope { since: Some(at(-1_000_000)), until: Some(at(32)), ..scope() };
    let mut counted = tally(long, &records);
    assert_eq!(report(&counted).steps.unwrap().count, 2);
    assert_eq!(report(&counted).reaches_back_to, Some(at(30)));
    counted.has_older = true;
    assert_eq!(report(&counted).reaches_back_to, None);
    assert_eq!(report(&counted).steps.unwrap().count, 1000, "no more are told");
}

#[test]
fn failures_are_grouped_and_bounded() {
    let mut records: Vec<Record> = (0..400)
        .map(|number| record("a", number, vec![fails("broken", &format!("exit {number}"))]))
        .collect();
    records.push(record("z", 500, vec![fails("broken", "exit 7\nand more")]));
    records.push(record("y", 499, vec![fails("broken", "exit 7\nand more")]));
    let counted = tally(scope(), &records).hook("broken");
    assert_eq!(counted.failures, 402);
    assert!(counted.messages.len() <= 201, "{}", counted.messages.len());
    assert_eq!(counted.messages.values().map(|group| group.count).sum::<u64>(), 402);
    let few = tally(scope(), &records[400..]);
    let group = &report(&few).hooks[0].failure_messages[0];
    assert_eq!((group.message.as_str(), group.count), ("exit 7…", 2));
    assert_eq!(group.last_id.as_str(), "z");
}

/// Arbitrary records.
fn any_record() -> impl Strategy<Value = Record> {
    let run_record = (0..3_usize, 0..5_u8, any::<bool>(), 0..5_000_000_u64).prop_map(
        |(hook, kind, shadow, took_us)| {
            let hook = ["guard", "lint", "notify"][hook];
            let base = match kind {
                0 => run(hook, took_us),
                1 => says(hook, Effect::Deny),
                2 => says(hook, Effect::Ask),
                3 => fails(hook, "exit 1"),
                _ => RunRecord { outcome: Some(RunOutcome::Detached), ..run(hook, took_us) },
            };
            RunRecord { shadow, ..base }
        },
    );
    let runs = prop::collection::vec(run_record, 0..4);
    (any::<u64>(), 0..200_i64, 0..3_usize, 0..4_usize, any::<bool>(), runs).prop_map(
        |(id, hours, host, session, aside, runs)| {
            let mut record = record("", hours, runs);
            record.id = RecordId::from_random(id);
            ["codex", "opencode", "claude-code"][host].clone_into(&mut record.host);
            record.session = ["one", "two", "three"].get(session).map(|name| (*name).to_owned());
            record.of = aside.then(|| RecordId::from_text("of"));
            record
        },
    )
}

proptest! {
    #[test]
    fn the_order_of_records_does_not_matter(
        records in prop::collection::vec(any_record(), 0..40),
    ) {
        let mut other = records.clone();
        other.sort_by_key(|record| record.id.clone());
        let json = |records: &[Record]| {
            serde_json::to_value(report(&tally(scope(), records))).unwrap()
        };
        prop_assert_eq!(json(&records), json(&other));
    }

    #[test]
    fn hosts_add_up_to_the_hook(records in prop::collection::vec(any_record(), 0..40)) {
        let report = report(&tally(scope(), &records));
        for hook in &report.hooks {
            let sum = |number: fn(&anyhook_model::report::stats::RunStats) -> u64| {
                hook.hosts.iter().map(|at| number(&at.stats)).sum::<u64>()
            };
            prop_assert_eq!(hook.all.runs, sum(|stats| stats.runs));
            prop_assert_eq!(hook.all.blocks, sum(|stats| stats.blocks));
            prop_assert_eq!(hook.all.sessions, sum(|stats| stats.sessions));
            prop_assert_eq!(hook.all.runs, hook.all.runs_per_step.iter().sum::<u64>());
            prop_assert!(hook.all.failures <= hook.all.runs);
        }
    }
}

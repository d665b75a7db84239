use anyhook_model::FailureKind;
use anyhook_model::bus::{AgentFailed, AgentPrompt, AgentSignal};

use super::*;

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn report(source: StateSource, at: i64) -> AgentReport {
    AgentReport { agent: "a".to_owned(), source, at: Some(second(at)), ..AgentReport::default() }
}

fn works(source: StateSource, at: i64) -> BusEvent {
    BusEvent::AgentWorking(report(source, at))
}

fn idle(source: StateSource, at: i64) -> BusEvent {
    BusEvent::AgentIdle(report(source, at))
}

fn prompt(source: StateSource, at: i64, prompt_type: PromptType) -> BusEvent {
    BusEvent::AgentPrompt(AgentPrompt { report: report(source, at), prompt_type })
}

/// Returns the effect of the last event, and the agent after it.
fn after(events: &[BusEvent]) -> (Applied, Agent) {
    let mut agents = Agents::default();
    let mut heard = Applied::Same;
    for event in events {
        heard = agents.hear(event, second(1_000)).unwrap();
    }
    (heard, agents.get("a").unwrap().clone())
}

#[test]
fn two_sources_of_one_rest_are_one() {
    let (heard, agent) = after(&[
        works(StateSource::Hook, 1),
        idle(StateSource::Hook, 2),
        idle(StateSource::Notification, 62),
        idle(StateSource::Log, 3),
    ]);
    assert_eq!(heard, Applied::Same);
    assert_eq!(
        (agent.state, agent.source, agent.since),
        (AgentState::Idle, StateSource::Hook, second(2))
    );
    assert_eq!(agent.rest(), Some(1));
    let (_, agent) = after(&[
        works(StateSource::Hook, 1),
        idle(StateSource::Hook, 2),
        works(StateSource::Hook, 3),
        idle(StateSource::Hook, 4),
    ]);
    assert_eq!(agent.rest(), Some(2), "a new rest");
}

#[test]
fn what_it_did_is_over_when_it_is_idle_whoever_tells() {
    let mut call = report(StateSource::Hook, 1);
    call.tool = Some("Shell".to_owned());
    call.about = Some("make".to_owned());
    let begun = BusEvent::AgentWorking(call);
    for source in [StateSource::Hook, StateSource::Notification, StateSource::Log] {
        let (_, agent) = after(&[begun.clone(), idle(source, 9)]);
        assert_eq!((agent.tool, agent.about, agent.call), (None, None, None), "{source:?}");
    }
    let (_, agent) = after(&[begun.clone(), BusEvent::AgentGone(report(StateSource::Process, 9))]);
    assert_eq!((agent.tool, agent.about), (None, None));
    let (_, agent) = after(&[begun, works(StateSource::Log, 9)]);
    assert_eq!(agent.about.as_deref(), Some("make"), "a log that says less keeps what is known");
}

#[test]
fn the_answer_to_one_prompt_is_not_that_to_another() {
    let of_call = |call: &str, at| {
        let mut report = report(StateSource::Hook, at);
        report.call = Some(call.to_owned());
        report
    };
    let asks = |call: &str, at| {
        let prompt_type = PromptType::Permission;
        BusEvent::AgentPrompt(AgentPrompt { report: of_call(call, at), prompt_type })
    };
    let both = [works(StateSource::Hook, 1), asks("one", 2), asks("two", 3)];
    let at_prompt = AgentState::Prompting(PromptType::Permission);
    // The record of the first question, with its answer, and the host's report about it.
    let answered = BusEvent::AgentWorking(of_call("one", 2));
    let replied = BusEvent::AgentWorking(AgentReport { call_ended: true, ..of_call("one", 4) });
    for event in [answered, replied] {
        let (heard, agent) = after(&[&both[..], &[event]].concat());
        assert_eq!((heard, agent.state), (Applied::Dropped(DropReason::Outranked), at_prompt));
    }
    let replied = BusEvent::AgentWorking(AgentReport { call_ended: true, ..of_call("two", 4) });
    let (_, agent) = after(&[&both[..], &[replied]].concat());
    assert_eq!(agent.state, AgentState::Working);
    let (_, agent) = after(&[&both[..], &[BusEvent::AgentWorking(of_call("three", 4))]].concat());
    assert_eq!(agent.state, AgentState::Working, "it went on");
}

#[test]
fn a_late_log_does_not_wake_an_agent() {
    let (heard, agent) = after(&[
        works(StateSource::Hook, 1),
        idle(StateSource::Hook, 5),
        works(StateSource::Log, 4),
    ]);
    assert_eq!(heard, Applied::Dropped(DropReason::Late));
    assert_eq!((agent.state, agent.rest()), (AgentState::Idle, Some(1)));
    let (_, agent) = after(&[
        works(StateSource::Hook, 1),
        idle(StateSource::Hook, 5),
        works(StateSource::Log, 6),
    ]);
    assert_eq!(agent.state, AgentState::Working, "a newer one does");
}

#[test]
fn a_prompt_outranks_second_hand_idleness_and_ends_with_the_turn() {
    let asks = prompt(StateSource::Hook, 2, PromptType::Permission);
    for source in [StateSource::Notification, StateSource::Log] {
        let (heard, agent) = after(&[works(StateSource::Hook, 1), asks.clone(), idle(source, 3)]);
        assert_eq!(heard, Applied::Dropped(DropReason::Outranked));
        assert_eq!(agent.state, AgentState::Prompting(PromptType::Permission));
    }
    let (_, agent) = after(&[works(StateSource::Hook, 1), asks, idle(StateSource::Hook, 3)]);
    assert_eq!((agent.state, agent.rest()), (AgentState::Idle, Some(3)));
}

#[test]
fn a_guess_does_not_count_where_hooks_will_tell() {
    let likely =
        || BusEvent::AgentIdle(AgentReport { likely: true, ..report(StateSource::Log, 3) });
    let (heard, agent) = after(&[works(StateSource::Hook, 1), likely()]);
    assert_eq!((heard, agent.state), (Applied::Dropped(DropReason::Unsure), AgentState::Working));
    let (_, agent) = after(&[works(StateSource::Log, 1), likely()]);
    assert_eq!(agent.state, AgentState::Idle);
    let (_, agent) = after(&[works(StateSource::Hook, 1), idle(StateSource::Log, 3)]);
    assert_eq!(agent.state, AgentState::Idle, "a log that is certain counts");
}

#[test]
fn a_turn_that_a_person_broke_off_leaves_no_prompt() {
    let asks = prompt(StateSource::Hook, 2, PromptType::Permission);
    let report = AgentReport { broken_off: true, ..report(StateSource::Log, 3) };
    let (heard, agent) = after(&[works(StateSource::Hook, 1), asks, BusEvent::AgentIdle(report)]);
    assert_eq!((heard, agent.state), (Applied::Changed, AgentState::Idle));
}

#[test]
fn a_question_outranks_a_permission() {
    let question = prompt(StateSource::Hook, 2, PromptType::Question);
    let permission = prompt(StateSource::Hook, 3, PromptType::Permission);
    let (heard, agent) = after(&[question.clone(), permission.clone()]);
    assert_eq!((heard, agent.state), (Applied::Same, AgentState::Prompting(PromptType::Question)));
    let (heard, agent) = after(&[permission, question]);
    assert_eq!(
        (heard, agent.state),
        (Applied::Changed, AgentState::Prompting(PromptType::Question))
    );
}

#[test]
fn a_prompt_told_of_again_is_the_same() {
    let permission = |source, at| prompt(source, at, PromptType::Permission);
    let (heard, agent) =
        after(&[permission(StateSource::Hook, 2), permission(StateSource::Notification, 10)]);
    assert_eq!((heard, agent.since), (Applied::Same, second(2)));
    for first in [StateSource::Notification, StateSource::Log, StateSource::Screen] {
        let (heard, agent) = after(&[permission(first, 2), permission(StateSource::Hook, 3)]);
        assert_eq!(
            (heard, agent.source),
            (Applied::Same, StateSource::Hook),
            "another saw it first"
        );
    }
    let mut other = report(StateSource::Hook, 20);
    other.about = Some("another call".to_owned());
    let other = AgentPrompt { report: other, prompt_type: PromptType::Permission };
    let (heard, agent) = after(&[permission(StateSource::Hook, 2), BusEvent::AgentPrompt(other)]);
    assert_eq!(
        (heard, agent.rest()),
        (Applied::Changed, Some(2)),
        "another call is another prompt"
    );
}

#[test]
fn a_call_that_ends_beside_a_prompt_does_not_end_it() {
    let of_call = |call: &str, at, call_ended| {
        let call = Some(call.to_owned());
        AgentReport { call, call_ended, ..report(StateSource::Hook, at) }
    };
    let asks = |call| {
        let prompt_type = PromptType::Permission;
        BusEvent::AgentPrompt(AgentPrompt { report: of_call(call, 2, false), prompt_type })
    };
    let ended = |call| BusEvent::AgentWorking(of_call(call, 3, true));
    let (heard, agent) = after(&[works(StateSource::Hook, 1), asks("one"), ended("other")]);
    assert_eq!(heard, Applied::Dropped(DropReason::Outranked));
    assert_eq!(agent.state, AgentState::Prompting(PromptType::Permission));
    let (_, agent) = after(&[works(StateSource::Hook, 1), asks("one"), ended("one")]);
    assert_eq!(agent.state, AgentState::Working);
    let begins = BusEvent::AgentWorking(of_call("other", 3, false));
    let (_, agent) = after(&[works(StateSource::Hook, 1), asks("one"), begins]);
    assert_eq!(agent.state, AgentState::Working, "the next call begins: somebody answered");
}

#[test]
fn a_tool_is_named_while_it_runs() {
    let of_shell = |at, call_ended| {
        let tool = Some("Shell".to_owned());
        BusEvent::AgentWorking(AgentReport { tool, call_ended, ..report(StateSource::Hook, at) })
    };
    let (_, agent) = after(&[of_shell(1, false)]);
    assert_eq!(agent.tool.as_deref(), Some("Shell"));
    let (_, agent) = after(&[of_shell(1, false), of_shell(2, true)]);
    assert_eq!((agent.state, agent.tool), (AgentState::Working, None));
}

#[test]
fn another_subagent_does_not_end_a_prompt() {
    let of = |subagent: &str, at| {
        let subagent = Some(subagent.to_owned());
        AgentReport { subagent, ..report(StateSource::Hook, at) }
    };
    let prompt_type = PromptType::Permission;
    let asks = BusEvent::AgentPrompt(AgentPrompt { report: of("one", 2), prompt_type });
    let (heard, agent) =
        after(&[works(StateSource::Hook, 1), asks.clone(), BusEvent::AgentWorking(of("two", 3))]);
    assert_eq!(heard, Applied::Dropped(DropReason::Outranked));
    assert_eq!(agent.state, AgentState::Prompting(PromptType::Permission));
    let (_, agent) =
        after(&[works(StateSource::Hook, 1), asks, BusEvent::AgentWorking(of("one", 3))]);
    assert_eq!(agent.state, AgentState::Working);
}

#[test]
fn a_clock_that_goes_back_keeps_nobody_from_beginning_anew() {
    let exited = BusEvent::AgentExited(report(StateSource::Hook, 100));
    let (_, agent) = after(&[exited.clone(), BusEvent::AgentInput(report(StateSource::Hook, 50))]);
    assert_eq!(agent.state, AgentState::Working);
    let (heard, _) = after(&[exited, works(StateSource::Hook, 50)]);
    assert_eq!(heard, Applied::Dropped(DropReason::Late));
}

#[test]
fn a_prompt_of_type_idle_is_idleness() {
    let (_, agent) = after(&[
        works(StateSource::Hook, 1),
        prompt(StateSource::Notification, 2, PromptType::Idle),
    ]);
    assert_eq!(agent.state, AgentState::Idle);
}

#[test]
fn an_agent_that_is_over_comes_back_by_its_host_alone() {
    let gone = BusEvent::AgentGone(report(StateSource::Process, 3));
    let (_, agent) = after(&[works(StateSource::Hook, 1), gone.clone()]);
    assert_eq!((agent.state, agent.source), (AgentState::Gone, StateSource::Process));
    let (heard, _) =
        after(&[works(StateSource::Hook, 1), gone.clone(), idle(StateSource::Notification, 9)]);
    assert_eq!(heard, Applied::Dropped(DropReason::Over));
    let (_, agent) = after(&[works(StateSource::Hook, 1), gone, works(StateSource::Hook, 9)]);
    assert_eq!(agent.state, AgentState::Working, "its session was resumed");
}

#[test]
fn an_orderly_end_is_not_made_a_disorderly_one() {
    let exited = BusEvent::AgentExited(report(StateSource::Hook, 2));
    let (heard, agent) = after(&[exited, BusEvent::AgentGone(report(StateSource::Process, 3))]);
    assert_eq!((heard, agent.state), (Applied::Same, AgentState::Exited));
}

#[test]
fn another_process_of_the_same_number_is_not_the_agents() {
    let process = |started| Some(ProcessName { pid: 7, started, namespace: None });
    let mut first = report(StateSource::Hook, 1);
    first.process = process(100);
    let mut other = report(StateSource::Process, 2);
    other.process = process(200);
    let (heard, _) = after(&[BusEvent::AgentWorking(first), BusEvent::AgentGone(other)]);
    assert_eq!(heard, Applied::Dropped(DropReason::OtherProcess));
}

#[test]
fn a_fresh_agent_is_idle_and_rests_not() {
    let mut fresh = report(StateSource::Hook, 1);
    fresh.fresh = true;
    let (_, agent) = after(&[BusEvent::AgentIdle(fresh.clone())]);
    assert_eq!((agent.state, agent.rest()), (AgentState::Idle, None));
    let (_, agent) = after(&[
        BusEvent::AgentIdle(fresh),
        works(StateSource::Hook, 2),
        idle(StateSource::Hook, 3),
    ]);
    assert_eq!(agent.rest(), Some(1));
}

#[test]
fn a_failed_turn_is_a_rest_and_a_signal_is_no_state() {
    let failed = BusEvent::AgentFailed(AgentFailed {
        report: report(StateSource::Hook, 2),
        kind: FailureKind::RateLimited,
        message: None,
    });
    let signal = BusEvent::AgentSignal(AgentSignal {
        report: report(StateSource::Signal, 3),
        ..AgentSignal::default()
    });
    let (heard, agent) = after(&[works(StateSource::Hook, 1), failed, signal]);
    assert_eq!(heard, Applied::Same);
    assert_eq!(
        (agent.state, agent.rest()),
        (AgentState::Failed(FailureKind::RateLimited), Some(1))
    );
}

fn failed(at: i64) -> BusEvent {
    BusEvent::AgentFailed(AgentFailed {
        report: report(StateSource::Hook, at),
        ..AgentFailed::default()
    })
}

#[test]
fn a_failed_turn_outranks_that_it_is_over() {
    for source in [StateSource::Hook, StateSource::Notification, StateSource::Log] {
        let (heard, agent) = after(&[works(StateSource::Hook, 1), failed(2), idle(source, 3)]);
        assert_eq!(heard, Applied::Dropped(DropReason::Outranked));
        assert_eq!(agent.state, AgentState::Failed(FailureKind::Other));
    }
    let mut fresh = report(StateSource::Hook, 3);
    fresh.fresh = true;
    let (_, agent) = after(&[works(StateSource::Hook, 1), failed(2), BusEvent::AgentIdle(fresh)]);
    assert_eq!((agent.state, agent.rest()), (AgentState::Idle, None), "it was started again");
}

#[test]
fn a_fresh_agent_that_fails_rests_each_time() {
    let fresh = |at| {
        let report = AgentReport { fresh: true, ..report(StateSource::Hook, at) };
        BusEvent::AgentIdle(report)
    };
    let (_, agent) = after(&[fresh(1), failed(2)]);
    assert_eq!(agent.rest(), Some(1));
    let (_, agent) = after(&[fresh(1), failed(2), fresh(3), failed(4)]);
    assert_eq!(agent.rest(), Some(2), "another rest");
}

#[test]
fn what_happened_before_the_end_brings_nobody_back() {
    let exited = BusEvent::AgentExited(report(StateSource::Hook, 3));
    let (heard, agent) = after(&[works(StateSource::Hook, 1), exited, idle(StateSource::Hook, 2)]);
    assert_eq!((heard, agent.state), (Applied::Dropped(DropReason::Late), AgentState::Exited));
}

#[test]
fn there_is_room_for_so_many_agents() {
    let mut agents = Agents::default();
    for number in 0..REMEMBERED + 10 {
        let mut report = report(StateSource::Hook, i64::try_from(number).unwrap());
        report.agent = format!("agent-{number}");
        agents.hear(&BusEvent::AgentWorking(report), second(0));
    }
    assert_eq!(agents.len(), REMEMBERED);
    assert!(agents.get("agent-0").is_none(), "the most silent went first");
}

/// A hook process that waits for a person writes its record when it ends, with the time of the event.
#[test]
fn a_prompt_that_was_answered_on_the_screen_is_not_revived_by_its_late_record() {
    let of_call = |at, call_ended| {
        let call = Some("one".to_owned());
        AgentReport { call, call_ended, ..report(StateSource::Hook, at) }
    };
    let asks = || {
        let prompt_type = PromptType::Permission;
        BusEvent::AgentPrompt(AgentPrompt { report: of_call(2, false), prompt_type })
    };
    let ended = BusEvent::AgentWorking(of_call(5, true));
    let begins = |at| BusEvent::AgentInput(report(StateSource::Hook, at));
    for went_on in [
        vec![ended.clone()],
        vec![ended.clone(), idle(StateSource::Hook, 6)],
        vec![works(StateSource::Hook, 5)],
        vec![idle(StateSource::Hook, 5)],
        vec![begins(5)],
    ] {
        let mut story = vec![works(StateSource::Hook, 1), asks()];
        story.extend(went_on);
        let (_, before) = after(&story);
        story.push(asks());
        let (heard, agent) = after(&story);
        assert_eq!(heard, Applied::Dropped(DropReason::Late), "{story:?}");
        assert_eq!((agent.state, agent.rest()), (before.state, before.rest()), "{story:?}");
    }
    // The same call again is another prompt.
    let again = AgentPrompt { report: of_call(7, false), prompt_type: PromptType::Permission };
    let (heard, _) = after(&[asks(), ended, BusEvent::AgentPrompt(again)]);
    assert_eq!(heard, Applied::Changed);
    // The end of another call does not affect this one.
    let other = AgentReport { call: Some("other".to_owned()), ..of_call(5, true) };
    let (heard, _) = after(&[works(StateSource::Hook, 1), BusEvent::AgentWorking(other), asks()]);
    assert_eq!(heard, Applied::Changed);
    // Nor does the activity of a subagent.
    let other = AgentReport { subagent: Some("s".to_owned()), ..report(StateSource::Hook, 5) };
    let (heard, _) = after(&[works(StateSource::Hook, 1), BusEvent::AgentWorking(other), asks()]);
    assert_eq!(heard, Applied::Changed);
}

/// A call that is made twice has the same digest both times.
#[test]
fn what_is_told_late_of_a_call_says_nothing_of_the_same_call_made_again() {
    let of_call = |at, call_ended| {
        let call = Some("one".to_owned());
        AgentReport { call, call_ended, ..report(StateSource::Hook, at) }
    };
    let asks = |at| {
        let prompt_type = PromptType::Question;
        BusEvent::AgentPrompt(AgentPrompt { report: of_call(at, false), prompt_type })
    };
    let ended = |at| BusEvent::AgentWorking(of_call(at, true));
    let again = [asks(2), ended(4), asks(6)];
    let (_, before) = after(&again);
    let (heard, agent) = after(&[&again[..], &[ended(3)]].concat());
    assert_eq!(heard, Applied::Dropped(DropReason::Outranked), "the answer to the first question");
    assert_eq!((agent.state, agent.rest()), (before.state, before.rest()));
    let story = [&again[..], &[ended(8), ended(3), asks(6)]].concat();
    let (heard, agent) = after(&story);
    assert_eq!((heard, agent.state), (Applied::Dropped(DropReason::Late), AgentState::Working));
}

/// A notification and a look at the screen name no call: what is older than the agent's latest
/// report is over.
#[test]
fn a_prompt_that_was_answered_is_not_revived_by_what_was_seen_before() {
    let of_call = |at, call_ended| {
        let call = Some("one".to_owned());
        BusEvent::AgentWorking(AgentReport { call, call_ended, ..report(StateSource::Hook, at) })
    };
    for source in [StateSource::Notification, StateSource::Screen] {
        let seen = |at| prompt(source, at, PromptType::Permission);
        for went_on in [of_call(5, true), works(StateSource::Hook, 5), idle(StateSource::Hook, 5)] {
            let story = [of_call(1, false), seen(2), went_on.clone()];
            let (_, before) = after(&story);
            assert_ne!(before.state, AgentState::Prompting(PromptType::Permission));
            let (heard, agent) = after(&[&story[..], &[seen(4)]].concat());
            assert_eq!(heard, Applied::Dropped(DropReason::Late), "{went_on:?}");
            assert_eq!((agent.state, agent.rest()), (before.state, before.rest()));
            let (heard, _) = after(&[&story[..], &[seen(6)]].concat());
            assert_eq!(heard, Applied::Changed, "the next prompt");
        }
    }
}

/// The screen reports late that a dialog is gone: the time when it last showed it counts.
#[test]
fn a_dialog_that_is_gone_says_nothing_of_what_came_after_it() {
    let asks = |source, at| prompt(source, at, PromptType::Permission);
    let gone = |at| works(StateSource::Screen, at);
    let (heard, agent) =
        after(&[asks(StateSource::Notification, 1), asks(StateSource::Screen, 2), gone(3)]);
    assert_eq!((heard, agent.state), (Applied::Changed, AgentState::Working));
    // The next prompt is reported before the screen was looked at again.
    let story = [
        asks(StateSource::Screen, 2),
        works(StateSource::Hook, 3),
        asks(StateSource::Notification, 4),
    ];
    let (_, before) = after(&story);
    let (heard, agent) = after(&[&story[..], &[gone(2), asks(StateSource::Screen, 5)]].concat());
    assert_eq!((heard, agent.rest()), (Applied::Same, before.rest()), "one prompt is one rest");
    // The turn is over by that time.
    let (heard, agent) =
        after(&[asks(StateSource::Screen, 2), idle(StateSource::Hook, 3), gone(2)]);
    assert_eq!((heard, agent.state), (Applied::Dropped(DropReason::Late), AgentState::Idle));
}

#[test]
fn a_prompt_that_is_seen_on_the_screen_is_still_that_of_its_call() {
    let of_call = |at, call_ended| {
        let (call, tool) = (Some("one".to_owned()), Some("Shell".to_owned()));
        BusEvent::AgentWorking(AgentReport {
            call,
            tool,
            call_ended,
            ..report(StateSource::Hook, at)
        })
    };
    let mut seen = report(StateSource::Screen, 3);
    seen.about = Some("Allow it?".to_owned());
    let seen = AgentPrompt { report: seen, prompt_type: PromptType::Permission };
    let told = prompt(StateSource::Notification, 2, PromptType::Permission);
    let story = [of_call(1, false), told, BusEvent::AgentPrompt(seen)];
    let (heard, agent) = after(&story);
    assert_eq!(heard, Applied::Same);
    assert_eq!((agent.about.as_deref(), agent.tool.as_deref()), (Some("Allow it?"), Some("Shell")));
    let (_, agent) = after(&[&story[..], &[of_call(4, true)]].concat());
    assert_eq!(agent.state, AgentState::Working, "its end is the prompt's");
}

#[test]
fn a_late_record_of_a_turn_that_is_over_changes_nothing() {
    let begins = |at| BusEvent::AgentInput(report(StateSource::Hook, at));
    let (heard, agent) =
        after(&[works(StateSource::Hook, 1), begins(5), idle(StateSource::Hook, 4)]);
    assert_eq!((heard, agent.state), (Applied::Dropped(DropReason::Late), AgentState::Working));
    let (heard, agent) = after(&[
        works(StateSource::Hook, 1),
        idle(StateSource::Hook, 5),
        works(StateSource::Hook, 4),
    ]);
    assert_eq!((heard, agent.state), (Applied::Dropped(DropReason::Late), AgentState::Idle));
}

/// The log reports the end of a turn a moment after the hook has, and what we type in between is
/// not the agent's activity.
#[test]
fn the_log_of_a_rest_that_was_nudged_is_the_same_rest() {
    let nudge = || BusEvent::AgentInput(report(StateSource::Signal, 3));
    let story = [
        works(StateSource::Hook, 1),
        idle(StateSource::Hook, 2),
        nudge(),
        idle(StateSource::Log, 4),
    ];
    let (heard, agent) = after(&story);
    assert_eq!((heard, agent.state), (Applied::Dropped(DropReason::SameRest), AgentState::Working));
    // Once it reacted, by its own events or in its log, the next rest is another.
    for source in [StateSource::Hook, StateSource::Log] {
        let mut story = story.to_vec();
        story.extend([works(source, 5), idle(StateSource::Log, 6)]);
        let (heard, agent) = after(&story);
        assert_eq!((heard, agent.rest()), (Applied::Changed, Some(3)), "{source:?}");
    }
}

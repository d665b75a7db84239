use anyhook_model::approval_request::Choice;
use anyhook_model::bus::{AgentPrompt, AgentReport, AgentSignal, AlarmReport, SignalKind};
use anyhook_model::{AgentState, Alarm, AlarmKind, PromptType, StateSource};

use super::apply::ALARMS_AT_ONCE;
use super::*;
use crate::agents::DropReason;

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn report(at: i64) -> AgentReport {
    AgentReport {
        agent: "a".to_owned(),
        source: StateSource::Hook,
        at: Some(second(at)),
        ..AgentReport::default()
    }
}

fn prompt(at: i64) -> BusEvent {
    let prompt_type = PromptType::Permission;
    BusEvent::AgentPrompt(AgentPrompt { report: report(at), prompt_type })
}

fn inquiry(id: &str, created: i64) -> ApprovalRequest {
    ApprovalRequest {
        id: RecordId::from_text(id),
        kind: ApprovalKind::Permission,
        agent: "a".to_owned(),
        question: "May it?".to_owned(),
        hook: None,
        tool: None,
        about: None,
        digest: None,
        calls: Vec::new(),
        options: vec![Choice::new("allow", ""), Choice::new("deny", "")],
        questions: Vec::new(),
        created: second(created),
        until: Some(second(created + 60)),
    }
}

fn all() -> BTreeSet<NoticeKind> {
    [
        NoticeKind::Decision,
        NoticeKind::Prompt,
        NoticeKind::Idle,
        NoticeKind::Failed,
        NoticeKind::Gone,
    ]
    .into()
}

fn happened(state: &mut DaemonState, at: i64, event: BusEvent) -> StateEffects {
    state.apply(&StateEntry { at: second(at), what: EntryKind::Happened(Box::new(event)) }, &all())
}

/// Returns how many notices an event causes, as if each were sent at once.
fn notices(state: &mut DaemonState, at: i64, event: BusEvent) -> usize {
    happened(state, at, event);
    std::mem::take(&mut state.outbox.notices).len()
}

#[test]
fn one_notice_for_a_decision_and_none_beside_it() {
    let mut state = DaemonState::default();
    let created = BusEvent::DecisionCreated(inquiry("x", 1));
    assert_eq!(notices(&mut state, 1, created.clone()), 1);
    assert_eq!(notices(&mut state, 1, created), 0, "asked on");
    assert_eq!(notices(&mut state, 1, prompt(1)), 0, "the decision tells of it");
}

#[test]
fn one_notice_a_rest() {
    let mut state = DaemonState::default();
    assert_eq!(notices(&mut state, 1, BusEvent::AgentWorking(report(1))), 0);
    assert_eq!(notices(&mut state, 2, BusEvent::AgentIdle(report(2))), 1);
    let mut again = report(60);
    again.source = StateSource::Notification;
    assert_eq!(notices(&mut state, 60, BusEvent::AgentIdle(again)), 0);
    assert_eq!(notices(&mut state, 61, BusEvent::AgentWorking(report(61))), 0);
    assert_eq!(notices(&mut state, 62, BusEvent::AgentIdle(report(62))), 1);
}

#[test]
fn only_what_is_wanted_is_told() {
    let mut state = DaemonState::default();
    let idle = StateEntry {
        at: second(1),
        what: EntryKind::Happened(Box::new(BusEvent::AgentIdle(report(1)))),
    };
    assert_eq!(state.apply(&idle, &[NoticeKind::Prompt].into()), StateEffects::default());
    assert!(state.outbox.notices.is_empty());
}

#[test]
fn a_notice_is_kept_until_it_was_handed_over() {
    let mut state = DaemonState::default();
    happened(&mut state, 1, BusEvent::DecisionCreated(inquiry("x", 1)));
    let name = state.outbox.notices.first().cloned().unwrap();
    let launched = StateEntry { at: second(2), what: EntryKind::NoticeLaunched(name.clone()) };
    assert_eq!(state.apply(&launched, &all()), StateEffects::default());
    assert!(state.outbox.notices.is_empty());
}

#[test]
fn alarms_wait_for_their_notice_and_a_flood_is_bounded() {
    let wanted = BTreeSet::from([NoticeKind::Alarm]);
    let raised = |id: usize| {
        let report = AlarmReport {
            record: RecordId::from_text(format!("r{id}")),
            agent: "codex:s".to_owned(),
            host: "codex".to_owned(),
            project: None,
            session: None,
            call: None,
            at: second(1),
            alarms: vec![Alarm::new(AlarmKind::GuardChanged, "it no longer exists")],
        };
        let event = Box::new(BusEvent::AlarmRaised(report));
        StateEntry { at: second(1), what: EntryKind::Happened(event) }
    };
    let mut state = DaemonState::default();
    assert_eq!(state.apply(&raised(0), &all()), StateEffects::default());
    assert_eq!(
        (state.outbox.alarms.len(), state.outbox.notices.len()),
        (0, 0),
        "nobody wants to know"
    );
    for _ in 0..2 {
        state.apply(&raised(0), &wanted);
    }
    assert_eq!((state.outbox.alarms.len(), state.outbox.notices.len()), (1, 1));
    let name = state.outbox.notices.first().cloned().unwrap();
    state.apply(&StateEntry { at: second(2), what: EntryKind::NoticeLaunched(name) }, &wanted);
    assert_eq!((state.outbox.alarms.len(), state.outbox.notices.len()), (0, 0));
    for id in 0..1000 {
        state.apply(&raised(id), &wanted);
    }
    assert_eq!(
        (state.outbox.alarms.len(), state.outbox.notices.len()),
        (ALARMS_AT_ONCE, ALARMS_AT_ONCE)
    );
}

#[test]
fn the_first_answer_is_told_and_written_down_once() {
    let mut state = DaemonState::default();
    happened(&mut state, 1, BusEvent::DecisionCreated(inquiry("x", 1)));
    let answer =
        state.inquiries.answer("x", "allow", &[], None, "ann".to_owned(), second(2)).unwrap();
    let effects = happened(&mut state, 2, BusEvent::DecisionResolved(answer.clone()));
    assert_eq!(effects.answers, std::slice::from_ref(&answer));
    assert_eq!(effects.followed, []);
    assert!(state.outbox.journal_lines.values().eq([&answer]));
    let other = Resolution { choice: Some("deny".to_owned()), ..answer.clone() };
    let effects = happened(&mut state, 3, BusEvent::DecisionResolved(other));
    assert_eq!(effects, StateEffects::default());
    assert_eq!(state.outbox.journal_lines.values().collect::<Vec<_>>(), [&answer]);
    state.apply(
        &StateEntry { at: second(4), what: EntryKind::Journaled(answer.id.clone()) },
        &all(),
    );
    assert!(state.outbox.journal_lines.is_empty());
}

#[test]
fn answers_are_written_down_in_the_order_in_which_they_were_given() {
    let mut state = DaemonState::default();
    for (at, id) in [(1, "z"), (2, "a")] {
        happened(&mut state, at, BusEvent::DecisionCreated(inquiry(id, at)));
        let by = "ann".to_owned();
        let answer = state.inquiries.answer(id, "allow", &[], None, by, second(at)).unwrap();
        happened(&mut state, at, BusEvent::DecisionResolved(answer));
    }
    let lines = state.outbox.journal_lines_by_time();
    let ids: Vec<&str> = lines.iter().map(|resolution| resolution.id.as_str()).collect();
    assert_eq!(ids, ["z", "a"]);
}

/// Returns whether an event resolves the open decision.
fn overtakes(state: &DaemonState, event: BusEvent) -> bool {
    let mut state = state.clone();
    let effects = happened(&mut state, 20, event);
    assert_eq!(!effects.answers.is_empty(), state.inquiries.open().count() == 0);
    state.inquiries.open().count() == 0
}

#[test]
fn a_decision_is_dismissed_when_the_agent_goes_on() {
    let mut state = DaemonState::default();
    let mut asked = inquiry("x", 10);
    asked.digest = Some("abcdef".to_owned());
    happened(&mut state, 10, BusEvent::DecisionCreated(asked));
    let of_call = |call: &str, at, call_ended| AgentReport {
        call: Some(call.to_owned()),
        call_ended,
        ..report(at)
    };
    let prompt_type = PromptType::Permission;
    let asks = AgentPrompt { report: of_call("abc", 10, false), prompt_type };
    happened(&mut state, 10, BusEvent::AgentPrompt(asks));
    let ended = |call: &str, at| BusEvent::AgentWorking(of_call(call, at, true));
    assert!(!overtakes(&state, prompt(11)));
    assert!(!overtakes(&state, BusEvent::AgentWorking(report(12))), "calls run beside each other");
    assert!(!overtakes(&state, ended("xyz", 12)), "another call");
    assert!(!overtakes(&state, BusEvent::AgentIdle(report(9))), "before it was asked");
    assert!(overtakes(&state, ended("abc", 12)));
    assert!(overtakes(&state, BusEvent::AgentIdle(report(12))));
    assert!(overtakes(&state, BusEvent::AgentInput(report(12))));
    assert!(overtakes(&state, BusEvent::AgentGone(report(12))));
    let other = AgentReport { agent: "b".to_owned(), ..report(12) };
    assert!(!overtakes(&state, BusEvent::AgentIdle(other)), "another agent");
    let told = AgentReport { source: StateSource::Notification, ..report(12) };
    assert!(!overtakes(&state, BusEvent::AgentInput(told)), "anybody can say so");
    let log = AgentReport { source: StateSource::Log, ..report(12) };
    assert!(!overtakes(&state, BusEvent::AgentIdle(log.clone())), "it is outranked");
    let broken_off = AgentReport { broken_off: true, ..log };
    assert!(overtakes(&state, BusEvent::AgentIdle(broken_off)));
}

#[test]
fn a_command_that_runs_was_allowed_elsewhere() {
    let mut state = DaemonState::default();
    let digest = "ab".repeat(32);
    let call = digest[..32].to_owned();
    let asked = ApprovalRequest { digest: Some(digest), ..inquiry("x", 10) };
    let other = ApprovalRequest { digest: Some("cd".repeat(32)), ..inquiry("y", 10) };
    happened(&mut state, 10, BusEvent::DecisionCreated(asked.clone()));
    happened(&mut state, 10, BusEvent::DecisionCreated(other));
    let prompt_type = PromptType::Permission;
    let of_call = AgentReport { call: Some(call), ..report(10) };
    let asks = BusEvent::AgentPrompt(AgentPrompt { report: of_call, prompt_type });
    happened(&mut state, 10, asks.clone());
    happened(&mut state, 12, crate::approval_requests::call_runs(&asked, second(12)));
    let open: Vec<&str> = state.inquiries.open().map(|open| open.id.as_str()).collect();
    assert_eq!(open, ["y"], "the other call is still asked about");
    assert_eq!(state.agents.get("a").unwrap().state, AgentState::Working);
    // The process that waited for the answer ends only now, and writes its record.
    let effects = happened(&mut state, 13, asks);
    assert!(effects.dropped.is_some(), "{effects:?}");
    assert_eq!(state.agents.get("a").unwrap().state, AgentState::Working);
}

#[test]
fn a_gate_is_about_no_agent() {
    let mut state = DaemonState::default();
    let gate = ApprovalRequest { kind: ApprovalKind::Gate, ..inquiry("x", 10) };
    assert_eq!(notices(&mut state, 10, BusEvent::DecisionCreated(gate)), 1);
    assert!(state.agents.get("a").is_none());
    assert!(!overtakes(&state, BusEvent::AgentIdle(report(12))));
    assert!(!overtakes(&state, BusEvent::AgentGone(report(12))));
}

#[test]
fn an_agent_that_asks_for_a_person_gets_a_decision_with_the_event_itself() {
    let mut state = DaemonState::default();
    let record = Some(RecordId::from_text("r"));
    let signal = AgentSignal {
        report: AgentReport { record, ..report(10) },
        kind: SignalKind::Escalate,
        message: Some("look".to_owned()),
    };
    let signal = BusEvent::AgentSignal(signal);
    let effects = happened(&mut state, 10, signal.clone());
    assert!(effects.answers.is_empty() && effects.dropped.is_none(), "{effects:?}");
    assert_eq!(effects.followed.len(), 1, "{effects:?}");
    happened(&mut state, 11, signal);
    assert_eq!(state.inquiries.open().count(), 1, "read twice, it is one");
    // A request that an agent made itself stays open until the agent has ended.
    assert!(!overtakes(&state, BusEvent::AgentIdle(report(12))));
    assert!(overtakes(&state, BusEvent::AgentExited(report(12))));
}

#[test]
fn a_session_that_a_host_has_for_itself_is_no_agent() {
    let mut state = DaemonState::default();
    let of = |session: &str, at, source| {
        let (host, session) = (Some("codex".to_owned()), Some(session.to_owned()));
        AgentReport { host, session, source, ..report(at) }
    };
    happened(&mut state, 1, BusEvent::AgentWorking(of("own", 1, StateSource::Hook)));
    let title = BusEvent::AgentIdle(of("title", 2, StateSource::Notification));
    let effects = happened(&mut state, 2, title);
    let dropped = Some(DropReason::OtherSession.words());
    assert_eq!(effects, StateEffects { dropped, ..StateEffects::default() });
    assert_eq!(state.agents.iter().count(), 1);
    assert_eq!(state.agents.get("a").unwrap().state, AgentState::Working);
}

#[test]
fn an_agent_inside_an_agent_is_another() {
    let of = |session: &str, at, event: fn(AgentReport) -> BusEvent| {
        let (host, session) = (Some("claude-code".to_owned()), Some(session.to_owned()));
        event(AgentReport { host, session, ..report(at) })
    };
    let mut state = DaemonState::default();
    happened(&mut state, 1, of("outer", 1, BusEvent::AgentWorking));
    happened(&mut state, 2, of("inner", 2, BusEvent::AgentWorking));
    happened(&mut state, 3, of("inner", 3, BusEvent::AgentExited));
    assert_eq!(state.agents.get("a").unwrap().state, AgentState::Working);
    assert_eq!(state.agents.get("claude-code:inner").unwrap().state, AgentState::Exited);
    happened(&mut state, 4, of("outer", 4, BusEvent::AgentExited));
    happened(&mut state, 5, of("next", 5, BusEvent::AgentWorking));
    assert_eq!(state.agents.get("a").unwrap().session.as_deref(), Some("next"), "it began anew");
}

#[test]
fn a_state_survives_json_and_a_fold_is_a_fold() {
    let event = |event| EntryKind::Happened(Box::new(event));
    let entries: Vec<StateEntry> = [
        event(BusEvent::AgentWorking(report(1))),
        event(BusEvent::DecisionCreated(inquiry("x", 2))),
        event(prompt(2)),
        EntryKind::JournalRead(serde_json::json!({"segment": "00000001.jsonl", "offset": 17})),
        EntryKind::LogRead("/log".to_owned(), serde_json::json!(5)),
        event(BusEvent::AgentIdle(report(5))),
    ]
    .into_iter()
    .map(|what| StateEntry { at: second(9), what })
    .collect();
    let mut whole = DaemonState::default();
    for (cut, entry) in entries.iter().enumerate() {
        let text = serde_json::to_string(&whole).unwrap();
        let mut resumed: DaemonState = serde_json::from_str(&text).unwrap();
        assert_eq!(resumed, whole);
        for entry in &entries[cut..] {
            let text = serde_json::to_string(entry).unwrap();
            resumed.apply(&serde_json::from_str(&text).unwrap(), &all());
        }
        whole.apply(entry, &all());
        let mut rest = whole.clone();
        for entry in &entries[cut + 1..] {
            rest.apply(entry, &all());
        }
        assert_eq!(resumed, rest);
    }
}

/// Allows a call for the rest of the session `s` of `a`.
fn with_standing(state: &mut DaemonState) -> ApprovalRequest {
    let in_session = AgentReport { session: Some("s".to_owned()), ..report(1) };
    happened(state, 1, BusEvent::AgentWorking(in_session));
    let inquiry = ApprovalRequest {
        tool: Some("Shell".to_owned()),
        digest: Some("d".to_owned()),
        ..inquiry("abc", 2)
    };
    happened(state, 2, BusEvent::DecisionCreated(inquiry.clone()));
    let answer =
        state.inquiries.answer("abc", "allow", &[], None, "ann".to_owned(), second(3)).unwrap();
    state.inquiries.may_stand(&answer).unwrap();
    happened(state, 3, BusEvent::DecisionResolved(Resolution { again: true, ..answer }));
    inquiry
}

#[test]
fn an_answer_stands_for_exactly_the_same_call_of_the_session() {
    let mut state = DaemonState::default();
    let asked = with_standing(&mut state);
    let stands = |inquiry: &ApprovalRequest, session| {
        state.inquiries.standing_for(inquiry, session).is_some()
    };
    assert!(stands(&asked, Some("s")));
    assert!(!stands(&asked, Some("t")), "another session");
    assert!(!stands(&asked, None));
    let changed = |change: fn(&mut ApprovalRequest)| {
        let mut other = asked.clone();
        change(&mut other);
        other
    };
    for other in [
        changed(|other| other.digest = Some("e".to_owned())),
        changed(|other| other.digest = None),
        changed(|other| other.tool = Some("Edit".to_owned())),
        changed(|other| other.agent = "b".to_owned()),
        changed(|other| other.kind = ApprovalKind::Ask),
    ] {
        assert!(!stands(&other, Some("s")), "{other:?}");
    }
}

#[test]
fn a_standing_answer_ends_with_the_session_or_when_it_is_revoked() {
    let in_session = |session: &str| AgentReport { session: Some(session.to_owned()), ..report(9) };
    for end in [
        BusEvent::AgentExited(in_session("s")),
        BusEvent::AgentGone(AgentReport { source: StateSource::Process, ..report(9) }),
        BusEvent::AgentIdle(AgentReport { fresh: true, ..in_session("t") }),
        BusEvent::DecisionRevoked(anyhook_model::approval_request::Claim {
            id: RecordId::from_text("abc"),
            agent: "a".to_owned(),
            by: "ann".to_owned(),
            at: second(9),
            process: None,
        }),
    ] {
        let mut state = DaemonState::default();
        with_standing(&mut state);
        happened(&mut state, 8, BusEvent::AgentWorking(in_session("s")));
        assert_eq!(state.inquiries.standing().count(), 1);
        happened(&mut state, 9, end.clone());
        assert_eq!(state.inquiries.standing().count(), 0, "{end:?}");
    }
}

#[test]
fn only_an_allowed_call_can_be_allowed_again() {
    let mut state = DaemonState::default();
    let asked = ApprovalRequest { digest: Some("d".to_owned()), ..inquiry("abc", 1) };
    happened(&mut state, 1, BusEvent::DecisionCreated(asked));
    happened(&mut state, 1, BusEvent::DecisionCreated(inquiry("xyz", 1)));
    let may = |id: &str, choice: &str| {
        let answer =
            state.inquiries.answer(id, choice, &[], None, "ann".to_owned(), second(3)).unwrap();
        state.inquiries.may_stand(&answer)
    };
    assert_eq!(may("abc", "allow"), Ok(()));
    assert_eq!(may("abc", "deny"), Err("only `allow` can be repeated for the same call"));
    assert_eq!(may("xyz", "allow"), Err("it is not about a call of a tool"));
}

#[test]
fn an_agent_is_told_of_by_its_name() {
    let mut state = DaemonState::default();
    let known = AgentReport {
        agent: "codex:s".to_owned(),
        host: Some("codex".to_owned()),
        session: Some("s".to_owned()),
        project: Some("/p/shop".to_owned()),
        ..report(1)
    };
    happened(&mut state, 1, BusEvent::AgentWorking(known));
    assert_eq!(state.agent_name("codex:s").as_deref(), Some("codex-shop"));
    let by_hand = AgentReport {
        agent: "codex-shop".to_owned(),
        source: StateSource::Notification,
        at: Some(second(2)),
        ..AgentReport::default()
    };
    happened(&mut state, 2, BusEvent::AgentIdle(by_hand));
    assert_eq!(state.agents.len(), 1);
    assert_eq!(state.agents.get("codex:s").unwrap().state, AgentState::Idle);
}

#[test]
fn a_claim_takes_the_notice_back_and_is_told_with_the_answer() {
    let mut state = DaemonState::default();
    happened(&mut state, 1, BusEvent::DecisionCreated(inquiry("abc", 1)));
    assert_eq!(state.outbox.notices.len(), 1);
    let claim = anyhook_model::approval_request::Claim {
        id: RecordId::from_text("abc"),
        agent: "a".to_owned(),
        by: "ann".to_owned(),
        at: second(2),
        process: None,
    };
    happened(&mut state, 2, BusEvent::DecisionClaimed(claim));
    assert!(state.outbox.notices.is_empty());
    let claimed_by = |by: &str| {
        let answer = state.inquiries.answer("abc", "1", &[], None, by.to_owned(), second(3));
        answer.unwrap().claimed_by
    };
    assert_eq!(claimed_by("bob").as_deref(), Some("ann"));
    assert_eq!(claimed_by("ann"), None);
}

//! Tests of sessions from the journal, and from the daemon.

use anyhook_model::bus::AgentReport;
use anyhook_model::{AgentState, Effect, Payload, PromptType, RecordId};
use jiff::SignedDuration;

use super::*;
use crate::examples::{agent, later, noon, record};

fn event(name: &str, session: &str, agent: Option<&str>) -> Record {
    let mut record = record(name);
    record.session = Some(session.to_owned());
    record.agent = agent.map(str::to_owned);
    record
}

#[test]
fn a_subagent_is_shown_with_its_session_and_does_not_speak_for_it() {
    let mut sessions = SessionTable::default();
    sessions.feed(&event("before_agent", "one", None));
    sessions.feed(&event("subagent_start", "one", Some("sub")));
    sessions.feed(&event("before_tool", "one", Some("sub")));
    sessions.feed(&event("subagent_stop", "one", Some("sub")));
    let rows = sessions.rows();
    let [(_, session)] = rows[..] else { panic!("one session: {rows:?}") };
    assert_eq!((session.events, session.agents.len()), (4, 1));
    assert_eq!(session.doing().state, AgentState::Working);
    assert!(session.agents[0].1.is_done);
    assert_eq!(sessions.row_keys().len(), 2);

    sessions.feed(&event("before_agent", "one", None));
    assert_eq!(sessions.row_keys().len(), 1, "a new turn");
    sessions.feed(&event("subagent_stop", "one", None));
    assert_eq!(sessions.rows()[0].1.doing().state, AgentState::Working, "not told which one");
}

#[test]
fn sessions_stand_by_host_the_newest_first_and_the_ended_last() {
    let mut sessions = SessionTable::default();
    for (host, session, name) in [
        ("codex", "a", "before_agent"),
        ("claude-code", "b", "before_agent"),
        ("codex", "c", "session_end"),
        ("codex", "d", "before_agent"),
        ("codex", "a", "before_tool"),
    ] {
        let mut record = event(name, session, None);
        record.host = host.to_owned();
        sessions.feed(&record);
    }
    let order: Vec<_> = sessions.rows().iter().filter_map(|(key, _)| key.id.as_deref()).collect();
    assert_eq!(order, ["b", "d", "a", "c"]);
    assert_eq!(sessions.open(), 3);
}

#[test]
fn without_an_id_a_folder_is_a_session() {
    let mut sessions = SessionTable::default();
    for folder in ["/one", "/two", "/one"] {
        let mut record = record("before_tool");
        record.session = None;
        folder.clone_into(&mut record.work_dir);
        sessions.feed(&record);
    }
    assert_eq!(sessions.rows().len(), 2);
}

#[test]
fn memory_is_bounded() {
    let mut sessions = SessionTable::default();
    for number in 0..KEEP + 10 {
        let mut record = event("before_tool", &format!("s{number}"), None);
        record.at = later(number);
        sessions.feed(&record);
    }
    assert_eq!(sessions.rows().len(), KEEP);
    let oldest = sessions.rows().pop().and_then(|(key, _)| key.id.clone());
    assert_eq!(oldest.as_deref(), Some("s10"));
    for number in 0..KEEP_AGENTS + 10 {
        sessions.feed(&event("before_tool", "s20", Some(&format!("agent-{number}"))));
    }
    let most = sessions.rows().iter().map(|(_, session)| session.agents.len()).max();
    assert_eq!(most, Some(KEEP_AGENTS));
}

/// Returns the message for each session, by host and id.
fn words(sessions: &SessionTable) -> Vec<(String, String)> {
    let words = |session: &SessionRow| session.doing().words(SignedDuration::ZERO).1;
    let id = |key: &SessionKey| key.id.clone().unwrap_or_default();
    sessions.rows().iter().map(|(key, session)| (id(key), words(session))).collect()
}

/// Returns the message after events with the tool `Shell`.
fn after(records: &[Record]) -> String {
    let mut sessions = SessionTable::default();
    for record in records {
        sessions.feed(record);
    }
    words(&sessions).remove(0).1
}

#[test]
fn events_tell_what_an_agent_does() {
    for (name, expected) in [
        ("session_start", "idle"),
        ("before_agent", "working"),
        ("before_tool", "running Shell"),
        ("after_tool", "working"),
        ("after_tool_failure", "working"),
        ("permission_request", "prompting (permission)"),
        ("before_stop", "idle"),
        ("session_end", "exited"),
        ("SomethingNew", "working"),
    ] {
        let mut record = record(name);
        record.tool = name.contains("tool").then(|| "Shell".to_owned());
        assert_eq!(after(&[record]), expected, "{name}");
    }
    let mut question = record("before_tool");
    (question.host, question.tool) = ("claude-code".into(), Some("AskUserQuestion".into()));
    assert_eq!(after(&[question]), "prompting (question)");
}

#[test]
fn verdicts_count() {
    let decided = |name: &str, effect| {
        let mut record = record(name);
        record.tool = Some("Shell".to_owned());
        record.verdict.effect = Some(effect);
        after(&[record])
    };
    assert_eq!(decided("before_tool", Effect::Deny), "working", "it does not begin");
    assert_eq!(decided("before_tool", Effect::Ask), "prompting (permission)");
    assert_eq!(decided("before_tool", Effect::Allow), "running Shell");
    assert_eq!(decided("before_stop", Effect::Deny), "working", "the gate holds");
    assert_eq!(decided("permission_request", Effect::Allow), "running Shell");
    assert_eq!(decided("permission_request", Effect::Deny), "working");
}

#[test]
fn what_the_daemon_says_goes_before_the_journal() {
    let mut sessions = SessionTable::default();
    sessions.feed(&event("before_agent", "one", None));
    let mut asks = agent("codex:one", "prompting");
    asks.prompt_type = Some(PromptType::PlanApproval);
    let over = agent("codex:old", "gone");
    sessions.hear_daemon(Some(&[asks, agent("kimi:logs", "idle"), agent("mine", "working"), over]));
    let expected = [("one", "prompting (plan_approval)"), ("logs", "idle"), ("mine", "working")];
    assert_eq!(words(&sessions), expected.map(|(id, words)| (id.to_owned(), words.to_owned())));
    assert_eq!(sessions.rows()[1].1.project, "/home/me/shop");
    assert_eq!(sessions.rows()[0].1.last_at(), later(30), "the daemon heard of it later");

    sessions.hear_daemon(Some(&[agent("codex:one", "gone"), agent("kimi:logs", "exited")]));
    let expected = [("one", "gone"), ("logs", "exited")];
    assert_eq!(words(&sessions), expected.map(|(id, words)| (id.to_owned(), words.to_owned())));
    assert_eq!(sessions.open(), 0);

    sessions.hear_daemon(None);
    assert_eq!(words(&sessions), [("one".to_owned(), "working".to_owned())], "the journal alone");
}

#[test]
fn an_agent_with_an_id_of_its_own_is_one_row() {
    let mut sessions = SessionTable::default();
    let mut record = event("before_agent", "one", None);
    record.agent_id = Some("mine".to_owned());
    sessions.feed(&record);
    sessions.hear_daemon(Some(&[agent("mine", "idle")]));
    assert_eq!(words(&sessions), [("one".to_owned(), "idle".to_owned())]);
}

#[test]
fn what_was_emitted_counts_without_a_daemon() {
    let mut sessions = SessionTable::default();
    sessions.feed(&event("before_agent", "one", None));
    let mut emit = |id: &str| {
        let report = AgentReport { agent: id.to_owned(), ..AgentReport::default() };
        let idle = BusEvent::AgentIdle(report);
        sessions.feed(&bus_event::record(RecordId::from_text("7k2m9x4r"), noon(), &idle));
    };
    emit("codex:one");
    emit("mine");
    let mut other = record("decision:resolved");
    OURS.clone_into(&mut other.host);
    other.payload = Some(Payload::new(b"{}"));
    sessions.feed(&other);
    let expected = [("one", "idle"), ("mine", "idle")];
    assert_eq!(words(&sessions), expected.map(|(id, words)| (id.to_owned(), words.to_owned())));
}

#[test]
fn agents_of_the_daemon_are_bounded_too() {
    let mut sessions = SessionTable::default();
    let many: Vec<_> = (0..KEEP + 10).map(|number| agent(&format!("a:{number}"), "idle")).collect();
    sessions.hear_daemon(Some(&many));
    sessions.feed(&event("before_agent", "one", None));
    assert_eq!(sessions.rows().len(), KEEP);
}

//! The sessions of all agents, and the subagents within them.

use std::collections::BTreeMap;

use anyhook_model::{EventKind, Record};
use jiff::Timestamp;

use super::state::State;

/// So many sessions are kept; the one silent for longest goes first.
const KEEP: usize = 500;
/// So many subagents of a session are kept.
const KEEP_AGENTS: usize = 20;

/// What tells sessions apart: the host, and its id of the session.
///
/// Without an id all that happens in one folder counts as one session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionKey {
    /// The host.
    pub host: String,
    /// The host's id of the session.
    pub id: Option<String>,
    /// The folder, where there is no id.
    folder: Option<String>,
}

impl SessionKey {
    /// Returns the session a record belongs to.
    pub fn of(record: &Record) -> Self {
        let folder = record.session.is_none().then(|| record.work_dir.clone());
        Self { host: record.host.clone(), id: record.session.clone(), folder }
    }
}

/// One session.
#[derive(Debug)]
pub struct Session {
    /// The folder it works in.
    pub project: String,
    /// How many events it sent.
    pub events: usize,
    /// How many of them were denied.
    pub denials: usize,
    /// The main agent, or all there is to know.
    pub main: Activity,
    /// Its subagents by id, oldest first.
    pub agents: Vec<(String, Activity)>,
    /// The later, the higher.
    order: u64,
}

/// What an agent did last.
#[derive(Clone, Debug)]
pub struct Activity {
    /// What it does.
    pub state: State,
    /// Its last event.
    pub event: EventKind,
    /// When that was.
    pub at: Timestamp,
}

impl Activity {
    fn new(record: &Record) -> Self {
        Self { state: State::Working.after(record), event: record.event.clone(), at: record.at }
    }

    fn feed(&mut self, record: &Record) {
        self.state = self.state.clone().after(record);
        self.event = record.event.clone();
        self.at = record.at;
    }
}

/// A row of the view: a session, or with an agent's id one of its subagents.
pub type RowKey = (SessionKey, Option<String>);

/// All sessions.
#[derive(Debug, Default)]
pub struct Sessions {
    sessions: BTreeMap<SessionKey, Session>,
    seen: u64,
}

impl Sessions {
    /// Takes an event in.
    pub fn feed(&mut self, record: &Record) {
        self.seen += 1;
        let project = record.project_dir.as_ref().unwrap_or(&record.work_dir);
        let session = self.sessions.entry(SessionKey::of(record)).or_insert_with(|| Session {
            project: project.clone(),
            events: 0,
            denials: 0,
            main: Activity { state: State::Working, ..Activity::new(record) },
            agents: Vec::new(),
            order: self.seen,
        });
        session.feed(record);
        if self.sessions.len() > KEEP {
            let oldest = self.sessions.iter().min_by_key(|(_, session)| session.last_at());
            if let Some(key) = oldest.map(|(key, _)| key.clone()) {
                self.sessions.remove(&key);
            }
        }
    }

    /// Returns how many sessions have not ended.
    pub fn open(&self) -> usize {
        self.sessions.values().filter(|session| session.main.state != State::Ended).count()
    }

    /// Returns the sessions by host: those that have ended last, else the newest first.
    pub fn rows(&self) -> Vec<(&SessionKey, &Session)> {
        let mut rows: Vec<_> = self.sessions.iter().collect();
        rows.sort_by_key(|(key, session)| {
            (&key.host, session.main.state == State::Ended, std::cmp::Reverse(session.order))
        });
        rows
    }

    /// Returns the keys of all rows as they are shown.
    pub fn row_keys(&self) -> Vec<RowKey> {
        let with_agents = |(key, session): (&SessionKey, &Session)| {
            let agents = session.agents.iter().map(|(agent, _)| Some(agent.clone()));
            let key = key.clone();
            std::iter::once(None).chain(agents).map(move |agent| (key.clone(), agent)).collect()
        };
        self.rows().into_iter().flat_map::<Vec<_>, _>(with_agents).collect()
    }
}

impl Session {
    fn feed(&mut self, record: &Record) {
        self.events += 1;
        self.denials += usize::from(record.denies());
        let Some(agent) = &record.agent else {
            self.main.feed(record);
            match record.event {
                // A host that does not name its subagents: this is not the end of the main one.
                EventKind::SubagentStop => self.main.state = State::Working,
                EventKind::SessionEnd => self.agents.clear(),
                // A new turn: who was done before is of no interest any more.
                EventKind::BeforeAgent => {
                    self.agents.retain(|(_, activity)| activity.state != State::Stopped);
                }
                _ => {}
            }
            return;
        };
        match self.agents.iter_mut().find(|(id, _)| id == agent) {
            Some((_, activity)) => activity.feed(record),
            None => self.agents.push((agent.clone(), Activity::new(record))),
        }
        if self.agents.len() > KEEP_AGENTS {
            let oldest = self.agents.iter().enumerate().min_by_key(|(_, (_, agent))| agent.at);
            if let Some(index) = oldest.map(|(index, _)| index) {
                self.agents.remove(index);
            }
        }
    }

    fn last_at(&self) -> Timestamp {
        self.agents.iter().map(|(_, agent)| agent.at).fold(self.main.at, Timestamp::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::top::examples::{later, record};

    fn event(name: &str, session: &str, agent: Option<&str>) -> Record {
        let mut record = record(name);
        record.session = Some(session.to_owned());
        record.agent = agent.map(str::to_owned);
        record
    }

    #[test]
    fn a_subagent_is_shown_with_its_session_and_does_not_speak_for_it() {
        let mut sessions = Sessions::default();
        sessions.feed(&event("before_agent", "one", None));
        sessions.feed(&event("subagent_start", "one", Some("sub")));
        sessions.feed(&event("before_tool", "one", Some("sub")));
        sessions.feed(&event("subagent_stop", "one", Some("sub")));
        let rows = sessions.rows();
        let [(_, session)] = rows[..] else { panic!("one session: {rows:?}") };
        assert_eq!((session.events, session.agents.len()), (4, 1));
        assert_eq!(session.main.state, State::Working);
        assert_eq!(session.agents[0].1.state, State::Stopped);
        assert_eq!(sessions.row_keys().len(), 2);

        sessions.feed(&event("before_agent", "one", None));
        assert_eq!(sessions.row_keys().len(), 1, "a new turn");
        sessions.feed(&event("subagent_stop", "one", None));
        assert_eq!(sessions.rows()[0].1.main.state, State::Working, "not told which one");
    }

    #[test]
    fn sessions_stand_by_host_the_newest_first_and_the_ended_last() {
        let mut sessions = Sessions::default();
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
        let order: Vec<_> =
            sessions.rows().iter().filter_map(|(key, _)| key.id.as_deref()).collect();
        assert_eq!(order, ["b", "d", "a", "c"]);
        assert_eq!(sessions.open(), 3);
    }

    #[test]
    fn without_an_id_a_folder_is_a_session() {
        let mut sessions = Sessions::default();
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
        let mut sessions = Sessions::default();
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
}

//! The sessions of all agents, and the subagents within them.
//!
//! An agent's state comes from the daemon if it runs, else from the journal's records. The rules
//! for the meaning of an event are the daemon's own in both cases.

use std::collections::{BTreeMap, BTreeSet};

use anyhook_flow::agents::Agents;
use anyhook_hosts::bus_event::{self, OURS};
use anyhook_model::agent::agent_id;
use anyhook_model::daemon::AgentView;
use anyhook_model::{BusEvent, EventKind, Record};
use jiff::Timestamp;

use crate::state::AgentActivity;

#[cfg(test)]
mod tests;

/// At most this many sessions are kept; the one silent for longest is dropped first.
const KEEP: usize = 500;
/// At most this many subagents of a session are kept.
const KEEP_AGENTS: usize = 20;
/// The placeholder for an unknown host.
const NO_HOST: &str = "–";

/// The key of a session: the host, and its id of the session.
///
/// Without an id everything in one folder counts as one session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionKey {
    /// The host.
    pub host: String,
    /// The host's id of the session.
    pub id: Option<String>,
    /// The folder, if there is no id.
    folder: Option<String>,
}

impl SessionKey {
    /// Returns the session a record belongs to.
    pub fn of(record: &Record) -> Self {
        let folder = record.session.is_none().then(|| record.work_dir.clone());
        Self { host: record.host.clone(), id: record.session.clone(), folder }
    }

    /// Returns the session of an agent that was reported.
    fn of_agent(id: &str, host: Option<&str>, session: Option<&str>) -> Self {
        let host = host.unwrap_or(NO_HOST).to_owned();
        Self { host, id: Some(session.unwrap_or(id).to_owned()), folder: None }
    }
}

/// One session.
#[derive(Debug)]
pub struct SessionRow {
    /// Its working folder.
    pub project: String,
    /// How many events it sent.
    pub events: usize,
    /// How many of them were denied.
    pub denials: usize,
    /// The main agent, or the only one known.
    pub main: Activity,
    /// Its subagents by id, oldest first.
    pub agents: Vec<(String, Activity)>,
    /// The id of its agent.
    agent: String,
    /// Its state from the daemon, and when the daemon last heard of it.
    told: Option<(AgentActivity, Timestamp)>,
    /// Whether it is in the journal, too.
    is_journaled: bool,
    /// The order of updates: later is higher.
    order: u64,
}

/// What an agent did last.
#[derive(Clone, Debug)]
pub struct Activity {
    /// What it does.
    pub doing: AgentActivity,
    /// Whether it is a subagent that has finished.
    pub is_done: bool,
    /// Its last event.
    pub event: Option<EventKind>,
    /// When that was.
    pub at: Timestamp,
}

impl Activity {
    fn new(at: Timestamp) -> Self {
        Self { doing: AgentActivity::default(), is_done: false, event: None, at }
    }

    fn feed(&mut self, record: &Record) {
        self.is_done =
            record.agent.is_some() && record.event == EventKind::SubagentStop && !record.denies();
        self.event = Some(record.event.clone());
        self.at = record.at;
    }
}

/// A row of the view: a session, or with an agent's id one of its subagents.
pub type RowKey = (SessionKey, Option<String>);

/// All sessions.
#[derive(Debug, Default)]
pub struct SessionTable {
    by_key: BTreeMap<SessionKey, SessionRow>,
    /// The agents and subagents according to the records.
    agents: Agents,
    seen: u64,
}

impl SessionTable {
    /// Adds an event.
    pub fn feed(&mut self, record: &Record) {
        if record.host == OURS {
            if let Some(event) = bus_event::from_record(record) {
                self.feed_told(&event, record.at);
            }
            return;
        }
        let place = record.session.as_deref().unwrap_or(&record.work_dir);
        let id = record.agent_id.clone().unwrap_or_else(|| agent_id(&record.host, place));
        let doing = self.hear(record, &id);
        let doing_of_subagent =
            record.agent.as_ref().map(|subagent| self.hear(record, &format!("{id} {subagent}")));
        let project = record.project_dir.as_ref().unwrap_or(&record.work_dir);
        let session = self.session(SessionKey::of(record), &id, project, record.at);
        session.feed(record);
        session.main.doing = doing;
        if let (Some(subagent), Some(doing)) = (&record.agent, doing_of_subagent)
            && let Some((_, activity)) = session.agents.iter_mut().find(|(id, _)| id == subagent)
        {
            activity.doing = doing;
        }
        self.make_room();
    }

    /// Applies what a record reports of an agent. Returns what the agent does.
    fn hear(&mut self, record: &Record, id: &str) -> AgentActivity {
        if let Some(event) = bus_event::of_agent(record, id.to_owned()) {
            self.agents.hear(&event, record.at);
        }
        self.agents.get(id).map(AgentActivity::from).unwrap_or_default()
    }

    /// Applies what was reported about an agent with `anyhook emit`.
    fn feed_told(&mut self, event: &BusEvent, at: Timestamp) {
        let Some(report) = event.report() else { return };
        self.agents.hear(event, at);
        let doing = self.agents.get(&report.agent).map(AgentActivity::from).unwrap_or_default();
        let key = self.key_of(&report.agent, report.host.as_deref(), report.session.as_deref());
        let project = report.project.as_ref().or(report.work_dir.as_ref());
        let project = project.map_or("", String::as_str);
        let session = self.session(key, &report.agent, project, at);
        (session.main.doing, session.is_journaled) = (doing, true);
        session.main.at = session.main.at.max(at);
        self.make_room();
    }

    /// Takes the daemon's states of all agents; `None` if there is no daemon.
    pub fn hear_daemon(&mut self, agents: Option<&[AgentView]>) {
        let mut agents: Vec<&AgentView> = agents.unwrap_or_default().iter().collect();
        agents.sort_by_key(|agent| agent.seen);
        let known: BTreeSet<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
        self.by_key.retain(|_, session| {
            session.told = None;
            session.is_journaled || known.contains(session.agent.as_str())
        });
        let newest = agents.len().saturating_sub(KEEP);
        for agent in agents.split_off(newest) {
            let doing = AgentActivity::from(agent);
            let key = self.key_of(&agent.id, agent.host.as_deref(), agent.session.as_deref());
            // An ended session is only of interest if it was seen before.
            if doing.state.is_over() && !self.by_key.contains_key(&key) {
                continue;
            }
            let project = agent.project.as_ref().or(agent.work_dir.as_ref());
            let project = project.map_or("", String::as_str);
            let session = self.session(key, &agent.id, project, agent.seen);
            session.told = Some((doing, agent.seen));
        }
        self.make_room();
    }

    /// Returns the key of an agent's session, existing or new.
    fn key_of(&self, id: &str, host: Option<&str>, session: Option<&str>) -> SessionKey {
        let is_known = |(_, session): &(&SessionKey, &SessionRow)| session.agent == id;
        let known = self.by_key.iter().find(is_known).map(|(key, _)| key.clone());
        known.unwrap_or_else(|| SessionKey::of_agent(id, host, session))
    }

    /// Returns a session, created if it is new.
    fn session(
        &mut self,
        key: SessionKey,
        agent: &str,
        project: &str,
        at: Timestamp,
    ) -> &mut SessionRow {
        self.seen += 1;
        let session = self.by_key.entry(key).or_insert_with(|| SessionRow {
            project: project.to_owned(),
            events: 0,
            denials: 0,
            main: Activity::new(at),
            agents: Vec::new(),
            agent: String::new(),
            told: None,
            is_journaled: false,
            order: self.seen,
        });
        agent.clone_into(&mut session.agent);
        if session.project.is_empty() {
            project.clone_into(&mut session.project);
        }
        session
    }

    fn make_room(&mut self) {
        while self.by_key.len() > KEEP {
            let oldest = self.by_key.iter().min_by_key(|(_, session)| session.last_at());
            let Some(key) = oldest.map(|(key, _)| key.clone()) else { return };
            self.by_key.remove(&key);
        }
    }

    /// Returns how many sessions have not ended.
    pub fn open(&self) -> usize {
        self.by_key.values().filter(|session| !session.doing().state.is_over()).count()
    }

    /// Returns the sessions by host: ended ones last, otherwise the newest first.
    pub fn rows(&self) -> Vec<(&SessionKey, &SessionRow)> {
        let mut rows: Vec<_> = self.by_key.iter().collect();
        rows.sort_by_key(|(key, session)| {
            (&key.host, session.doing().state.is_over(), std::cmp::Reverse(session.order))
        });
        rows
    }

    /// Returns the keys of all rows in display order.
    pub fn row_keys(&self) -> Vec<RowKey> {
        let with_agents = |(key, session): (&SessionKey, &SessionRow)| {
            let agents = session.agents.iter().map(|(agent, _)| Some(agent.clone()));
            let key = key.clone();
            std::iter::once(None).chain(agents).map(move |agent| (key.clone(), agent)).collect()
        };
        self.rows().into_iter().flat_map::<Vec<_>, _>(with_agents).collect()
    }
}

impl SessionRow {
    /// Returns what its agent does.
    pub fn doing(&self) -> &AgentActivity {
        self.told.as_ref().map_or(&self.main.doing, |(doing, _)| doing)
    }

    /// Returns when it was last active.
    pub fn last_at(&self) -> Timestamp {
        let told = self.told.iter().map(|(_, seen)| *seen);
        let agents = self.agents.iter().map(|(_, agent)| agent.at);
        agents.chain(told).fold(self.main.at, Timestamp::max)
    }

    fn feed(&mut self, record: &Record) {
        self.is_journaled = true;
        self.events += 1;
        self.denials += usize::from(record.denies());
        let Some(agent) = &record.agent else {
            self.main.feed(record);
            match record.event {
                EventKind::SessionEnd => self.agents.clear(),
                // A new turn: subagents that finished before are of no interest any more.
                EventKind::BeforeAgent => self.agents.retain(|(_, activity)| !activity.is_done),
                _ => {}
            }
            return;
        };
        match self.agents.iter_mut().find(|(id, _)| id == agent) {
            Some((_, activity)) => activity.feed(record),
            None => {
                let mut activity = Activity::new(record.at);
                activity.feed(record);
                self.agents.push((agent.clone(), activity));
            }
        }
        if self.agents.len() > KEEP_AGENTS {
            let oldest = self.agents.iter().enumerate().min_by_key(|(_, (_, agent))| agent.at);
            if let Some(index) = oldest.map(|(index, _)| index) {
                self.agents.remove(index);
            }
        }
    }
}

//! What is to be done in the world, as part of the state: it survives a kill of the daemon.
//!
//! An item is put here by the entry that makes it necessary, and removed by the entry that says that
//! it is done. Between the two it may be begun again by another daemon, so each kind of item has a
//! way to find out whether it was begun before: a job by its folder, a notice by its claim, a line of
//! the journal by reading the journal.

use std::collections::{BTreeMap, BTreeSet};

use anyhook_model::bus::AlarmReport;
use anyhook_model::notice::NoticeKind;
use anyhook_model::{AgentState, RecordId, Resolution};
use serde::{Deserialize, Serialize};

use crate::agents::Agent;
use crate::pipeline::NoticeMoment;

/// What is to be done and is not known to be done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outbox {
    /// Jobs, by pipeline: until their result is stored. The pipeline knows what each of them is.
    pub jobs: BTreeMap<RecordId, BTreeSet<u32>>,
    /// Notices for a person: until each is handed to its own process.
    pub notices: BTreeSet<NoticeName>,
    /// What the notices of alarms tell.
    pub alarms: BTreeMap<RecordId, AlarmReport>,
    /// Decisions for the journal: until they are found there.
    pub journal_lines: BTreeMap<RecordId, Resolution>,
}

/// What makes a job the same one: it is done once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId {
    /// The pipeline.
    pub pipeline: RecordId,
    /// Its number in the pipeline.
    pub number: u32,
}

impl Outbox {
    /// Returns every job.
    pub fn job_ids(&self) -> impl Iterator<Item = JobId> {
        self.jobs.iter().flat_map(|(pipeline, numbers)| {
            numbers.iter().map(|&number| JobId { pipeline: pipeline.clone(), number })
        })
    }

    /// Returns the decisions for the journal in the order in which they were made. Ids are random: by
    /// them, a daemon that was killed before it wrote several would mix up their order.
    pub fn journal_lines_by_time(&self) -> Vec<&Resolution> {
        let mut lines: Vec<&Resolution> = self.journal_lines.values().collect();
        lines.sort_by_key(|resolution| resolution.at);
        lines
    }

    /// Has exactly these jobs of a pipeline done.
    pub(crate) fn set_jobs(&mut self, pipeline: &RecordId, numbers: impl Iterator<Item = u32>) {
        let numbers: BTreeSet<u32> = numbers.collect();
        if numbers.is_empty() {
            self.jobs.remove(pipeline);
        } else {
            self.jobs.insert(pipeline.clone(), numbers);
        }
    }

    /// A notice was handed to its process.
    pub(crate) fn notice_launched(&mut self, name: &NoticeName) {
        self.notices.remove(name);
        if let NoticeName::Alarm(id) = name {
            self.alarms.remove(id);
        }
    }
}

/// What makes a notice the same one: it is given once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeName {
    /// Of a decision.
    Decision(RecordId),
    /// Of an agent: what it is, and the rest it is in.
    Agent(String, NoticeKind, u64),
    /// Of a pipeline: the moment, and how far it was.
    Pipeline(RecordId, NoticeMoment, u64),
    /// Of the alarms of a journal's record.
    Alarm(RecordId),
}

/// Returns what is notable of an agent, if anything.
pub fn notice_of_agent(agent: &Agent) -> Option<NoticeKind> {
    match agent.state {
        AgentState::Prompting(_) => Some(NoticeKind::Prompt),
        AgentState::Idle => agent.rest().map(|_| NoticeKind::Idle),
        AgentState::Failed(_) => Some(NoticeKind::Failed),
        AgentState::Gone => Some(NoticeKind::Gone),
        AgentState::Working | AgentState::Exited => None,
    }
}

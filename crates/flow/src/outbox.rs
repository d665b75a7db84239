//! The outbox: pending side effects as part of the state, so that they survive a kill of the
//! daemon.
//!
//! An item is added by the entry that makes it necessary, and removed by the entry that says that
//! it is done. Between the two it may be started again by another daemon, so each kind of item has
//! a way to detect whether it was started before: a job by its folder, a notice by its claim, a
//! line of the journal by reading the journal.

use std::collections::{BTreeMap, BTreeSet};

use anyhook_model::bus::AlarmReport;
use anyhook_model::notice::NoticeKind;
use anyhook_model::{AgentState, RecordId, Resolution};
use serde::{Deserialize, Serialize};

use crate::agents::Agent;
use crate::pipeline::NoticeMoment;
use crate::ran_calls::UnaskedCall;

/// Side effects that are pending, or not known to be done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outbox {
    /// Jobs, by pipeline: until their result is stored. The pipeline knows the details of each.
    pub jobs: BTreeMap<RecordId, BTreeSet<u32>>,
    /// Notices for a person: until each is handed to its own process.
    pub notices: BTreeSet<NoticeName>,
    /// The contents of the alarm notices.
    pub alarms: BTreeMap<RecordId, AlarmReport>,
    /// Calls that no hook was asked about, for the journal: until they are found in it, by the id of
    /// the record.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unasked_calls: BTreeMap<RecordId, UnaskedCall>,
    /// Decisions for the journal: until they are found in it.
    pub journal_lines: BTreeMap<RecordId, Resolution>,
}

/// The identity of a job, which is done once.
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

    /// Returns the decisions for the journal in the order in which they were made. Ids are random:
    /// ordered by them, a daemon that was killed before it wrote several would mix up their order.
    pub fn journal_lines_by_time(&self) -> Vec<&Resolution> {
        let mut lines: Vec<&Resolution> = self.journal_lines.values().collect();
        lines.sort_by_key(|resolution| resolution.at);
        lines
    }

    /// Sets the pending jobs of a pipeline to exactly these.
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

/// The identity of a notice, which is sent once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeName {
    /// For a decision.
    Decision(RecordId),
    /// For an agent: the kind of notice, and the rest it is in.
    Agent(String, NoticeKind, u64),
    /// For a pipeline: the moment, and its progress.
    Pipeline(RecordId, NoticeMoment, u64),
    /// For the alarms of a journal record.
    Alarm(RecordId),
}

/// Returns the kind of notice that an agent's state calls for, if any.
pub fn notice_of_agent(agent: &Agent) -> Option<NoticeKind> {
    match agent.state {
        AgentState::Prompting(_) => Some(NoticeKind::Prompt),
        AgentState::Idle => agent.rest().map(|_| NoticeKind::Idle),
        AgentState::Failed(_) => Some(NoticeKind::Failed),
        AgentState::Gone => Some(NoticeKind::Gone),
        AgentState::Working | AgentState::Exited => None,
    }
}

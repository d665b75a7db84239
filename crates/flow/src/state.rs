//! All the daemon knows: a fold over what happened.
//!
//! [`DaemonState::apply`] is the only way it changes. What it returns concerns those who are connected just
//! now. What must be done even if the daemon is killed before it gets to it is in the state itself,
//! in the [outbox](Outbox), until an entry says that it was done.

use std::collections::{BTreeMap, BTreeSet};

use anyhook_model::approval_request::{ApprovalEnding, ApprovalKind};
use anyhook_model::bus::AgentReport;
use anyhook_model::notice::NoticeKind;
use anyhook_model::{ApprovalRequest, BusEvent, PipelinePlan, RecordId, Resolution, StateSource};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agents::Agents;
use crate::approval_requests::{ApprovalRequests, without_answer};
use crate::outbox::{NoticeName, Outbox};
use crate::pipeline::{JobResult, Pipelines};
use crate::recent::RecentEvents;

mod apply;
mod pipelines;

use self::apply::EntryApplication;

/// One step of what the daemon stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateEntry {
    /// When the daemon received it.
    pub at: Timestamp,
    /// What it is.
    pub what: EntryKind,
}

/// What can be stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// Something happened.
    Happened(Box<BusEvent>),
    /// The journal is read up to here.
    JournalRead(Value),
    /// The logs are read up to here, by file.
    LogRead(String, Value),
    /// A notice was handed to its own process.
    NoticeLaunched(NoticeName),
    /// A decision is in the journal.
    Journaled(RecordId),
    /// A pipeline begins.
    PipelineBegun(Box<PipelinePlan>),
    /// A person wants a pipeline to end.
    PipelineCancelled {
        /// The pipeline.
        id: RecordId,
        /// Who did it.
        by: String,
    },
    /// A person takes a pipeline up that failed or was cancelled.
    PipelineResumed {
        /// The pipeline.
        id: RecordId,
        /// The step; where it stopped, if there is none.
        #[serde(default)]
        step: Option<String>,
        /// Who did it.
        by: String,
    },
    /// What became of a pipeline's job.
    Job {
        /// The pipeline.
        pipeline: RecordId,
        /// The job.
        job: u32,
        /// The outcome.
        result: JobResult,
    },
    /// A time that a pipeline waited for is there.
    TimerFired(RecordId),
}

/// What follows from an entry for those who are connected just now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateEffects {
    /// Answers for the hook processes that wait for them.
    pub answers: Vec<Resolution>,
    /// What happened because of it, and is part of it, for those who follow.
    pub followed: Vec<BusEvent>,
    /// Why it changed nothing, if so.
    pub dropped: Option<&'static str>,
}

/// All the daemon knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DaemonState {
    /// Every agent.
    pub agents: Agents,
    /// What waits for a person.
    pub inquiries: ApprovalRequests,
    /// What is to be done in the world.
    pub outbox: Outbox,
    /// Every pipeline.
    #[serde(default)]
    pub pipelines: Pipelines,
    /// What happened lately.
    #[serde(default)]
    pub recent: RecentEvents,
    /// Where the journal is read on.
    pub journal: Option<Value>,
    /// Where the logs are read on, by file.
    pub logs: BTreeMap<String, Value>,
}

impl DaemonState {
    /// Takes one entry in. `wanted` are the kinds of notices that a person wants.
    pub fn apply(&mut self, entry: &StateEntry, wanted: &BTreeSet<NoticeKind>) -> StateEffects {
        let mut applying = EntryApplication {
            state: self,
            at: entry.at,
            wanted,
            effects: StateEffects::default(),
        };
        applying.apply(&entry.what);
        applying.effects
    }

    /// Returns the name people know an agent by.
    pub fn agent_name(&self, id: &str) -> Option<String> {
        let chosen = self.agents.get(id).and_then(|agent| agent.name.clone());
        chosen.or_else(|| self.pipelines.of_agent(id)?.agent_name(id))
    }

    /// Returns a resolution with the names of its agent and pipeline, for the journal.
    fn with_names(&self, resolution: &Resolution) -> Resolution {
        let pipeline = self.pipelines.of_agent(&resolution.agent);
        let name = |pipeline: &crate::pipeline::Pipeline| {
            let id = pipeline.plan.id.to_string();
            pipeline.plan.run_name.clone().unwrap_or(id)
        };
        Resolution {
            agent_name: self.agent_name(&resolution.agent),
            pipeline: pipeline.map(name),
            ..resolution.clone()
        }
    }

    /// Returns how the open inquiries end that an event makes pointless: somebody answered the
    /// agent elsewhere, it went on by itself, or it is over.
    ///
    /// Derived while an event is applied and not stored as an entry of its own: a daemon killed
    /// between the two entries would lose it.
    fn overtaken(&self, event: &BusEvent, now: Timestamp) -> Vec<Resolution> {
        let Some(report) = event.report() else { return Vec::new() };
        let is_over = matches!(event, BusEvent::AgentExited(_) | BusEvent::AgentGone(_));
        let why = if is_over { "the agent has ended" } else { "the agent continued on its own" };
        let is_meant = |inquiry: &&ApprovalRequest| {
            // What happened before it was asked says nothing about it.
            let is_later = report.at.is_none_or(|at| at > inquiry.created);
            // A pipeline knows itself when its question needs no answer any more.
            let is_own = inquiry.kind == ApprovalKind::Escalation
                && self.pipelines.asking(&inquiry.id).is_some();
            // A gate is about no agent, whatever one may call itself.
            let is_gate = inquiry.kind == ApprovalKind::Gate;
            is_later
                && !is_own
                && !is_gate
                && match event {
                    _ if is_over => true,
                    // An agent that asks for a person may well do something meanwhile.
                    _ if inquiry.kind == ApprovalKind::Escalation => false,
                    BusEvent::AgentInput(report) => report.source <= StateSource::Hook,
                    // A log may tell late of a rest before the question.
                    BusEvent::AgentIdle(report) => {
                        report.source <= StateSource::Hook || report.broken_off
                    }
                    // Calls run beside each other: only that this one runs or has ended tells.
                    BusEvent::AgentWorking(report) => {
                        let tells = report.call_ended || report.source == StateSource::Process;
                        tells && is_about(inquiry, report)
                    }
                    _ => false,
                }
        };
        self.inquiries
            .open_about(&report.agent)
            .filter(is_meant)
            .map(|inquiry| without_answer(inquiry, ApprovalEnding::Dismissed, why, now))
            .collect()
    }
}

fn is_about(inquiry: &ApprovalRequest, report: &AgentReport) -> bool {
    match (&inquiry.digest, &report.call) {
        (Some(digest), Some(call)) => digest.starts_with(call.as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod tests;

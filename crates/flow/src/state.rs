//! The daemon's state: a fold over everything that happened.
//!
//! [`DaemonState::apply`] is the only way to change it. What it returns is for clients that are
//! currently connected. Whatever must be done even if the daemon is killed first is in the state
//! itself, in the [outbox](Outbox), until an entry says that it was done.

use std::collections::{BTreeMap, BTreeSet};

use anyhook_model::approval_request::{ApprovalEnding, ApprovalKind};
use anyhook_model::bus::AgentReport;
use anyhook_model::notice::NoticeKind;
use anyhook_model::{
    ApprovalRequest, BusEvent, PipelinePlan, ProcessName, RecordId, Resolution, StateSource,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agents::Agents;
use crate::approval_requests::{ApprovalRequests, without_answer};
use crate::outbox::{NoticeName, Outbox};
use crate::pipeline::{JobResult, Pipelines};
use crate::ran_calls::{RanCall, RanCalls};
use crate::recent::RecentEvents;

mod apply;
mod pipelines;

use self::apply::EntryApplication;

/// One entry of the daemon's store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateEntry {
    /// When the daemon received it.
    pub at: Timestamp,
    /// What it is.
    pub what: EntryKind,
}

/// The kinds of entries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// Something happened.
    Happened(Box<BusEvent>),
    /// The journal is read up to here.
    JournalRead(Value),
    /// The logs are read up to here, by file.
    LogRead(String, Value),
    /// An agent has executed a call whose record was not found yet: the call, and the id that the
    /// record of an alarm about it will have.
    CallRan(Box<RanCall>, RecordId),
    /// The record of such a call was found.
    CallAsked(String),
    /// It has none: no hook was asked about it.
    RanUnasked {
        /// The call's [key](RanCall::key).
        key: String,
        /// The agent's process, if it was stopped for it.
        #[serde(default)]
        frozen: Option<ProcessName>,
    },
    /// Our entries were taken out of agents' settings: it is not expected any more that they are
    /// called.
    Uninstalled,
    /// A person lets an agent continue that was stopped.
    Thawed {
        /// The agent.
        agent: String,
        /// Who did it.
        by: String,
    },
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
    /// A person resumes a pipeline that failed or was cancelled.
    PipelineResumed {
        /// The pipeline.
        id: RecordId,
        /// The step; `None` to resume where it stopped.
        #[serde(default)]
        step: Option<String>,
        /// Who did it.
        by: String,
    },
    /// The result of a pipeline's job.
    Job {
        /// The pipeline.
        pipeline: RecordId,
        /// The job.
        job: u32,
        /// The outcome.
        result: JobResult,
    },
    /// A pipeline's timer fired.
    TimerFired(RecordId),
}

/// The consequences of an entry for clients that are currently connected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StateEffects {
    /// Answers for the waiting hook processes.
    pub answers: Vec<Resolution>,
    /// The events that followed from it and are part of it, for followers.
    pub followed: Vec<BusEvent>,
    /// Why it changed nothing, if it did not.
    pub dropped: Option<&'static str>,
}

/// Everything the daemon knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DaemonState {
    /// Every agent.
    pub agents: Agents,
    /// What waits for a person.
    pub inquiries: ApprovalRequests,
    /// Pending side effects.
    pub outbox: Outbox,
    /// Every pipeline.
    #[serde(default)]
    pub pipelines: Pipelines,
    /// Calls that agents have executed and nobody may have been asked about.
    #[serde(default)]
    pub ran_calls: RanCalls,
    /// Recent events.
    #[serde(default)]
    pub recent: RecentEvents,
    /// Where to continue reading the journal.
    pub journal: Option<Value>,
    /// Where to continue reading the logs, by file.
    pub logs: BTreeMap<String, Value>,
}

impl DaemonState {
    /// Applies one entry. `wanted` are the kinds of notices that a person wants.
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

    /// Returns the display name of an agent.
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

    /// Returns the resolutions of the open approval requests that an event makes obsolete: someone
    /// answered the agent elsewhere, it continued by itself, or it has ended.
    ///
    /// Derived while an event is applied and not stored as an entry of its own: a daemon killed
    /// between the two entries would lose it.
    fn overtaken(&self, event: &BusEvent, now: Timestamp) -> Vec<Resolution> {
        let Some(report) = event.report() else { return Vec::new() };
        let is_over = matches!(event, BusEvent::AgentExited(_) | BusEvent::AgentGone(_));
        let why = if is_over { "the agent has ended" } else { "the agent continued on its own" };
        let is_meant = |inquiry: &&ApprovalRequest| {
            // What happened before the request does not affect it.
            let is_later = report.at.is_none_or(|at| at > inquiry.created);
            // A pipeline decides itself when its question is obsolete.
            let is_own = inquiry.kind == ApprovalKind::Escalation
                && self.pipelines.asking(&inquiry.id).is_some();
            // A gate is not about an agent, whatever an agent calls itself.
            let is_gate = inquiry.kind == ApprovalKind::Gate;
            is_later
                && !is_own
                && !is_gate
                && match event {
                    _ if is_over => true,
                    // An agent that asks for a person may well continue in the meantime.
                    _ if inquiry.kind == ApprovalKind::Escalation => false,
                    BusEvent::AgentInput(report) => report.source <= StateSource::Hook,
                    // A log may report late a rest before the question.
                    BusEvent::AgentIdle(report) => {
                        report.source <= StateSource::Hook || report.broken_off
                    }
                    // Calls run in parallel: it only counts that this one runs or has ended.
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

//! All the daemon knows: a fold over what happened.
//!
//! `apply` is the only way it changes. What it returns is to be done; what must be done even if
//! the daemon is killed before it gets to it is in the state itself (`notices`, `to_journal`) until
//! an entry says that it was done.

use std::collections::{BTreeMap, BTreeSet};

use anyhook_model::bus::{AgentReport, AlarmReport, SignalKind};
use anyhook_model::inquiry::{Ending, InquiryKind};
use anyhook_model::notice::NoticeKind;
use anyhook_model::{AgentState, Happening, Inquiry, Plan, RecordId, Resolution, Source};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agents::{Agents, Heard, Why};
use crate::inquiries::{Inquiries, OPEN_AT_ONCE, escalation, without_answer};
use crate::notices::{NoticeName, of_agent};
use crate::pipeline::{JobResult, Pipelines};
use crate::recent::Recent;

mod pipelines;

/// So many alarms may wait for their notices.
const ALARMS_AT_ONCE: usize = 100;
/// So many logs are remembered.
const LOGS_REMEMBERED: usize = 5_000;

/// One step of what the daemon stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When the daemon heard of it.
    pub at: Timestamp,
    /// What it is.
    pub what: What,
}

/// What can be stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Something happened.
    Happened(Box<Happening>),
    /// The journal is read up to here.
    JournalRead(Value),
    /// The logs are read up to here, by file.
    LogRead(String, Value),
    /// A notice was handed to its own process.
    NoticeLaunched(NoticeName),
    /// A decision is in the journal.
    Journaled(RecordId),
    /// A pipeline begins.
    PipelineBegun(Box<Plan>),
    /// A person wants a pipeline to end.
    PipelineCancelled {
        /// The pipeline.
        id: RecordId,
        /// Who.
        by: String,
    },
    /// A person takes a pipeline up that failed or was cancelled.
    PipelineResumed {
        /// The pipeline.
        id: RecordId,
        /// The step; where it stopped, if there is none.
        #[serde(default)]
        step: Option<String>,
        /// Who.
        by: String,
    },
    /// What became of a pipeline's job.
    Job {
        /// The pipeline.
        pipeline: RecordId,
        /// The job.
        job: u32,
        /// What became of it.
        result: JobResult,
    },
    /// A time that a pipeline waited for is there.
    TimerFired(RecordId),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Tell whoever waits for it.
    Answer(Resolution),
    /// Write it down in the journal.
    Journal(Resolution),
    /// Something happened because of it, and is part of it: tell those who follow.
    Followed(Box<Happening>),
    /// It changed nothing, and why, in words.
    Dropped(&'static str),
}

impl Effect {
    /// Returns why an event changed nothing.
    pub fn dropped(&self) -> Option<&'static str> {
        match self {
            Self::Dropped(why) => Some(*why),
            _ => None,
        }
    }
}

/// All the daemon knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Every agent.
    pub agents: Agents,
    /// What waits for a person.
    pub inquiries: Inquiries,
    /// Notices that are not yet handed to their process.
    pub notices: BTreeSet<NoticeName>,
    /// Alarms whose notices are not yet handed to their process.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub alarms: BTreeMap<RecordId, AlarmReport>,
    /// Decisions that are not yet in the journal.
    pub to_journal: BTreeMap<RecordId, Resolution>,
    /// Every pipeline.
    #[serde(default)]
    pub pipelines: Pipelines,
    /// What happened lately.
    #[serde(default)]
    pub recent: Recent,
    /// Where the journal is read on.
    pub journal: Option<Value>,
    /// Where the logs are read on, by file.
    pub logs: BTreeMap<String, Value>,
}

impl State {
    /// Takes one entry in. Returns what is to be done about it.
    pub fn apply(&mut self, entry: &Entry, wanted: &BTreeSet<NoticeKind>) -> Vec<Effect> {
        let mut effects = Vec::new();
        match &entry.what {
            What::Happened(happening) => self.happen(happening, entry.at, wanted, &mut effects),
            What::JournalRead(position) => self.journal = Some(position.clone()),
            What::LogRead(file, position) => {
                if self.logs.len() >= LOGS_REMEMBERED && !self.logs.contains_key(file) {
                    // Whichever goes is read anew from near its end if it grows.
                    self.logs.pop_first();
                }
                self.logs.insert(file.clone(), position.clone());
            }
            What::NoticeLaunched(name) => {
                self.notices.remove(name);
                if let NoticeName::Alarm(id) = name {
                    self.alarms.remove(id);
                }
            }
            What::Journaled(id) => {
                self.to_journal.remove(id);
            }
            _ => self.drive(&entry.what, entry.at, wanted, &mut effects),
        }
        effects
    }

    fn happen(
        &mut self,
        happening: &Happening,
        at: Timestamp,
        wanted: &BTreeSet<NoticeKind>,
        effects: &mut Vec<Effect>,
    ) {
        match happening {
            Happening::DecisionCreated(inquiry) => {
                self.create(inquiry, at, wanted);
                self.replace_question(inquiry, at, wanted, effects);
            }
            Happening::DecisionResolved(resolution) => {
                self.resolve(resolution, at, wanted, effects);
            }
            Happening::AlarmRaised(report) => self.raise(report, wanted),
            Happening::DecisionClaimed(claim) => {
                self.inquiries.claim(&claim.id, Some(claim));
                // Somebody has it: nobody needs to be told any more.
                self.notices.remove(&NoticeName::Decision(claim.id.clone()));
            }
            Happening::DecisionReleased(claim) => self.inquiries.claim(&claim.id, None),
            Happening::DecisionRevoked(claim) => drop(self.inquiries.revoke(&claim.id)),
            Happening::AgentRenamed(renamed) => self.agents.rename(&renamed.agent, &renamed.name),
            _ => self.hear(happening, at, wanted, effects),
        }
    }

    fn raise(&mut self, report: &AlarmReport, wanted: &BTreeSet<NoticeKind>) {
        // The journal has them all; a flood of them is one message to a person, not thousands.
        if wanted.contains(&NoticeKind::Alarm) && self.alarms.len() < ALARMS_AT_ONCE {
            self.alarms.insert(report.record.clone(), report.clone());
            self.notices.insert(NoticeName::Alarm(report.record.clone()));
        }
    }

    fn create(&mut self, inquiry: &Inquiry, at: Timestamp, wanted: &BTreeSet<NoticeKind>) {
        if self.inquiries.open().count() < OPEN_AT_ONCE
            && self.inquiries.add(inquiry, at)
            && wanted.contains(&NoticeKind::Decision)
        {
            self.notices.insert(NoticeName::Decision(inquiry.id.clone()));
        }
    }

    fn resolve(
        &mut self,
        resolution: &Resolution,
        at: Timestamp,
        wanted: &BTreeSet<NoticeKind>,
        effects: &mut Vec<Effect>,
    ) {
        if self.inquiries.end(resolution) {
            self.let_stand(resolution);
            let resolution = &self.with_names(resolution);
            self.to_journal.insert(resolution.id.clone(), resolution.clone());
            // Nobody needs to be told of what is decided.
            self.notices.remove(&NoticeName::Decision(resolution.id.clone()));
            effects.push(Effect::Journal(resolution.clone()));
            effects.push(Effect::Answer(resolution.clone()));
            self.tell_whose_question(resolution, at, wanted, effects);
        }
    }

    fn hear(
        &mut self,
        happening: &Happening,
        at: Timestamp,
        wanted: &BTreeSet<NoticeKind>,
        effects: &mut Vec<Effect>,
    ) {
        let meant = self.agents.of_name(happening);
        let happening = meant.as_ref().unwrap_or(happening);
        let inner = self.agents.of_inner_agent(happening);
        // A host has sessions of its own, as for a title, of which nothing but the end is told.
        if let Some(report) = inner.as_ref().and_then(Happening::report)
            && report.source == Source::Notification
            && self.agents.get(&report.agent).is_none()
        {
            effects.push(Effect::Dropped(Why::OtherSession.words()));
            return;
        }
        let happening = inner.as_ref().unwrap_or(happening);
        let Some(report) = happening.report() else { return };
        let may_come_late = matches!(
            happening,
            Happening::AgentSignal(_) | Happening::AgentExited(_) | Happening::AgentGone(_)
        );
        if !may_come_late && self.has_ended(&report.agent) {
            let why = Why::Over.words();
            if let Some(pipeline) = self.pipelines.of_agent_mut(&report.agent) {
                pipeline.note_dropped(happening, why, at);
            }
            effects.push(Effect::Dropped(why));
            return;
        }
        // What an agent says of its work tells nothing of what it does: one that nothing else is known
        // of is not listed as working.
        let is_stranger = matches!(happening, Happening::AgentSignal(_))
            && self.agents.get(&report.agent).is_none()
            && self.pipelines.of_agent(&report.agent).is_none();
        let heard = if is_stranger { Some(Heard::Same) } else { self.agents.hear(happening, at) };
        self.agents.name_by_default(&report.agent);
        self.end_standing(&report.agent);
        if let Some(Heard::Dropped(why)) = heard {
            effects.push(Effect::Dropped(why.words()));
            self.tell_pipeline(happening, heard, at, wanted, effects);
            return;
        }
        // Part of the event itself, so that nothing is lost between the two.
        for resolution in self.overtaken(happening, at) {
            self.resolve(&resolution, at, wanted, effects);
            effects.push(Effect::Followed(Box::new(Happening::DecisionResolved(resolution))));
        }
        if let Happening::AgentSignal(signal) = happening
            && signal.kind == SignalKind::Escalate
            && let Some(id) = &signal.report.record
            && self.inquiries.get(id).is_none()
            // A pipeline asks in its own words.
            && !self.is_looked_after(&signal.report.agent)
        {
            let inquiry = escalation(signal, id.clone(), at);
            self.create(&inquiry, at, wanted);
            effects.push(Effect::Followed(Box::new(Happening::DecisionCreated(inquiry))));
        }
        if heard == Some(Heard::Changed) {
            self.notice(&report.agent, wanted);
        }
        self.tell_pipeline(happening, heard, at, wanted, effects);
    }

    /// Lets an answer stand for the rest of the session, where a person said so, and counts those
    /// that follow from it.
    fn let_stand(&mut self, resolution: &Resolution) {
        if resolution.again {
            let agent = self.agents.get(&resolution.agent);
            let session = agent.and_then(|agent| agent.session.clone());
            self.inquiries.let_stand(resolution, session.as_deref());
        }
        if let Some(earlier) = &resolution.follows {
            self.inquiries.count_use(earlier);
        }
    }

    /// Ends the standing answers of an agent whose session is over or another one.
    fn end_standing(&mut self, id: &str) {
        if self.inquiries.standing().next().is_none() {
            return;
        }
        let agent = self.agents.get(id).filter(|agent| !agent.state.is_over());
        let session = agent.and_then(|agent| agent.session.clone());
        self.inquiries.end_standing(id, session.as_deref());
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

    /// Notes what a person is to be told of an agent that does something else now.
    fn notice(&mut self, id: &str, wanted: &BTreeSet<NoticeKind>) {
        let Some(agent) = self.agents.get(id) else { return };
        // Of one agent what it does now is told, not what it did before.
        self.notices.retain(|name| !matches!(name, NoticeName::Agent(other, ..) if other == id));
        // Whoever looks after it asks the person when it needs one.
        if self.is_looked_after(id) {
            return;
        }
        // A decision about it already tells the person.
        let is_asked = matches!(agent.state, AgentState::Prompting(_))
            && self.inquiries.open_about(id).next().is_some();
        if let Some(kind) = of_agent(agent).filter(|kind| wanted.contains(kind) && !is_asked) {
            self.notices.insert(NoticeName::Agent(id.to_owned(), kind, agent.activity));
        }
    }

    /// Returns how the open inquiries end that an event makes pointless: somebody answered the
    /// agent elsewhere, it went on by itself, or it is over.
    fn overtaken(&self, happening: &Happening, now: Timestamp) -> Vec<Resolution> {
        let Some(report) = happening.report() else { return Vec::new() };
        let is_over = matches!(happening, Happening::AgentExited(_) | Happening::AgentGone(_));
        let why = if is_over { "the agent is over" } else { "the agent went on by itself" };
        let is_meant = |inquiry: &&Inquiry| {
            // What happened before it was asked says nothing about it.
            let is_later = report.at.is_none_or(|at| at > inquiry.created);
            // A pipeline knows itself when its question needs no answer any more.
            let is_own = inquiry.kind == InquiryKind::Escalation
                && self.pipelines.asking(&inquiry.id).is_some();
            // A gate is about no agent, whatever one may call itself.
            let is_gate = inquiry.kind == InquiryKind::Gate;
            is_later
                && !is_own
                && !is_gate
                && match happening {
                    _ if is_over => true,
                    // An agent that asks for a person may well do something meanwhile.
                    _ if inquiry.kind == InquiryKind::Escalation => false,
                    Happening::AgentInput(report) => report.source <= Source::Hook,
                    // A log may tell late of a rest before the question.
                    Happening::AgentIdle(report) => {
                        report.source <= Source::Hook || report.broken_off
                    }
                    // Calls run beside each other: only that this one runs or has ended tells.
                    Happening::AgentWorking(report) => {
                        let tells = report.call_ended || report.source == Source::Process;
                        tells && is_about(inquiry, report)
                    }
                    _ => false,
                }
        };
        self.inquiries
            .open_about(&report.agent)
            .filter(is_meant)
            .map(|inquiry| without_answer(inquiry, Ending::Dismissed, why, now))
            .collect()
    }
}

fn is_about(inquiry: &Inquiry, report: &AgentReport) -> bool {
    match (&inquiry.digest, &report.call) {
        (Some(digest), Some(call)) => digest.starts_with(call.as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod tests;

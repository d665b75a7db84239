//! Applies one entry to the state.

use std::collections::BTreeSet;

use anyhook_model::bus::{AlarmReport, SignalKind};
use anyhook_model::notice::NoticeKind;
use anyhook_model::{
    AgentState, AlarmKind, ApprovalRequest, BusEvent, ProcessName, Resolution, StateSource,
};
use jiff::Timestamp;

use super::{DaemonState, EntryKind, StateEffects};
use crate::agents::{Applied, DropReason};
use crate::approval_requests::{OPEN_AT_ONCE, escalation};
use crate::outbox::{NoticeName, notice_of_agent};
use crate::ran_calls::UnaskedCall;

/// Maximum number of alarms that wait for their notices.
pub(super) const ALARMS_AT_ONCE: usize = 100;
/// Maximum number of logs that are remembered.
const LOGS_REMEMBERED: usize = 5_000;

/// An entry that is being applied: what the parts of that share.
pub(super) struct EntryApplication<'a> {
    pub(super) state: &'a mut DaemonState,
    /// When the entry was stored.
    pub(super) at: Timestamp,
    /// The kinds of notices that a person wants.
    pub(super) wanted: &'a BTreeSet<NoticeKind>,
    pub(super) effects: StateEffects,
}

impl EntryApplication<'_> {
    pub(super) fn apply(&mut self, what: &EntryKind) {
        match what {
            EntryKind::Happened(event) => self.happen(event),
            EntryKind::JournalRead(position) => self.state.journal = Some(position.clone()),
            EntryKind::LogRead(file, position) => {
                let logs = &mut self.state.logs;
                if logs.len() >= LOGS_REMEMBERED && !logs.contains_key(file) {
                    // The removed one is read again from near its end if it grows.
                    logs.pop_first();
                }
                logs.insert(file.clone(), position.clone());
            }
            EntryKind::CallRan(call, record) => {
                self.state.ran_calls.suspect(call, record, self.at);
            }
            EntryKind::CallAsked(key) => self.state.ran_calls.acquit(key),
            EntryKind::RanUnasked { key, frozen } => self.ran_unasked(key, frozen.as_ref()),
            EntryKind::Uninstalled => self.state.agents.unhook(),
            EntryKind::Thawed { agent, .. } => self.state.agents.set_frozen(agent, None),
            EntryKind::NoticeLaunched(name) => self.state.outbox.notice_launched(name),
            EntryKind::Journaled(id) => drop(self.state.outbox.journal_lines.remove(id)),
            _ => self.drive_pipeline(what),
        }
    }

    /// Records why the entry changes nothing; the first reason counts.
    pub(super) fn drop_as(&mut self, why: &'static str) {
        self.effects.dropped.get_or_insert(why);
    }

    fn happen(&mut self, event: &BusEvent) {
        match event {
            BusEvent::DecisionCreated(inquiry) => {
                self.create(inquiry);
                self.replace_question(inquiry);
            }
            BusEvent::DecisionResolved(resolution) => {
                self.resolve(resolution);
            }
            BusEvent::AlarmRaised(report) => self.raise(report),
            BusEvent::DecisionClaimed(claim) => {
                self.state.inquiries.claim(&claim.id, Some(claim));
                // Someone has claimed it: no one needs to be notified any more.
                self.state.outbox.notices.remove(&NoticeName::Decision(claim.id.clone()));
            }
            BusEvent::DecisionReleased(claim) => self.state.inquiries.claim(&claim.id, None),
            BusEvent::DecisionRevoked(claim) => drop(self.state.inquiries.revoke(&claim.id)),
            BusEvent::AgentRenamed(renamed) => {
                self.state.agents.rename(&renamed.agent, &renamed.name);
            }
            _ => self.hear(event),
        }
    }

    /// Nobody was asked about a call: the alarm goes to the journal, and from there to a person.
    fn ran_unasked(&mut self, key: &str, frozen: Option<&ProcessName>) {
        let Some(suspect) = self.state.ran_calls.convict(key) else { return };
        if let Some(process) = frozen {
            self.state.agents.set_frozen(&suspect.call.agent, Some(process.clone()));
        }
        let unasked = UnaskedCall { call: suspect.call, at: self.at, frozen: frozen.cloned() };
        self.state.outbox.unasked_calls.insert(suspect.record, unasked);
    }

    fn raise(&mut self, report: &AlarmReport) {
        self.state.outbox.unasked_calls.remove(&report.record);
        if report.alarms.iter().any(|alarm| alarm.kind == AlarmKind::RanUnasked) {
            let (session, call) = (report.session.as_deref(), report.call.as_deref());
            if !self.state.ran_calls.is_first_alarm(session, call, &report.record) {
                self.drop_as("the alarm about this call is known");
                return;
            }
            // The start of a session tells of earlier alarms once more, without a call.
            if call.is_some() {
                self.state.agents.count_unguarded(&report.agent);
            }
        }
        // The journal has them all; a flood of them is one message to a person, not thousands.
        if self.wanted.contains(&NoticeKind::Alarm)
            && self.state.outbox.alarms.len() < ALARMS_AT_ONCE
        {
            self.state.outbox.alarms.insert(report.record.clone(), report.clone());
            self.state.outbox.notices.insert(NoticeName::Alarm(report.record.clone()));
        }
    }

    fn create(&mut self, inquiry: &ApprovalRequest) {
        if self.state.inquiries.open().count() < OPEN_AT_ONCE
            && self.state.inquiries.add(inquiry, self.at)
            && self.wanted.contains(&NoticeKind::Decision)
        {
            self.state.outbox.notices.insert(NoticeName::Decision(inquiry.id.clone()));
        }
    }

    pub(super) fn resolve(&mut self, resolution: &Resolution) {
        if self.state.inquiries.end(resolution) {
            self.let_stand(resolution);
            let resolution = &self.state.with_names(resolution);
            self.state.outbox.journal_lines.insert(resolution.id.clone(), resolution.clone());
            // No one needs to be notified of what is decided.
            self.state.outbox.notices.remove(&NoticeName::Decision(resolution.id.clone()));
            self.effects.answers.push(resolution.clone());
            self.tell_whose_question(resolution);
        }
    }

    pub(super) fn hear(&mut self, event: &BusEvent) {
        let meant = self.state.agents.of_name(event);
        let event = meant.as_ref().unwrap_or(event);
        let inner = self.state.agents.of_inner_agent(event);
        // A host has sessions of its own, for example for a title, of which only the end is
        // reported.
        if let Some(report) = inner.as_ref().and_then(BusEvent::report)
            && report.source == StateSource::Notification
            && self.state.agents.get(&report.agent).is_none()
        {
            self.drop_as(DropReason::OtherSession.words());
            return;
        }
        let event = inner.as_ref().unwrap_or(event);
        let Some(report) = event.report() else { return };
        let may_come_late = matches!(
            event,
            BusEvent::AgentSignal(_) | BusEvent::AgentExited(_) | BusEvent::AgentGone(_)
        );
        if !may_come_late && self.state.has_ended(&report.agent) {
            let why = DropReason::Over.words();
            if let Some(pipeline) = self.state.pipelines.of_agent_mut(&report.agent) {
                pipeline.note_dropped(event, why, self.at);
            }
            self.drop_as(why);
            return;
        }
        // What an agent says about its work does not show its state: one about which nothing else
        // is known is not listed as working.
        let is_stranger = matches!(event, BusEvent::AgentSignal(_))
            && self.state.agents.get(&report.agent).is_none()
            && self.state.pipelines.of_agent(&report.agent).is_none();
        let heard =
            if is_stranger { Some(Applied::Same) } else { self.state.agents.hear(event, self.at) };
        self.state.agents.name_by_default(&report.agent);
        self.end_standing(&report.agent);
        if let Some(Applied::Dropped(why)) = heard {
            self.drop_as(why.words());
            self.tell_pipeline(event, heard);
            return;
        }
        // Part of the event itself, so that nothing is lost between the two.
        for resolution in self.state.overtaken(event, self.at) {
            self.resolve(&resolution);
            self.effects.followed.push(BusEvent::DecisionResolved(resolution));
        }
        if let BusEvent::AgentSignal(signal) = event
            && signal.kind == SignalKind::Escalate
            && let Some(id) = &signal.report.record
            && self.state.inquiries.get(id).is_none()
            // A pipeline asks in its own words.
            && !self.state.is_looked_after(&signal.report.agent)
        {
            let inquiry = escalation(signal, id.clone(), self.at);
            self.create(&inquiry);
            self.effects.followed.push(BusEvent::DecisionCreated(inquiry));
        }
        if heard == Some(Applied::Changed) {
            self.notice(&report.agent);
        }
        self.tell_pipeline(event, heard);
    }

    /// Makes an answer stand for the rest of the session, if a person said so, and counts the
    /// answers that follow from it.
    fn let_stand(&mut self, resolution: &Resolution) {
        if resolution.again {
            let agent = self.state.agents.get(&resolution.agent);
            let session = agent.and_then(|agent| agent.session.clone());
            self.state.inquiries.let_stand(resolution, session.as_deref());
        }
        if let Some(earlier) = &resolution.follows {
            self.state.inquiries.count_use(earlier);
        }
    }

    /// Removes the standing answers of an agent whose session ended or was replaced.
    fn end_standing(&mut self, id: &str) {
        if self.state.inquiries.standing().next().is_none() {
            return;
        }
        let agent = self.state.agents.get(id).filter(|agent| !agent.state.is_over());
        let session = agent.and_then(|agent| agent.session.clone());
        self.state.inquiries.end_standing(id, session.as_deref());
    }

    /// Adds the notice for an agent whose state changed.
    fn notice(&mut self, id: &str) {
        let Some(agent) = self.state.agents.get(id) else { return };
        // For each agent only the current state is reported, not earlier ones.
        self.state
            .outbox
            .notices
            .retain(|name| !matches!(name, NoticeName::Agent(other, ..) if other == id));
        // The pipeline that supervises it asks the person when it needs one.
        if self.state.is_looked_after(id) {
            return;
        }
        // A decision about it already notifies the person.
        let is_asked = matches!(agent.state, AgentState::Prompting(_))
            && self.state.inquiries.open_about(id).next().is_some();
        if let Some(kind) =
            notice_of_agent(agent).filter(|kind| self.wanted.contains(kind) && !is_asked)
        {
            self.state.outbox.notices.insert(NoticeName::Agent(
                id.to_owned(),
                kind,
                agent.activity,
            ));
        }
    }
}

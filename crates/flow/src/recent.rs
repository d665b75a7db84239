//! Recent events as they were published: kept in the state, so that followers can continue after
//! the daemon was away. The store has the events that were received, but not what followed from
//! them.

use std::collections::VecDeque;

use anyhook_model::daemon::{PublishedEvent, Subject};
use anyhook_model::{BusEvent, RecordId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::state::{DaemonState, EntryKind, StateEffects, StateEntry};

/// Maximum number of events that are kept.
pub const KEPT: usize = 2_000;

/// The latest events, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecentEvents {
    /// Every event with a higher number is kept; `None` if nothing was kept yet.
    after: Option<u64>,
    told: VecDeque<PublishedEvent>,
}

impl RecentEvents {
    /// Keeps the events of an entry; call it for every entry, including those without events.
    fn keep(&mut self, sequence: u64, told: &[PublishedEvent]) {
        let after = self.after.get_or_insert(sequence.saturating_sub(1));
        self.told.extend(told.iter().cloned());
        while self.told.len() > KEPT {
            let Some(oldest) = self.told.front().map(|told| told.sequence) else { return };
            // Events with the same number are removed together.
            while self.told.front().is_some_and(|told| told.sequence == oldest) {
                self.told.pop_front();
            }
            *after = oldest;
        }
    }

    /// Returns all events after a number; `None` if that goes further back than what is kept.
    pub fn after(&self, sequence: u64) -> Option<impl Iterator<Item = &PublishedEvent>> {
        let reaches = self.after.is_some_and(|after| after <= sequence);
        reaches.then(|| self.told.iter().filter(move |told| told.sequence > sequence))
    }

    /// Returns the event published for a journal record, if it is still kept.
    pub fn from_record(&self, record: &RecordId) -> Option<&PublishedEvent> {
        let is_it = |told: &&PublishedEvent| {
            told.part == 0
                && told.event.report().and_then(|report| report.record.as_ref()) == Some(record)
        };
        self.told.iter().rev().find(is_it)
    }

    /// Returns the events received since then, as far as they are kept.
    pub fn since(&self, moment: Timestamp) -> impl Iterator<Item = &PublishedEvent> {
        self.told.iter().filter(move |told| told.heard >= moment)
    }
}

impl DaemonState {
    /// Keeps the events of an entry and its effects, and returns them.
    pub fn keep_told(
        &mut self,
        sequence: u64,
        entry: &StateEntry,
        effects: &StateEffects,
    ) -> Vec<PublishedEvent> {
        let dropped = effects.dropped.map(str::to_owned);
        let heard = match &entry.what {
            EntryKind::Happened(event) => Some((&**event, dropped)),
            _ => None,
        };
        let followed = effects.followed.iter().map(|event| (event, None));
        let told: Vec<PublishedEvent> = (0..)
            .zip(heard.into_iter().chain(followed))
            .map(|(part, (event, dropped))| PublishedEvent {
                sequence,
                part,
                heard: entry.at,
                event: event.clone(),
                dropped,
                subject: self.subject(event),
            })
            .collect();
        self.recent.keep(sequence, &told);
        told
    }

    /// Returns what is known of the agent or pipeline that an event is about.
    pub fn subject(&self, event: &BusEvent) -> Subject {
        let (agent, pipeline) = match event {
            BusEvent::DecisionCreated(inquiry) => (Some(inquiry.agent.as_str()), None),
            BusEvent::DecisionResolved(resolution) => (Some(resolution.agent.as_str()), None),
            BusEvent::DecisionClaimed(claim)
            | BusEvent::DecisionReleased(claim)
            | BusEvent::DecisionRevoked(claim) => (Some(claim.agent.as_str()), None),
            BusEvent::AgentRenamed(renamed) => (Some(renamed.agent.as_str()), None),
            BusEvent::AlarmRaised(report) => (Some(report.agent.as_str()), None),
            event => match event.pipeline_report() {
                Some(report) => (report.agent.as_deref(), Some(report.pipeline.as_str())),
                None => (event.report().map(|report| report.agent.as_str()), None),
            },
        };
        let known = agent.and_then(|agent| self.agents.get(agent));
        let pipeline = match (pipeline, agent) {
            (Some(id), _) => self.pipelines.get(&RecordId::from_text(id)),
            (None, Some(agent)) => self.pipelines.of_agent(agent),
            (None, None) => None,
        };
        let project_of =
            |agent: &crate::agents::Agent| agent.project.clone().or_else(|| agent.work_dir.clone());
        Subject {
            agent_name: agent.and_then(|agent| self.agent_name(agent)),
            host: known.and_then(|agent| agent.host.clone()),
            project: known
                .and_then(project_of)
                .or_else(|| pipeline.map(|pipeline| pipeline.plan.project.clone())),
            pipeline: pipeline.map(|pipeline| pipeline.plan.id.to_string()),
            pipeline_name: pipeline.map(|pipeline| {
                pipeline.plan.run_name.clone().unwrap_or_else(|| pipeline.plan.name.clone())
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhook_model::bus::AgentReport;

    use super::*;

    fn told(sequence: u64, part: u32) -> PublishedEvent {
        PublishedEvent {
            sequence,
            part,
            heard: Timestamp::from_second(i64::try_from(sequence).unwrap()).unwrap(),
            event: BusEvent::AgentIdle(AgentReport::default()),
            dropped: None,
            subject: Subject::default(),
        }
    }

    #[test]
    fn those_who_follow_continue_where_they_were() {
        let mut recent = RecentEvents::default();
        assert!(recent.after(0).is_none(), "nothing is known of what was before");
        recent.keep(8, &[told(8, 0), told(8, 1)]);
        recent.keep(9, &[]);
        recent.keep(10, &[told(10, 0)]);
        let after = |number| {
            recent.after(number).map(|all| all.map(|told| told.sequence).collect::<Vec<_>>())
        };
        assert_eq!(after(6), None);
        assert_eq!(after(7), Some(vec![8, 8, 10]));
        assert_eq!(after(8), Some(vec![10]));
        assert_eq!(after(10), Some(vec![]));
        assert_eq!(recent.since(Timestamp::from_second(9).unwrap()).count(), 1);
    }

    #[test]
    fn what_is_kept_is_bounded_and_has_no_gaps() {
        let mut recent = RecentEvents::default();
        for sequence in 1..=2 * KEPT as u64 {
            recent.keep(sequence, &[told(sequence, 0), told(sequence, 1)]);
        }
        let first = 2 * KEPT as u64 - KEPT as u64 / 2;
        assert!(recent.after(first - 1).is_none());
        assert_eq!(recent.after(first).unwrap().count(), KEPT);
    }
}

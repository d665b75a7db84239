//! How long decisions waited for a person, according to the journal.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhook_hosts::bus_event::OURS;
use anyhook_model::report::stats::{NamedWaiting, WaitingStats};
use anyhook_model::{BusEvent, EventKind, Record};

use crate::histogram::Histogram;

/// How many agents and pipelines are counted separately; the decisions of others only count in the
/// total.
const NAMES: usize = 1_000;

/// How long decisions waited: in total, and by agent and pipeline.
#[derive(Clone, Debug, Default)]
pub struct WaitTally {
    all: Histogram,
    agents: BTreeMap<String, Histogram>,
    pipelines: BTreeMap<String, Histogram>,
}

impl WaitTally {
    /// Counts a record, if it is the resolution of a decision that a person was asked for.
    pub fn take(&mut self, record: &Record) {
        if record.host != OURS || !is_resolution(&record.event) {
            return;
        }
        let text = record.payload.as_ref().map(anyhook_model::Payload::as_text).unwrap_or_default();
        let Ok(BusEvent::DecisionResolved(made)) = serde_json::from_str(text) else { return };
        // One that follows from an earlier answer did not wait for anyone.
        let (Some(asked), None) = (made.asked, &made.follows) else { return };
        let waited = u64::try_from(made.at.duration_since(asked).as_micros()).unwrap_or(0);
        self.all.add(waited);
        add(&mut self.agents, made.agent_name.unwrap_or(made.agent), waited);
        if let Some(pipeline) = made.pipeline {
            add(&mut self.pipelines, pipeline, waited);
        }
    }

    /// Returns the statistics; `None` if nothing was counted.
    pub fn stats(&self) -> Option<WaitingStats> {
        Some(WaitingStats {
            all: self.all.stats()?,
            agents: named(&self.agents),
            pipelines: named(&self.pipelines),
        })
    }
}

fn is_resolution(event: &EventKind) -> bool {
    matches!(event, EventKind::Other(name) if name == "decision:resolved")
}

fn add(times: &mut BTreeMap<String, Histogram>, name: String, waited: u64) {
    if times.len() < NAMES || times.contains_key(&name) {
        times.entry(name).or_default().add(waited);
    }
}

fn named(times: &BTreeMap<String, Histogram>) -> Vec<NamedWaiting> {
    let mut named: Vec<NamedWaiting> = times
        .iter()
        .filter_map(|(name, times)| Some(NamedWaiting { name: name.clone(), time: times.stats()? }))
        .collect();
    named.sort_by_key(|one| Reverse(one.time.max_us));
    named
}

#[cfg(test)]
mod tests {
    use anyhook_model::Payload;
    use jiff::{SignedDuration, Timestamp};
    use serde_json::json;

    use super::*;

    fn record(agent: &str, seconds: i64, more: &serde_json::Value) -> Record {
        let at = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_000);
        let kind = EventKind::Other("decision:resolved".to_owned());
        let mut record = Record::new(anyhook_engine::new_id(), at, OURS, kind);
        let asked = at - SignedDuration::from_secs(seconds);
        let mut told = json!({
            "type": "decision:resolved", "id": "x", "agent": agent, "ending": "chosen",
            "by": "me", "at": at.to_string(), "asked": asked.to_string(),
        });
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record.payload = Some(Payload::new(told.to_string().as_bytes()));
        record
    }

    #[test]
    fn by_agent_and_by_pipeline() {
        let mut tally = WaitTally::default();
        assert_eq!(tally.stats(), None);
        tally.take(&record("a", 1, &json!({})));
        tally.take(&record("a", 3, &json!({})));
        tally.take(&record("b", 60, &json!({"agent_name": "review", "pipeline": "greet"})));
        tally.take(&record("b", 0, &json!({"follows": "y"})));
        tally.take(&Record::new(
            anyhook_engine::new_id(),
            Timestamp::UNIX_EPOCH,
            "codex",
            EventKind::BeforeTool,
        ));
        let stats = tally.stats().unwrap();
        assert_eq!((stats.all.count, stats.all.max_us), (3, 60_000_000));
        let names: Vec<(&str, u64)> =
            stats.agents.iter().map(|one| (one.name.as_str(), one.time.count)).collect();
        assert_eq!(names, [("review", 1), ("a", 2)]);
        assert_eq!(stats.pipelines[0].name, "greet");
    }
}

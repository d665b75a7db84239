//! Action counts and cooldowns: how often an action was taken, and when it may be taken again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use anyhook_model::reaction::{Action, Trigger};

/// Counts of every action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct ActionTallies(Vec<Tally>);

/// How often an action was taken, and until when it is not taken again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Tally {
    trigger: Trigger,
    /// The index of the rule, if there are several.
    rule: usize,
    done: u32,
    cool_at: Option<Timestamp>,
}

impl ActionTallies {
    /// Returns how often it was taken.
    pub(super) fn done(&self, trigger: Trigger, rule: usize) -> u32 {
        self.find(trigger, rule).map_or(0, |tally| tally.done)
    }

    /// Returns when its cooldown ends, if it is still running.
    pub(super) fn cools_until(
        &self,
        trigger: Trigger,
        rule: usize,
        now: Timestamp,
    ) -> Option<Timestamp> {
        self.find(trigger, rule)?.cool_at.filter(|until| *until > now)
    }

    /// Counts one more.
    pub(super) fn count(&mut self, trigger: Trigger, rule: usize, action: &Action, now: Timestamp) {
        let cool_at = action.cooldown.map(|long| now.checked_add(long).unwrap_or(Timestamp::MAX));
        let done = self.done(trigger, rule).saturating_add(1);
        self.0.retain(|tally| (tally.trigger, tally.rule) != (trigger, rule));
        self.0.push(Tally { trigger, rule, done, cool_at });
    }

    /// Resets the counts for idleness.
    pub(super) fn start_anew(&mut self) {
        for tally in &mut self.0 {
            if matches!(tally.trigger, Trigger::OnIdle | Trigger::OnStop) {
                tally.done = 0;
            }
        }
    }

    fn find(&self, trigger: Trigger, rule: usize) -> Option<&Tally> {
        self.0.iter().find(|tally| (tally.trigger, tally.rule) == (trigger, rule))
    }
}

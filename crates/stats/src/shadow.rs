//! Hooks that run only to be watched: what they would have done.

use anyhook_model::report::stats::ShadowStats;

use crate::tally::Tally;

/// Returns what a hook would have done, with the records of what it would have blocked.
///
/// Nothing if it never ran only to be watched. How many records there are at most was said in
/// [`crate::TallyScope::keep`].
pub fn shadow_of(tally: &Tally, hook: &str) -> Option<ShadowStats> {
    let all = tally.hook(hook);
    let last = all.would_block.all().cloned().collect();
    Some(ShadowStats { last, ..all.shadow }).filter(|shadow| shadow.runs > 0)
}

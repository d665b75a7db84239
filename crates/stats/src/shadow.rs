//! Shadow hooks, which run without effect: what they would have done.

use anyhook_model::report::stats::ShadowStats;

use crate::tally::Tally;

/// Returns what a hook would have done, with the records of what it would have blocked.
///
/// `None` if it never ran as a shadow hook. The maximum number of records is
/// [`crate::TallyScope::keep`].
pub fn shadow_of(tally: &Tally, hook: &str) -> Option<ShadowStats> {
    let all = tally.hook(hook);
    let last = all.would_block.all().cloned().collect();
    Some(ShadowStats { last, ..all.shadow }).filter(|shadow| shadow.runs > 0)
}

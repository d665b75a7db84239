//! Statistics of the journal.
//!
//! - [`journal`] reads it; [`tally`], [`runs`] and [`waits`] count records, [`histogram`] and
//!   [`top_n`] bound their memory;
//! - [`report`] turns the counts into what `anyhook stats --json` prints; [`shadow`] is for shadow
//!   hooks, which run without effect;
//! - [`page`] renders a report for people, [`prometheus`] exports the counts for machines.

pub mod histogram;
pub mod journal;
pub mod page;
pub mod prometheus;
pub mod report;
pub mod runs;
pub mod shadow;
pub mod tally;
#[cfg(test)]
mod tests;
pub mod top_n;
pub mod waits;

pub use journal::{NewestTally, StatsError, fails_closed};
pub use shadow::shadow_of;
pub use tally::{Tally, TallyScope};

//! Statistics of the journal.
//!
//! - [`journal`] reads it; [`tally`], [`runs`] and [`waits`] count records, [`histogram`] and [`top_n`]
//!   keep that small;
//! - [`report`] makes of it what `anyhook stats --json` prints; [`shadow`] is for hooks that are only
//!   watched;
//! - [`page`] shows a report to people, [`prometheus`] writes the counts for machines.

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

pub use journal::{StatsError, fails_closed};
pub use shadow::shadow_of;
pub use tally::{Tally, TallyScope};

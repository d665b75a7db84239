//! What people read of the things that anyhook knows: records and their verdicts, events of the
//! daemon, agents, decisions, pipelines and runbooks, as tables and pages.
//!
//! Commands and `anyhook top` show the same pages. Where they are shown, and how wide, is up to
//! those who ask for them.

pub mod agents;
pub mod decisions;
pub mod diagnostic;
pub mod doctor;
pub mod downtime;
pub mod events;
pub mod hooks;
pub mod hosts;
pub mod import;
pub mod packs;
pub mod pipeline;
pub mod plan;
pub mod record;
pub mod records;
pub mod runbook;
pub mod sarif;
pub mod search;
pub mod usage;
pub mod verdict;

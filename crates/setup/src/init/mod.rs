//! Sets up a machine and a project in one step, and undoes it: what `anyhook init` does.
//!
//! ```text
//!  survey ──▶ plan ──▶ a person chooses ──▶ apply ──▶ canary
//!                                             │
//!                                             └──▶ record ──▶ undo
//! ```
//!
//! - [`survey`]: the agents, the project, and what was added already; reads, writes nothing;
//! - [`plan`]: which packs are proposed, and why; pure;
//! - [`apply`]: adds the packs and installs into the agents, all of it or nothing;
//! - [`canary`]: makes a harmful call in an agent's place, and expects the agent's own denial;
//! - [`record`]: what was done; [`undo`] undoes exactly that;
//! - [`page`]: what a person sees of it.

pub mod apply;
pub mod canary;
pub mod page;
pub mod plan;
pub mod record;
pub mod survey;
pub mod undo;

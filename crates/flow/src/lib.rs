//! What outlives one event: the states of agents, and what waits for a person.
//!
//! Pure: `(state, event) → (state, effects)`. Nothing here reads a clock, a file or the
//! environment; the daemon does what the effects say.

pub mod agents;
pub mod fuzzing;
pub mod inquiries;
pub mod monitor;
pub mod names;
pub mod notices;
pub mod pipeline;
pub mod recent;
pub mod runbook;
pub mod state;

pub use state::{Effect, Entry, State, What};

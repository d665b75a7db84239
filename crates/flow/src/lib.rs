//! State that outlives one event: agents, pipelines, and requests that wait for a person.
//!
//! Pure: `(state, event) → (state, effects)`. Nothing here reads a clock, a file or the
//! environment; the daemon carries out what is in the [outbox] and sends the
//! [effects](StateEffects) to connected clients.

pub mod agents;
pub mod approval_requests;
pub mod fuzzing;
pub mod monitor;
pub mod names;
pub mod outbox;
pub mod pipeline;
pub mod ran_calls;
pub mod recent;
pub mod runbook;
pub mod state;

pub use outbox::{JobId, NoticeName, Outbox};
pub use state::{DaemonState, EntryKind, StateEffects, StateEntry};

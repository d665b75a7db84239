//! The hook path: what an agent calls at every step, and waits for. Short, synchronous, without an
//! argument parser.
//!
//! It is a separate crate so that a small program can contain it: starting `anyhook`, which can do
//! everything else as well, costs more than the decision. Both answer with the same function.
//!
//! ```text
//!  agent ──▶ anyhook-hook hook HOST ──┐
//!                                     ├──▶ answer ──▶ Engine::dispatch ──▶ reply
//!  agent ──▶ anyhook hook HOST ───────┘
//! ```

mod answer;
pub mod daemon_approver;
pub mod daemon_start;
pub mod environment;
mod foreign_entry;
pub mod full_binary;
pub mod panic_hook;
mod payload;
pub mod presence;
mod request;
mod watchdog;

pub use answer::answer;
pub use anyhook_engine::places::FolderOverrides;
pub use environment::Environment;
pub use request::{HookCall, find_host};

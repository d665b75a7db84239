//! The daemon: follows the journal and the agents' logs, knows every agent's state at once, and
//! carries a person's decisions to the hook processes that wait for them.
//!
//! ```text
//!  journal ──┐                    ┌──▶ store (durable first)
//!  logs ─────┤                    │
//!  processes ┼──▶ queue ──▶ core ─┼──▶ state (anyhook-flow, pure)
//!  clients ──┘   bounded    loop  │
//!                                 └──▶ runner: drains the state's outbox (jobs, notices, journal)
//! ```

pub mod caller;
pub mod core;
pub mod daemon;
pub mod faults;
mod frame;
pub mod gates;
mod grown;
pub mod launch;
mod logs;
pub mod notice;
pub mod presence;
mod processes;
pub mod runner;
mod running_call;
pub mod server;
pub mod session;
mod sqlite;
pub mod store;
pub mod task;
pub mod usage;
pub mod watch;

pub use daemon::{Daemon, DaemonError};

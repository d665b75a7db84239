//! The daemon: follows the journal and the agents' logs, tracks every agent's state, and delivers a
//! person's decisions to the hook processes that wait for them.
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
pub mod failpoints;
mod frame;
mod freeze;
pub mod gate_watcher;
mod journal_watcher;
pub mod launch;
mod log_watcher;
pub mod notice;
pub mod page_server;
pub mod presence;
mod process_watcher;
pub mod replies;
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

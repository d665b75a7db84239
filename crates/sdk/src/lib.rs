//! Hooks inside your own agent: functions beside HOOK.md hooks, in one order, with one journal.
//!
//! # Theory of operation
//!
//! An agent tells [`Hooks`] what it is about to do and what it has done. Each [event](Event) meets
//! the hooks that are due: HOOK.md folders of the machine, the user and the project, and the
//! [functions](FunctionHook) of the program itself. They go into **one plan**: by priority, high
//! first; at equal priority managed, user, project, program. The engine's own state machine
//! ([`anyhook_engine::dispatch::Dispatch`]) hands out one at a time, takes what it said and
//! composes the [`Verdict`]; this crate only drives it:
//!
//! - a function is awaited, with a time limit; a panic in it is its failure, never an abort;
//! - a script is run on a thread that may block, so that the runtime never does;
//! - an async hook of either kind is started aside ([`Hooks::wait_for_background_hooks`]) and
//!   journaled when it ends.
//!
//! Everything else is as in `anyhook hook`: matching, chained input changes, `on_failure`, shadow
//! mode, stop gates, trust, sessions, and a record in the same journal, so that `anyhook log`,
//! `stats` and `replay` know this agent, too.
//!
//! ```
//! use anyhook_sdk::{Decision, FunctionHook, Hooks, ToolCall};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let scratch = tempfile::tempdir()?;
//! let hooks = Hooks::builder("my-agent")
//! #   .places(anyhook_sdk::scratch_places(scratch.path()))
//!     .hook(FunctionHook::before_tool("no-mkfs", |event| {
//!         Box::pin(async move {
//!             Ok(match event.tool_text("command") {
//!                 Some(command) if command.contains("mkfs") => Decision::deny("not here"),
//!                 _ => Decision::default(),
//!             })
//!         })
//!     }))
//!     .build()?;
//!
//! let verdict = hooks.before_tool("session-1", &ToolCall::named("Shell", json!({"command": "mkfs /dev/sda"}))).await;
//! assert!(verdict.is_block());
//! assert_eq!(verdict.reason.as_deref(), Some("not here"));
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "agent")]
pub mod agent;
mod background;
mod call;
mod function;
mod hooks;
mod metrics;
#[cfg(feature = "openai")]
pub mod openai;
mod registry;
mod seen;
mod sync;

pub use anyhook_engine::Places;
pub use anyhook_model::{Decision, Effect, Event, EventKind, Verdict};

pub use background::Background;
pub use function::{BoxFuture, FunctionHook, HookError};
pub use hooks::{BuildError, Hooks, HooksBuilder, PlannedHook};
pub use metrics::{HookMetrics, HookOutcome, Metrics};
pub use seen::{SeenEvent, ToolCall};

/// The guide's examples.
#[cfg(all(doctest, feature = "agent"))]
#[doc = include_str!("../../../docs/guide/sdk.md")]
struct Guide;

/// Returns places below a folder, for tests and examples: nothing of the person's own gets in.
pub fn scratch_places(folder: &std::path::Path) -> Places {
    Places {
        managed: folder.join("managed"),
        user: Some(folder.join("config/agents")),
        state: Some(folder.join("state/anyhook")),
        home: Some(folder.to_owned()),
        binary: None,
    }
}

//! Hooks inside your own agent: functions and HOOK.md hooks in one order, with one journal.
//!
//! ```
//! use anyhook_sdk::{Decision, FunctionHook, Hooks, ToolCall};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let hooks = Hooks::builder("my-agent")
//!     .hook(FunctionHook::before_tool("no-mkfs", async |event| {
//!         Ok(match event.tool_text("command") {
//!             Some(command) if command.contains("mkfs") => Decision::deny("not here"),
//!             _ => Decision::default(),
//!         })
//!     }))
//!     .build()?;
//!
//! let call = ToolCall::new("Shell", json!({"command": "mkfs /dev/sda"}));
//! let verdict = hooks.before_tool("session-1", &call).await;
//! assert!(verdict.is_block());
//! assert_eq!(verdict.reason.as_deref(), Some("not here"));
//! # Ok(())
//! # }
//! ```
//!
//! With [`places(Places::discover())`](HooksBuilder::places) the HOOK.md hooks of the machine, the
//! user and the project are called, too.
//!
//! # Features
//!
//! | feature | | |
//! |---|---|---|
//! | – | [`Hooks`] around your own loop | always there |
//! | `agent` | pre- and post-hooks around whole runs, model hooks, a small agent loop: the module `agent` | on by default |
//! | `openai` | a model from a server that speaks OpenAI's chat completions: the module `openai` | off |
//! | `mcp` | tools of MCP servers, by name: `agent::mcp` | off |
//!
//! None of them changes a feature of `serde` or `serde_json`: your own types are read as before. So
//! numbers are what `serde_json` makes of them, exact as far as an `i64`, a `u64` or an `f64` is,
//! and objects have their keys in alphabetical order. A number too large for an `f64` in what a
//! hook's script prints is read as a text. (A program that turns on `arbitrary_precision` or
//! `preserve_order` of `serde_json` for itself has them here, too.)
//!
//! # Theory of operation
//!
//! An agent reports to [`Hooks`] what it is about to do and what it has done. Each [event](Event)
//! is dispatched to the hooks that apply: HOOK.md folders of the machine, the user and the project,
//! and the [functions](FunctionHook) of the program itself. They go into **one plan**: by priority,
//! high first; at equal priority managed, user, project, program. The engine's own state machine
//! ([`anyhook_engine::dispatch::Dispatch`]) hands out one at a time, takes its result and composes
//! the [`Verdict`]; this crate only drives it:
//!
//! - a function is awaited, with a time limit; a panic in it is its failure, never an abort;
//! - a script is run on a thread that may block, so that the runtime never does;
//! - an async hook of either kind runs in the background ([`Hooks::wait_for_background_hooks`]) and
//!   is journaled when it ends.
//!
//! Everything else is as in `anyhook hook`: matching, chained input changes, `on_failure`, shadow
//! mode, stop gates, trust, sessions, and a record in the same journal, so that `anyhook log`,
//! `stats` and `replay` know this agent, too.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "agent")]
pub mod agent;
mod background;
mod call;
mod events;
mod function;
mod hooks;
mod metrics;
#[cfg(feature = "openai")]
pub mod openai;
mod registry;
mod seen;
mod sync;

pub use anyhook_engine::Places;
pub use anyhook_model::event::NativeCall;
pub use anyhook_model::{
    Decision, Effect, Event, EventKind, Failure, RecordId, SkipReason, ToolCall, Verdict,
};

pub use background::Background;
pub use events::{Compaction, Stop, Subagent};
pub use function::{BoxFuture, EventHandler, FunctionHook, HookError};
pub use hooks::{BuildError, Hooks, HooksBuilder, PlannedHook};
pub use metrics::{HookMetrics, HookOutcome, Metrics};
pub use seen::SeenEvent;

#[cfg(feature = "agent")]
pub use futures_core;
pub use jiff;
#[cfg(feature = "agent")]
pub use schemars;
pub use serde_json;

/// The guide's examples.
#[cfg(all(doctest, feature = "agent"))]
#[doc = include_str!("../docs/guide.md")]
struct Guide;

/// The examples of the README.
#[cfg(all(doctest, feature = "agent"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// Returns places below a folder, for tests and examples: none of the user's own files are used.
pub fn scratch_places(folder: &std::path::Path) -> Places {
    Places {
        managed: folder.join("managed"),
        user: Some(folder.join("config/agents")),
        state: Some(folder.join("state/anyhook")),
        home: Some(folder.to_owned()),
        binary: None,
    }
}

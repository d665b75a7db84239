//! Workflows: stages that hand artifacts on, checked, through gates.
//!
//! ```text
//! workflow.toml ──definition──▶ Definition ─┐
//! workflow-state.json ────────▶ State ──────┼──machine──▶ State, Effects, or a Refusal
//! signal, artifacts ──schemas──▶ no fault ──┘
//! ```
//!
//! Nothing here reads a file or a clock: whoever asks brings the files' contents and the time.

#![expect(clippy::similar_names, reason = "a state has stages")]

pub mod context;
pub mod definition;
pub mod digest;
pub mod findings;
pub mod graph;
pub mod machine;
pub mod refusal;
pub mod schemas;
pub mod state;
pub mod ways;
pub mod words;

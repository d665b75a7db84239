//! Workflows: stages that pass on validated artifacts through gates.
//!
//! ```text
//! workflow.toml ──definition──▶ WorkflowDefinition ─┐
//! workflow-state.json ────────▶ WorkflowState ──────┼──machine──▶ WorkflowState, WorkflowEffects, or a WorkflowRefusal
//! signal, artifacts ──schemas──▶ no violation ──────┘
//! ```
//!
//! The rules read neither a file nor a clock: [`context`], [`definition`], [`digest`], [`event`],
//! [`findings`], [`graph`], [`machine`], [`method`], [`refusal`], [`schemas`], [`state`],
//! [`next_actions`], [`vocabulary`].
//!
//! The feature `project`, which is on by default, adds everything that is done with them in a
//! project:
//!
//! - [`project`]: the definition and the files of a project;
//! - [`store`], [`transaction`]: the state file, which is authoritative, and every change of it;
//! - [`submission`], [`validation`]: what an agent submits, and what is wrong with it;
//! - [`board`]: how far a workflow is, for a terminal;
//! - [`briefing`]: what an agent is given, as a text;
//! - [`documentation`], [`opinion`]: help from MCP servers, found and waited for by
//!   [`server_finder`];
//! - [`gate_request`], [`question`], [`watcher`]: people are asked through the daemon;
//! - [`registry`], [`listing`]: the workflows of this user, over all projects;
//! - [`report`]: the status of one, for programs;
//! - [`supervisor`]: starts the agents, and continues when they have submitted their work.
//!
//! All of it fails with a [`WorkflowError`](error::WorkflowError), and prints nothing.

#![expect(clippy::similar_names, reason = "a state has stages")]

pub mod context;
pub mod definition;
pub mod digest;
pub mod event;
pub mod findings;
pub mod fuzzing;
pub mod graph;
pub mod machine;
pub mod method;
pub mod next_actions;
pub mod refusal;
pub mod schemas;
pub mod state;
pub mod vocabulary;

#[cfg(test)]
mod testing;

#[cfg(feature = "project")]
pub mod board;
#[cfg(feature = "project")]
pub mod briefing;
#[cfg(feature = "project")]
pub mod caller;
#[cfg(feature = "project")]
pub mod changed;
#[cfg(feature = "project")]
pub mod documentation;
#[cfg(feature = "project")]
pub mod error;
#[cfg(feature = "project")]
pub mod gate_request;
#[cfg(feature = "project")]
pub mod listing;
#[cfg(feature = "project")]
pub mod opinion;
#[cfg(feature = "project")]
pub mod project;
#[cfg(feature = "project")]
pub mod question;
#[cfg(feature = "project")]
pub mod registry;
#[cfg(feature = "project")]
pub mod report;
#[cfg(feature = "project")]
pub mod server_finder;
#[cfg(feature = "project")]
mod session;
#[cfg(feature = "project")]
pub mod store;
#[cfg(feature = "project")]
pub mod submission;
#[cfg(feature = "project")]
pub mod supervisor;
#[cfg(feature = "project")]
pub mod transaction;
#[cfg(feature = "project")]
pub mod validation;
#[cfg(feature = "project")]
pub mod watcher;

//! Workflows on the disk: their definition, their state, their artifacts. The rules are in
//! `anyhook_workflow`; here files are read and written.
//!
//! - [`project`]: what the project says, and its files;
//! - [`store`]: the state file, which is the truth: locked, whole, with a way back;
//! - [`submission`]: what an agent hands in;
//! - [`context`]: what an agent is given;
//! - [`documentation`]: what is new about what the project is made with, for that agent;
//! - [`opinion`]: what another model thinks of what an agent made;
//! - [`event`]: which of the workflow's agents an event is about;
//! - [`gate`]: a person is asked through the daemon;
//! - [`watcher`]: people are asked at gates that nobody waits at;
//! - [`registry`]: the workflows of this user, over all projects;
//! - [`session`]: the sessions of agents that `workflow run` has started.

pub mod changed;
pub mod context;
pub mod documentation;
pub mod event;
pub mod gate;
pub mod opinion;
pub mod project;
pub mod registry;
pub mod session;
pub mod store;
pub mod submission;
pub mod watcher;

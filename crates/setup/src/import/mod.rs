//! Makes HOOK.md folders of the hooks in an agent's own settings: what `anyhook import` does.
//!
//! ```text
//!  survey ──▶ plan ──▶ a person agrees ──▶ carry_out: folders, then parking
//!                                                │
//!                                                └──▶ record ──▶ restore
//!  an event ──▶ run: the command as the agent ran it, its answer as the open format
//! ```
//!
//! - [`survey`]: the hooks in the settings, and those that were imported; reads, writes nothing;
//! - [`plan`]: what becomes of each hook, and why;
//! - [`words`]: what a hook's output can contain that only the agent itself acts on;
//! - [`folder`]: the files of an imported hook; [`definition`]: the one that says what it was;
//! - [`carry_out`]: writes the folders and takes the hooks out of the settings;
//! - [`record`]: what was taken out; [`restore`]: puts it back, byte for byte if no one has edited
//!   the file since;
//! - [`run`]: what the script of an imported hook does;
//! - [`report`]: what was found or done, as it is printed.

pub mod carry_out;
pub mod definition;
mod error;
pub mod folder;
pub mod plan;
pub mod record;
pub mod report;
pub mod restore;
pub mod run;
pub mod survey;
#[cfg(test)]
mod tests;
pub mod words;

pub use error::ImportError;

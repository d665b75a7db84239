//! What the hooks of the packs decide.
//!
//! A pack's hook has a one-line script that calls `anyhook guard NAME`. The command reads the event
//! from standard input and `metadata.options` from the hook's HOOK.md, and calls [`decide`] here;
//! the [`Answer`] goes back as exit code and JSON.
//!
//! ```text
//! event, options, place ──▶ decide(guard) ──▶ Answer: nothing, context, ask, deny, a changed input
//! ```
//!
//! Options are validated completely before anything is decided: one that is misspelled is an error,
//! and then the hook's `on_failure` decides.

pub mod answer;
pub mod checkpoint;
pub mod event;
pub mod options;
pub mod secrets;
pub mod sensitive;

use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value;

pub use answer::Answer;
pub use event::Event;
pub use options::GuardError;

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// Secrets in writes, commands, prompts and outputs.
    Secrets,
    /// Checkpoints before files are changed.
    Checkpoint,
}

/// Where a guard works.
#[derive(Clone, Debug)]
pub struct Place {
    /// The project's folder.
    pub project: PathBuf,
    /// The state folder; without one nothing can be counted.
    pub state: Option<PathBuf>,
    /// The agent, such as `claude-code`.
    pub host: String,
    /// The current time.
    pub now: Timestamp,
}

/// Returns a guard's answer to an event.
pub fn decide(
    guard: Guard,
    event: &Event,
    options: &Value,
    place: &Place,
) -> Result<Answer, GuardError> {
    match guard {
        Guard::Secrets => secrets::decide(event, &options::read(options)?, place),
        Guard::Checkpoint => checkpoint::decide(event, &options::read(options)?, place),
    }
}

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
pub mod context_on_start;
pub mod event;
pub mod file_tools;
pub mod format_on_write;
pub mod kept;
pub mod limits;
pub mod lint_on_write;
pub mod notify_when_waiting;
pub mod options;
pub mod pii;
pub mod project_tools;
pub mod secrets;
pub mod sensitive;
pub mod session_log;
pub mod shell_command;
pub mod tests_before_stop;

use std::path::{Path, PathBuf};

use anyhook_model::daemon::Usage;
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
    /// Tests before the agent stops.
    TestsBeforeStop,
    /// A formatter after a write.
    FormatOnWrite,
    /// A linter after a write.
    LintOnWrite,
    /// How many calls there may be.
    RateLimit,
    /// What a session and a day may cost.
    Budget,
    /// What a session should know when it starts.
    ContextOnStart,
    /// Tells a person that an agent waits.
    NotifyWhenWaiting,
    /// A line for each prompt, tool call and stop.
    SessionLog,
    /// Personal data in writes, commands, prompts and outputs.
    Pii,
}

/// Reads what a session has used: of this host, from this transcript, if the event names one, with
/// this id.
pub type UsageReader = fn(&str, Option<&Path>, &str) -> Option<Usage>;

/// Where a guard works.
#[derive(Clone, Debug)]
pub struct Place {
    /// The project's folder.
    pub project: PathBuf,
    /// The state folder; without one nothing can be counted.
    pub state: Option<PathBuf>,
    /// The agent, such as `claude-code`.
    pub host: String,
    /// The agent has an event for a permission request; what it then notifies of is known already.
    pub requests_permissions: bool,
    /// The current time.
    pub now: Timestamp,
    /// Reads what a session has used.
    pub usage: UsageReader,
}

#[cfg(test)]
impl Place {
    fn of_tests(project: &str) -> Self {
        Self {
            project: project.into(),
            state: None,
            host: "agent-hooks".to_owned(),
            requests_permissions: false,
            now: Timestamp::UNIX_EPOCH,
            usage: |_, _, _| None,
        }
    }
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
        Guard::TestsBeforeStop => tests_before_stop::decide(event, &options::read(options)?, place),
        Guard::FormatOnWrite => format_on_write::decide(event, &options::read(options)?, place),
        Guard::RateLimit => limits::rate::decide(event, &options::read(options)?, place),
        Guard::Budget => limits::budget::decide(event, &options::read(options)?, place),
        Guard::ContextOnStart => context_on_start::decide(event, &options::read(options)?, place),
        Guard::NotifyWhenWaiting => {
            notify_when_waiting::decide(event, &options::read(options)?, place)
        }
        Guard::SessionLog => session_log::decide(event, &options::read(options)?, place),
        Guard::Pii => pii::decide(event, &options::read(options)?, place),
        Guard::LintOnWrite => lint_on_write::decide(event, &options::read(options)?, place),
    }
}

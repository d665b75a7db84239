//! How the run of one hook ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How the run of one hook ended. Each outcome is data; none is an engine error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// It exited with this code.
    Exited(i32),
    /// It exited with this code and left a child behind that holds its output open.
    Leaked(i32),
    /// It was killed by a signal.
    Killed(i32),
    /// It timed out; it and all its descendants were killed after this many milliseconds.
    TimedOut(u64),
    /// anyhook received a signal: the hook and all its descendants were killed, or it was not
    /// started.
    Interrupted(i32),
    /// It was not started, and why.
    NotStarted(String),
    /// The caller no longer wants the answer.
    Cancelled,
    /// It is a function of the program, and it returned.
    Returned,
    /// It is declarative: its HOOK.md gave the answer, and nothing was started.
    Declared,
    /// It was started and runs in the background; its outcome is journaled later.
    Detached,
}

impl RunOutcome {
    /// Returns the exit code of a run that ended by itself.
    pub fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Exited(code) | Self::Leaked(code) => Some(*code),
            _ => None,
        }
    }
}

impl fmt::Display for RunOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(formatter, "exit {code}"),
            Self::Leaked(code) => write!(formatter, "exit {code}, left a child behind"),
            Self::Killed(signal) => write!(formatter, "killed by signal {signal}"),
            Self::TimedOut(limit) => write!(formatter, "timed out after {limit} ms"),
            Self::Interrupted(signal) => {
                write!(formatter, "interrupted: anyhook received signal {signal}")
            }
            Self::NotStarted(why) => write!(formatter, "not started: {why}"),
            Self::Cancelled => formatter.write_str("cancelled"),
            Self::Returned => formatter.write_str("returned"),
            Self::Declared => formatter.write_str("declared in HOOK.md"),
            Self::Detached => formatter.write_str("runs in the background"),
        }
    }
}

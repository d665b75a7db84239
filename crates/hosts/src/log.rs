//! The logs that agents write for themselves: where they are, and what a line says about its agent.
//!
//! They are not a public interface and change with every version. So a line counts only if it is
//! known to mean something; every other line is ignored, and so is a file's modification time.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhook_model::json::{self, Object};
use anyhook_model::{FailureKind, PromptType};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

mod calls;

use crate::log_database::LogDatabase;
use crate::usage::UsageTally;

pub(crate) use calls::about;
pub use calls::{BegunCall, ExecutedCall};

/// The maximum length of a line in bytes; a longer one is not read.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// The maximum number of prompts that are tracked at once.
const MAX_WAITS: usize = 64;

/// Where to look for a user's logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogRoots {
    /// The user's home folder.
    pub home: PathBuf,
    /// Which of [`crate::folder_variables`] are set, and their values.
    pub variables: BTreeMap<&'static str, PathBuf>,
}

impl LogRoots {
    /// Returns the folder that a variable names, otherwise one in the home folder.
    pub fn folder(&self, variable: &'static str, inner: &str) -> PathBuf {
        self.variables.get(variable).cloned().unwrap_or_else(|| self.home.join(inner))
    }
}

/// Logs of one kind, in subfolders of one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLocation {
    /// The folder that contains them all; it need not exist yet.
    pub folder: PathBuf,
    /// The names of the folders below it, and finally the file's; `*` stands for anything, once.
    pub names: &'static [&'static str],
    /// The format of the files.
    pub form: LogFormat,
}

impl LogLocation {
    /// Returns the queries for the logs here, if they are databases.
    pub fn database(&self) -> Option<&'static LogDatabase> {
        match self.form {
            LogFormat::Lines | LogFormat::Document(_) => None,
            LogFormat::Database(queries) => Some(queries),
        }
    }
}

/// The format of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One file per session, to which lines of JSON are appended.
    Lines,
    /// One file per session, a JSON object that is written anew whenever it changes: a line is an
    /// item of the list with this name, to which items are added.
    Document(&'static str),
    /// A database of many sessions; a line is the data of one of its rows.
    Database(&'static LogDatabase),
}

/// How an agent's logs are read. Pure functions of their contents.
#[derive(Clone, Copy, Debug)]
pub struct LogReader {
    /// Returns where they are.
    pub places: fn(&LogRoots) -> Vec<LogLocation>,
    /// Returns the state of a log before its first line, as far as the file's path determines it.
    pub begin: fn(&str) -> LogState,
    /// Parses the next line, or the data of a row: what it says about the agent, if anything. Calls
    /// that it reports as executed are added to the state.
    pub read_line: fn(&mut LogState, &str) -> Option<LogObservation>,
    /// Counts the tokens and turns that a line reports, if the log is read line by line.
    pub usage: Option<fn(&mut UsageTally, &Object)>,
}

/// Returns whether a name matches a pattern with at most one `*`.
pub fn is_named(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

/// What an agent is doing, according to its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// It is working.
    Working,
    /// It is done and waits for the user.
    Idle,
    /// A person interrupted its turn: it is idle, and no prompt is open any more.
    BrokenOff,
    /// It cannot continue without a person.
    Prompting(PromptType),
    /// Its turn failed, with this kind and this message.
    Failed(FailureKind, String),
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogObservation {
    /// When, according to the line itself.
    pub at: Option<Timestamp>,
    /// What the agent is doing.
    pub doing: Activity,
    /// Whether it is certain. If not, it holds unless a line that says otherwise follows soon.
    pub is_certain: bool,
}

impl LogObservation {
    pub(crate) fn certain(at: Option<Timestamp>, doing: Activity) -> Self {
        Self { at, doing, is_certain: true }
    }

    pub(crate) fn likely(at: Option<Timestamp>, doing: Activity) -> Self {
        Self { at, doing, is_certain: false }
    }
}

/// What is known about a log from the lines so far. It is small, however long the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogState {
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The agent's working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_dir: Option<String>,
    /// Whether it is a subagent's log, which says nothing about the agent's state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_subagent: bool,
    /// Whether a turn is in progress, if the log says when one starts and ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_turn: Option<bool>,
    /// The calls that wait for a person, and the kind of prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<(String, PromptType)>,
    /// The session that hooks are told, if it is another: that of the agent a subagent works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_session: Option<String>,
    /// The session that the beginning of the log was copied from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_from: Option<String>,
    /// When the log begins, according to its first lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Timestamp>,
    /// The calls that have no result yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begun: Vec<BegunCall>,
    /// The last calls whose results were read, if the log repeats results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<String>,
    /// The calls that the last line reported as executed.
    #[serde(skip)]
    executed: Vec<ExecutedCall>,
    /// How many lines could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unread: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl LogState {
    /// Returns the state of a log whose file name says nothing.
    pub(crate) fn unnamed(_: &str) -> Self {
        Self::default()
    }

    /// Returns the state of a log of which only the session is known.
    pub fn of_session(session: &str) -> Self {
        let mut state = Self::default();
        state.name_session(Some(session));
        state
    }

    /// Parses a line as an object; a line that is not an object is counted.
    pub(crate) fn object(&mut self, line: &str) -> Option<Object> {
        if line.trim().is_empty() {
            return None;
        }
        let object = if line.len() > MAX_LINE { None } else { serde_json::from_str(line).ok() };
        if object.is_none() {
            self.unread += 1;
        }
        object
    }

    /// Sets the session's name, unless it is already known or the name is invalid.
    pub(crate) fn name_session(&mut self, name: Option<&str>) {
        let is_name = |name: &&str| {
            !name.is_empty() && name.len() <= 200 && !name.chars().any(char::is_control)
        };
        if self.session.is_none() {
            self.session = name.filter(is_name).map(str::to_owned);
        }
    }

    /// Sets the session that hooks are told, if it is another than the log's.
    pub(crate) fn name_hook_session(&mut self, name: Option<&str>) {
        let mut named = Self::default();
        named.name_session(name);
        self.hook_session = named.session.filter(|name| self.session.as_ref() != Some(name));
    }

    /// Sets the agent's working folder.
    pub(crate) fn name_work_dir(&mut self, folder: Option<&str>) {
        if let Some(folder) = folder.filter(|folder| !folder.is_empty() && folder.len() <= 4096)
            && self.work_dir.as_deref() != Some(folder)
        {
            self.work_dir = Some(folder.to_owned());
        }
    }

    /// Records that a call waits for a person.
    pub(crate) fn wait(&mut self, call: &str, prompt: PromptType) {
        if self.waits.len() < MAX_WAITS && call.len() <= 200 {
            self.waits.push((call.to_owned(), prompt));
        }
    }

    /// Records that a call was answered.
    pub(crate) fn answered(&mut self, call: &str) {
        self.waits.retain(|(waiting, _)| waiting != call);
    }

    /// Returns the agent's activity when it continues with anything: a prompt is shown until it is
    /// answered, whatever else happens meanwhile.
    pub(crate) fn at_work(&self) -> Activity {
        self.waits.last().map_or(Activity::Working, |(_, prompt)| Activity::Prompting(*prompt))
    }

    /// Records that the turn is over.
    pub(crate) fn rest(&mut self) -> Activity {
        self.waits.clear();
        Activity::Idle
    }

    /// Records that a person interrupted the turn.
    pub(crate) fn break_off(&mut self) -> Activity {
        self.waits.clear();
        Activity::BrokenOff
    }

    /// Records that the turn failed.
    pub(crate) fn fail(&mut self, kind: FailureKind, message: &str) -> Activity {
        self.waits.clear();
        Activity::Failed(kind, json::shorten(message.trim(), 500))
    }
}

/// Returns a text of an object; an empty text counts as absent.
pub(crate) fn text<'object>(object: &'object Object, name: &str) -> Option<&'object str> {
    object.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// Returns the time in a text member of an object.
pub(crate) fn time(object: &Object, name: &str) -> Option<Timestamp> {
    text(object, name)?.parse().ok()
}

/// Returns the time that a value contains in seconds, with a fraction.
pub(crate) fn seconds(value: Option<&Value>) -> Option<Timestamp> {
    let time = jiff::SignedDuration::try_from_secs_f64(value?.as_f64()?).ok()?;
    Timestamp::from_duration(time).ok()
}

/// Returns the name of a folder in the path of a log: that of the file is number 0.
pub(crate) fn path_part(path: &str, number: usize) -> Option<&str> {
    path.rsplit('/').nth(number).filter(|name| !name.is_empty())
}

/// Returns the time that a value contains in milliseconds.
pub(crate) fn milliseconds(value: Option<&Value>) -> Option<Timestamp> {
    Timestamp::from_millisecond(value?.as_i64()?).ok()
}

/// Classifies a failure by the status of the model's reply, and by its message.
pub(crate) fn failure_kind(status: Option<u64>, words: &str) -> FailureKind {
    const CREDITS: [&str; 7] = [
        "credit balance",
        "out of credits",
        "insufficient_quota",
        "insufficient credits",
        "exceeded your current quota",
        "billing",
        "payment required",
    ];
    const NETWORK: [&str; 13] = [
        "connection error",
        "connection failed",
        "connection refused",
        "connection timed out",
        "unable to connect",
        "cannot connect",
        "fetch failed",
        "econnre",
        "enotfound",
        "etimedout",
        "network error",
        "error sending request",
        "stream disconnected",
    ];
    const LIMIT: [&str; 7] = [
        "rate limit",
        "rate_limit",
        "too many requests",
        "usage limit",
        "usage_limit",
        "overloaded",
        "429",
    ];
    const LOGIN: [&str; 8] = [
        "unauthorized",
        "authentication",
        "invalid api key",
        "api key not valid",
        "please run /login",
        "oauth token",
        "permission_denied",
        "providerautherror",
    ];
    let words = words.to_lowercase();
    let tells = |known: &[&str]| known.iter().any(|known| words.contains(known));
    match status {
        _ if tells(&CREDITS) => FailureKind::OutOfCredits,
        Some(402) => FailureKind::OutOfCredits,
        Some(401 | 403) => FailureKind::Unauthorized,
        Some(429) => FailureKind::RateLimited,
        Some(status) if status >= 100 => FailureKind::Other,
        _ if tells(&NETWORK) => FailureKind::NoNetwork,
        _ if tells(&LIMIT) => FailureKind::RateLimited,
        _ if tells(&LOGIN) => FailureKind::Unauthorized,
        _ => FailureKind::Other,
    }
}

#[cfg(test)]
mod tests;

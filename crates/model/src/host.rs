//! The `Host` trait: how an agent's program sends its payloads and how it is answered.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::PromptType;
use crate::approval_request::{AgentQuestion, QuestionAnswer};
use crate::event::{Event, ToolCall};
use crate::exit_code;
use crate::json::{Object, OpaqueField};
use crate::kind::EventKind;
use crate::verdict::Verdict;

pub use crate::agent_names::HOST_IDS;
use crate::agent_names::HOST_NAMES;

/// What the hook process knows in addition to the payload.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The folder the host started us in.
    pub work_dir: PathBuf,
    /// The project folder that the host passed in its environment.
    pub project_dir: Option<PathBuf>,
    /// The time of the call.
    pub now: Timestamp,
    /// The id given to the agent when it was started (`ANYHOOK_AGENT_ID`).
    pub agent_id: Option<String>,
    /// Whose entry this is and who runs it, if those are two agents.
    pub foreign_entry: Option<Box<ForeignEntry>>,
}

/// A call through an entry in another agent's settings: some agents also run the hooks in the
/// settings of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForeignEntry {
    /// The agent in whose settings the entry is.
    pub of: String,
    /// The agent that runs it.
    pub run_by: String,
}

/// Stands for the agent in whose settings an entry is, if it is in a package of our own among the
/// agent's plugins instead.
const PLUGIN: &str = "plugin";

impl ForeignEntry {
    /// Returns the entry of our package among the plugins of an agent.
    pub fn of_plugin(host: &str) -> Self {
        Self { of: PLUGIN.to_owned(), run_by: host.to_owned() }
    }

    /// Returns whether it is in a package of ours.
    pub fn is_of_plugin(&self) -> bool {
        self.of == PLUGIN
    }
}

impl Caller {
    /// Creates a caller of which only the folder and the time are known.
    pub fn new(work_dir: impl Into<PathBuf>, now: Timestamp) -> Self {
        Self {
            work_dir: work_dir.into(),
            project_dir: None,
            now,
            agent_id: None,
            foreign_entry: None,
        }
    }
}

/// The reply to the host's program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The text for standard output.
    pub stdout: String,
    /// The text for standard error.
    pub stderr: String,
    /// The exit code.
    pub exit_code: u8,
    /// The parts of the verdict that the host cannot express.
    pub lost: Vec<Lost>,
    /// Whether it blocks, by whatever means: a reply that cannot be written must not become an
    /// approval.
    pub blocks: bool,
}

/// How to tell a host to block when there is no time for anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateRefusal {
    /// The text for standard output.
    pub stdout: &'static str,
    /// The exit code.
    pub exit_code: u8,
}

/// A part of a verdict that a host cannot express.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lost {
    /// The part, such as `ask` or `additional_context`.
    pub what: String,
    /// What was sent instead.
    pub instead: String,
}

/// A payload that cannot be read as an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The payload is not JSON.
    #[error("the event is not JSON: {0}")]
    NotJson(String),
    /// The payload is JSON, but not an object.
    #[error("the event must be a JSON object, not {0}")]
    NotAnObject(&'static str),
    /// The payload does not say which event it is.
    #[error("the event has no `event_type`")]
    NoEventType,
    /// The payload could not be received.
    #[error("the event {0}")]
    NotTaken(String),
    /// `event_type` is not a string.
    #[error("`event_type` must be a string, not {0}")]
    EventTypeNotText(&'static str),
    /// The event's name is unknown, and it carries a tool call.
    #[error("the event `{0}` is unknown and carries a tool call")]
    UnknownEvent(String),
}

/// An agent's program: parses its payloads and encodes its replies. Both are pure functions.
pub trait Host: Sync {
    /// Returns the name used on the command line and in a hook's `hosts`.
    fn id(&self) -> &'static str;

    /// Decodes one payload into one or more events, to be dispatched in order.
    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError>;

    /// Returns the values that [`Self::decode`] passes on without examining them, except for the
    /// names of their members: of a large one that concerns no hook, the beginning is enough.
    fn opaque_fields(&self) -> &'static [OpaqueField] {
        &[]
    }

    /// Encodes the verdict on `event`. This cannot fail: every path ends in a reply.
    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply;

    /// Translates a changed canonical input into the host's own exactly, or returns why it cannot.
    ///
    /// A host that uses canonical names has nothing to translate.
    fn native_input(&self, call: &ToolCall, changed: &Object) -> Result<Option<Value>, String> {
        let _ = (call, changed);
        Ok(None)
    }

    /// Returns the questions to the user that a tool call consists of.
    fn questions(&self, call: &ToolCall) -> Vec<AgentQuestion> {
        let _ = call;
        Vec::new()
    }

    /// Extracts the command of a call from the argument with which the host starts a shell, without
    /// what the host adds to it. Returns `None` for a host that itself reports when a call was
    /// allowed in its own dialog: only for the others is it necessary to look for a running
    /// command.
    fn running_command<'shell>(&self, shell_argument: &'shell str) -> Option<&'shell str> {
        let _ = shell_argument;
        None
    }

    /// Returns whether such a question can only be answered by key presses in its dialog: a hook's
    /// reply does not carry the answer.
    fn is_answered_by_keys(&self) -> bool {
        false
    }

    /// Returns what must be merged into the input of such a call to give it these answers.
    fn answered(&self, answers: &[QuestionAnswer]) -> Object {
        let _ = answers;
        Object::new()
    }

    /// Returns whether the host can ask the user at this event.
    fn can_ask(&self, event: &Event) -> bool {
        let _ = event;
        true
    }

    /// Returns whether a warning at this event reaches the user, or at least the model.
    fn can_warn(&self, event: &EventKind) -> bool {
        let _ = event;
        true
    }

    /// Returns whether the agent shows warnings to the user, and not only to the model.
    fn warns_person(&self) -> bool {
        true
    }

    /// Encodes the reply to a payload that could not be parsed.
    ///
    /// `guarded` means that a hook with `on_failure: block` is installed, which this payload must
    /// not bypass.
    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply;

    /// Returns what blocks a tool call if there is no answer in time: exit 2, where that blocks.
    fn late_refusal(&self) -> &'static LateRefusal {
        &LateRefusal { stdout: "", exit_code: exit_code::BLOCKED }
    }

    /// Returns the variables in which the host passes the project folder, the most reliable first.
    fn project_variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the names its process may have: its own, or that of its runtime.
    fn process_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the kind of prompt the host shows when it calls this tool, if it is a question to
    /// the user.
    fn prompt_tool(&self, tool: &str) -> Option<PromptType> {
        let _ = tool;
        None
    }

    /// Returns after how many blocks in a turn the host itself allows a stop, if it does.
    fn stop_cap(&self) -> Option<u32> {
        None
    }
}

/// Returns the ids of the hosts that a name stands for: in any case, with `_`, `-`, a space or
/// nothing between its words, or by the program's name. Empty for any other name.
pub fn host_ids(name: &str) -> Vec<&'static str> {
    fn letters(text: &str) -> impl Iterator<Item = u8> {
        let bytes = text.trim().bytes().filter(|byte| !matches!(byte, b'_' | b'-' | b' '));
        bytes.map(|byte| byte.to_ascii_lowercase())
    }
    let is_name = |known: &str| letters(known).eq(letters(name));
    if let Some(id) = HOST_IDS.into_iter().find(|id| is_name(id)) {
        return vec![id];
    }
    let other = HOST_NAMES.iter().find(|(known, _)| is_name(known));
    other.map(|(_, ids)| ids.to_vec()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_known_in_any_case_and_by_their_programs() {
        for name in ["claude-code", "Claude-Code", "claude_code", "Claude Code", "claude"] {
            assert_eq!(host_ids(name), ["claude-code"], "{name}");
        }
        assert_eq!(host_ids("OpenCode"), ["opencode"]);
        assert_eq!(host_ids("kimi"), ["kimi-cli", "kimi-code"]);
        assert_eq!(host_ids("emacs"), [""; 0]);
        for (_, ids) in HOST_NAMES {
            assert!(ids.iter().all(|id| HOST_IDS.contains(id)), "{ids:?}");
        }
    }
}

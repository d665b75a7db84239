//! Descriptions of agents as data: a [`HostSpec`] in each agent's folder.
//!
//! It has two halves. A [`Protocol`] is what an agent's hooks need, and all that the small hook
//! program links. The rest of a [`HostSpec`] is for people and for the daemon; its settings depend
//! on parsers that the hook path must not link. So nothing in a [`Protocol`] may refer to its
//! [`HostSpec`].

use std::fmt;
use std::path::{Path, PathBuf};

use anyhook_model::approval_request::{AgentQuestion, QuestionAnswer};
use anyhook_model::json::{Object, OpaqueField};
use anyhook_model::{
    Caller, DecodeError, Event, EventKind, Host, LateRefusal, PromptType, Reply, ToolCall, Verdict,
    exit_code,
};
use serde_json::Value;

use crate::capabilities::{Capability, Quirk};
use crate::contract::{self, Contract, Proof, Standing};
use crate::dialog::Dialog;
use crate::launch::Launch;
use crate::log::{LogLocation, LogObservation, LogReader, LogRoots, LogState};
use crate::offline::Offline;
use crate::payload::ShellCall;
use crate::reply_builder;
use crate::slash_command::{CommandFile, HostCommand};
use crate::tool::{self, HostTool, NativeTool};
use crate::transcript::TranscriptReader;
use crate::wiring::{
    AgentStart, DisplacedSettings, HookInvocation, Injection, SettingsEdits, SettingsError,
    SettingsScope, SettingsTexts, WiringStatus,
};

/// How an agent and its hooks communicate: what the hook path knows about an agent.
pub struct Protocol {
    /// The name on the command line and in a hook's `hosts`.
    pub id: &'static str,
    /// The names its process may have: its own, or that of its runtime.
    pub process_names: &'static [&'static str],
    /// The variables in which it passes the project folder to hooks, the most reliable first.
    pub project_variables: &'static [&'static str],
    /// The variables with which people choose where its settings and logs are.
    pub folder_variables: &'static [&'static str],
    /// The variables that it sets for the commands of hooks, and that no other agent sets there: by
    /// these a hook knows that it was started by this agent, whoever's settings it is in.
    pub hook_variables: &'static [&'static str],
    /// The agents whose settings it reads, too, and whose hooks it runs: their ids.
    pub also_runs_hooks_of: &'static [&'static str],
    /// Its tools that have a canonical name.
    pub tools: &'static [HostTool],
    /// What a hook can do at each event: one row per event, in the order of [`EventKind::all`].
    pub capabilities: &'static [Capability],
    /// The values that [`Codec::decode`] passes on without examining them, except for the names of
    /// their members.
    pub opaque_fields: &'static [OpaqueField],
    /// The tools with which it asks the user something.
    pub prompt_tools: &'static [(&'static str, PromptType)],
    /// Whether such a question can only be answered by key presses in its dialog.
    pub is_answered_by_keys: bool,
    /// After how many blocks in a turn it allows a stop, if it does.
    pub stop_cap: Option<u32>,
    /// Who sees warnings.
    pub warns: WarningAudience,
    /// What blocks a tool call if there is no answer in time.
    pub late_refusal: &'static LateRefusal,
    /// Decodes its payloads and encodes its replies.
    pub codec: &'static dyn Codec,
}

/// Blocks with exit code 2, as most agents understand it.
pub static EXIT_CODE_REFUSAL: LateRefusal =
    LateRefusal { stdout: "", exit_code: exit_code::BLOCKED };

/// Who sees the warnings in a reply.
#[derive(Clone, Copy, Debug)]
pub enum WarningAudience {
    /// The user, at every event.
    Person,
    /// The model, at these events only.
    Model(&'static [EventKind]),
}

/// Decodes an agent's payloads and encodes its replies: both are pure functions.
pub trait Codec: Sync {
    /// Decodes one payload into one or more events, to be dispatched in order.
    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError>;

    /// Encodes the verdict on `event` as a reply. This cannot fail: every path ends in a reply.
    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply;

    /// Puts the changed input of a call into the form in which the agent takes it, if that is not the
    /// form of the input itself; the error says why the agent cannot take it.
    fn wrapped_input(&self, call: &ToolCall, input: Value) -> Result<Value, String> {
        let _ = call;
        Ok(input)
    }

    /// Returns whether a payload is this agent's, in its own form and not that of another agent
    /// whose hooks it runs; `None` if that cannot be told from a payload.
    fn is_own(&self, payload: &[u8]) -> Option<bool> {
        let _ = payload;
        None
    }

    /// Encodes the reply to a payload that could not be parsed; see [`Host::refuse`].
    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply {
        reply_builder::refuse(error, guarded)
    }

    /// Returns the questions to the user that a tool call consists of.
    fn questions(&self, call: &ToolCall) -> Vec<AgentQuestion> {
        let _ = call;
        Vec::new()
    }

    /// Returns what must be merged into the input of such a call to give it these answers.
    fn answered(&self, answers: &[QuestionAnswer]) -> Object {
        let _ = answers;
        Object::new()
    }

    /// Extracts the command of a call from the argument with which the agent starts a shell; see
    /// [`Host::running_command`].
    fn running_command<'shell>(&self, shell_argument: &'shell str) -> Option<&'shell str> {
        let _ = shell_argument;
        None
    }
}

impl Host for Protocol {
    fn id(&self) -> &'static str {
        self.id
    }

    fn decode(&self, payload: &[u8], caller: &Caller) -> Result<Vec<Event>, DecodeError> {
        self.codec.decode(payload, caller)
    }

    fn opaque_fields(&self) -> &'static [OpaqueField] {
        self.opaque_fields
    }

    fn encode(&self, event: &Event, verdict: &Verdict) -> Reply {
        self.codec.encode(event, verdict)
    }

    fn native_input(&self, call: &ToolCall, changed: &Object) -> Result<Option<Value>, String> {
        // A change that cannot be made is the hook's failure: `on_failure` decides what becomes of
        // the call.
        if !self.capabilities.iter().any(|row| row.modify) {
            return Err("no hook can change the input of a tool in this agent".to_owned());
        }
        let input = tool::native_input(self.tools, call, changed)?;
        input.map(|input| self.codec.wrapped_input(call, input)).transpose()
    }

    fn questions(&self, call: &ToolCall) -> Vec<AgentQuestion> {
        self.codec.questions(call)
    }

    fn running_command<'shell>(&self, shell_argument: &'shell str) -> Option<&'shell str> {
        self.codec.running_command(shell_argument)
    }

    fn is_answered_by_keys(&self) -> bool {
        self.is_answered_by_keys
    }

    fn answered(&self, answers: &[QuestionAnswer]) -> Object {
        self.codec.answered(answers)
    }

    fn can_ask(&self, event: &Event) -> bool {
        self.capabilities.iter().any(|row| row.event == event.kind && row.ask)
    }

    fn can_warn(&self, event: &EventKind) -> bool {
        match self.warns {
            WarningAudience::Person => true,
            WarningAudience::Model(events) => events.contains(event),
        }
    }

    fn warns_person(&self) -> bool {
        matches!(self.warns, WarningAudience::Person)
    }

    fn refuse(&self, error: &DecodeError, guarded: bool) -> Reply {
        self.codec.refuse(error, guarded)
    }

    fn late_refusal(&self) -> &'static LateRefusal {
        self.late_refusal
    }

    fn project_variables(&self) -> &'static [&'static str] {
        self.project_variables
    }

    fn process_names(&self) -> &'static [&'static str] {
        self.process_names
    }

    fn prompt_tool(&self, tool: &str) -> Option<PromptType> {
        let found = self.prompt_tools.iter().find(|(name, _)| *name == tool);
        found.map(|(_, prompt)| *prompt)
    }

    fn stop_cap(&self) -> Option<u32> {
        self.stop_cap
    }
}

impl fmt::Debug for Protocol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Protocol").field(&self.id).finish()
    }
}

/// An agent's program: everything anyhook knows about it.
pub struct HostSpec {
    /// What the hook path needs.
    pub protocol: &'static Protocol,
    /// Its display name.
    pub title: &'static str,
    /// Other names that people write in a hook's `hosts`.
    pub other_names: &'static [&'static str],
    /// The name of its program.
    pub program: &'static str,
    /// The package it comes in.
    pub package: Package,
    /// Which versions behave as described here, and how that is known: the earliest first.
    pub contracts: &'static [Contract],
    /// The variables that it sets for the commands it runs, and that nothing else sets: neither an
    /// editor's terminal nor a person's own settings.
    pub session_variables: &'static [&'static str],
    /// Its tools that are special forms of a canonical one: in a matcher, the name of such a tool
    /// stands only for itself.
    pub special_tools: &'static [&'static str],
    /// Its tools that have no canonical name.
    pub other_tools: &'static [NativeTool],
    /// Fields of such tools that look as if they held a command and do not: tool, field.
    pub other_tool_texts: &'static [(&'static str, &'static str)],
    /// How it differs from what you would expect.
    pub quirks: &'static [Quirk],
    /// How long hooks may take: a little less than it waits for them.
    pub limits: TimeLimits,
    /// Its position in the search for an agent if none is named: the lowest is tried first.
    pub search_order: u32,
    /// Edits its settings.
    pub settings: &'static dyn SettingsEditor,
    /// Returns the arguments that make its command line start with a prompt, or resume a session.
    pub launch: fn(&Launch<'_>) -> Vec<String>,
    /// Returns whether a start takes its prompt as an argument; otherwise it must be typed once the
    /// agent is ready.
    pub takes_prompt: fn(&Launch<'_>) -> bool,
    /// Returns what its hooks receive before it runs a command.
    pub shell_call: fn(&ShellCall<'_>) -> Value,
    /// Returns the dialog that its screen shows, plain or with colours, if no hook reports it or
    /// none can answer it.
    pub dialog: Option<fn(&str) -> Option<Dialog>>,
    /// Reads the logs that it writes for itself.
    pub log: Option<LogReader>,
    /// Reconstructs from its transcripts the payloads that its hooks received.
    pub transcript: Option<TranscriptReader>,
    /// Runs it without its vendor, with a model at a local address.
    pub offline: Option<&'static dyn Offline>,
}

/// The package in which an agent's program comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Package {
    /// A package of the npm registry.
    Npm(&'static str),
    /// A package of the Python Package Index.
    PyPi(&'static str),
    /// None that a package manager could install.
    Elsewhere,
}

impl Package {
    /// Returns the name of the npm package, if it is one.
    pub fn npm(self) -> Option<&'static str> {
        match self {
            Self::Npm(name) => Some(name),
            Self::PyPi(_) | Self::Elsewhere => None,
        }
    }
}

/// How long hooks may take, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimits {
    /// At the end of a session.
    pub session_end_ms: u64,
    /// At every other event.
    pub other_ms: u64,
}

impl HostSpec {
    /// Returns the name on the command line and in a hook's `hosts`.
    pub fn id(&self) -> &'static str {
        self.protocol.id
    }

    /// Returns the latest version with which everything here was tested; `None` if it was never run.
    pub fn tried_version(&self) -> Option<&'static str> {
        let supported = self.contracts.iter().filter(|contract| contract.is_supported);
        supported.rev().find_map(|contract| match contract.proof {
            Proof::Run(version) => Some(version),
            Proof::FactSheet(_) => None,
        })
    }

    /// Returns what its contracts say of a version.
    pub fn standing(&self, version: &str) -> Standing {
        contract::standing(self.contracts, version)
    }

    /// Returns how long hooks may take at an event, in milliseconds.
    pub fn limit_ms(&self, event: &EventKind) -> u64 {
        match event {
            EventKind::SessionEnd => self.limits.session_end_ms,
            _ => self.limits.other_ms,
        }
    }

    /// Returns its own name for an event, if it has the event.
    pub fn native_name(&self, event: &EventKind) -> Option<&'static str> {
        self.protocol.capabilities.iter().find(|row| row.event == *event)?.native
    }

    /// Returns what its hooks receive before it runs a command in a folder.
    pub fn shell_payload(&self, command: &str, session: &str, work_dir: &Path) -> Vec<u8> {
        let event = self.native_name(&EventKind::BeforeTool).unwrap_or_default();
        self.shell_payload_at(event, command, session, work_dir)
    }

    /// Returns the same at another of its events, by its own name for it; where a prompt is what it is
    /// about, that is the command.
    pub fn shell_payload_at(
        &self,
        event: &str,
        command: &str,
        session: &str,
        work_dir: &Path,
    ) -> Vec<u8> {
        let tool = self.protocol.tools.iter().find(|tool| tool.canonical == "Shell");
        let tool = tool.map_or("", |tool| tool.native);
        let call = ShellCall { event, tool, command, session, work_dir };
        let mut payload = (self.shell_call)(&call);
        if let Some(fields) = payload.as_object_mut()
            && self.native_name(&EventKind::BeforeAgent) == Some(event)
        {
            fields.insert("prompt".to_owned(), command.into());
        }
        payload.to_string().into_bytes()
    }

    /// Returns the dialog that its screen shows, if no hook reports it or none can answer it.
    pub fn dialog(&self, screen: &str) -> Option<Dialog> {
        self.dialog.and_then(|read| read(screen))
    }

    /// Returns where the logs are that it writes for itself.
    pub fn log_places(&self, homes: &LogRoots) -> Vec<LogLocation> {
        self.log.as_ref().map(|log| (log.places)(homes)).unwrap_or_default()
    }

    /// Returns the state of a log before its first line, as far as the file's path determines it.
    pub fn begin_log(&self, path: &str) -> LogState {
        self.log.as_ref().map(|log| (log.begin)(path)).unwrap_or_default()
    }

    /// Parses the next line of a log, or the data of a row: what it says about the agent, if
    /// anything. The [calls](LogState::take_executed) that it reports as executed are in the state
    /// until the next line.
    pub fn read_log_line(&self, state: &mut LogState, line: &str) -> Option<LogObservation> {
        drop(state.take_executed());
        let says = self.log.as_ref().and_then(|log| (log.read_line)(state, line));
        if state.began.is_none() {
            state.began = says.as_ref().and_then(|says| says.at);
        }
        says
    }
}

impl fmt::Debug for HostSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("HostSpec").field(&self.id()).finish()
    }
}

/// Edits an agent's settings so that it calls us: texts in, texts out.
pub trait SettingsEditor: Sync {
    /// Returns the settings files that are edited.
    fn files(&self, scope: &SettingsScope) -> Vec<PathBuf>;

    /// Returns further files that determine whether it calls us and are never edited.
    fn further_files(&self, scope: &SettingsScope) -> Vec<PathBuf> {
        let _ = scope;
        Vec::new()
    }

    /// Returns further files that these texts refer to, such as those of plugins, and that
    /// determine whether it calls us.
    fn files_named_in(&self, scope: &SettingsScope, texts: &SettingsTexts) -> Vec<PathBuf> {
        let _ = (scope, texts);
        Vec::new()
    }

    /// Adds our entries: returns the new texts of the files that change.
    fn wire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
        call: &HookInvocation,
    ) -> Result<SettingsEdits, SettingsError>;

    /// Removes our entries: returns the new texts of the files that change.
    fn unwire(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<SettingsEdits, SettingsError>;

    /// Determines whether and how it calls us.
    fn inspect(
        &self,
        scope: &SettingsScope,
        texts: &SettingsTexts,
    ) -> Result<WiringStatus, SettingsError>;

    /// Returns what makes the agent call us for one start of it, in addition to what the user and
    /// the project have configured; its settings files stay unchanged.
    ///
    /// Whether its settings already make it call us is for the caller to [inspect](Self::inspect).
    fn inject(&self, start: &AgentStart<'_>) -> Result<Injection, SettingsError> {
        let _ = start;
        Ok(Injection { why_not: Some("this has never been tested"), ..Injection::default() })
    }

    /// Returns the settings that an injection replaces, according to the user's files, the agent's
    /// command line and its environment; `None` if the agent combines them.
    fn displaced(
        &self,
        scope: &SettingsScope,
        run: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Option<DisplacedSettings> {
        let _ = (scope, run, variable);
        None
    }

    /// Returns the file from which the agent reads a command that people type, if it supports that.
    fn command_file(
        &self,
        scope: &SettingsScope,
        command: &HostCommand<'_>,
    ) -> Option<CommandFile> {
        let _ = (scope, command);
        None
    }
}

//! What is said over the daemon's socket.
//!
//! A frame is a length of four bytes, most significant first, and so many bytes of JSON. Both
//! sides begin with a [`Hello`]; then the client sends one [`Request`] after another and gets one
//! [`Response`] to each, but for [`Request::Follow`], which gets one for every event from then on.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agent::{AgentState, FailureKind, ProcessName, PromptType, Source};
use crate::bus::{AgentReport, BusEvent};
use crate::id::RecordId;
use crate::inquiry::{Claim, Inquiry, Resolution, Standing};
use crate::json::Object;
use crate::pipeline::{PipelineLine, PipelineView, Plan, SessionView};

/// The version of the protocol.
///
/// - 1: the first.
pub const PROTOCOL_VERSION: u32 = 1;

/// A longer frame is refused unread.
pub const FRAME_LIMIT: usize = 64 * 1024 * 1024;

/// The first frame of both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hello {
    /// [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// The version of anyhook, for people.
    pub anyhook: String,
}

impl Hello {
    /// Makes the greeting of this version.
    pub fn ours() -> Self {
        Self { protocol: PROTOCOL_VERSION, anyhook: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// How the daemon is.
    Status,
    /// End in order.
    Stop,
    /// Every agent.
    Agents,
    /// Every decision: those that are open, and those lately made.
    Decisions,
    /// Make a decision.
    Resolve(Resolve),
    /// Say that a decision is somebody's to make.
    Claim(ClaimRequest),
    /// Take that back.
    Release(ClaimRequest),
    /// Every answer that stands for the rest of a session.
    Standing,
    /// Take a standing answer back.
    Revoke(ClaimRequest),
    /// Give an agent another name.
    Rename {
        /// The agent's id or name, or the beginning of it.
        agent: String,
        /// The name.
        name: String,
        /// Who wants it.
        by: String,
    },
    /// Wait for a person's answer.
    Ask(Box<Ask>),
    /// Every event from now on, after a number of [`Told::sequence`], or since a time.
    Follow {
        /// The number of the last event that is known.
        #[serde(default)]
        after: Option<u64>,
        /// Recent events that were heard since then, as far as they are remembered. Ignored if
        /// there is a number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        since: Option<Timestamp>,
    },
    /// The event that a record of the journal told, and whether it changed anything.
    EventOfRecord {
        /// The record's id.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        record: RecordId,
    },
    /// Every pipeline; long values of variables are cut short.
    Pipelines,
    /// One pipeline.
    Pipeline {
        /// Its id, or the beginning of it.
        id: String,
    },
    /// Begin a pipeline.
    RunPipeline(Box<RunPipeline>),
    /// End a pipeline before it is done.
    CancelPipeline(PipelineRequest),
    /// Take up a pipeline that failed or was cancelled.
    ResumePipeline(PipelineRequest),
    /// What happened to a pipeline.
    PipelineLog {
        /// Its id, or the beginning of it.
        id: String,
        /// The number of the last line that is known.
        #[serde(default)]
        after: u64,
    },
    /// Where an agent's session is.
    Session {
        /// The agent's id, or the beginning of it.
        agent: String,
    },
    /// Type something into an agent's session.
    Send(Box<Send>),
    /// End an agent.
    Kill {
        /// The agent's id, or the beginning of it.
        agent: String,
        /// Who wants it.
        by: String,
    },
}

/// What is to become of a decision, beside its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimRequest {
    /// The decision's id, or the beginning of it.
    pub id: String,
    /// Who it is.
    pub by: String,
}

/// A pipeline that is to begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunPipeline {
    /// What is to be done.
    pub plan: Plan,
    /// The environment its commands and agents get; it may hold secrets, and is not stored with the
    /// rest.
    pub environment: BTreeMap<String, String>,
    /// Who begins it.
    pub by: String,
}

/// What is to become of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PipelineRequest {
    /// Its id, or the beginning of it.
    pub id: String,
    /// The step to take it up at; where it stopped, if there is none.
    #[serde(default)]
    pub step: Option<String>,
    /// The environment, where it is taken up.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Who wants it.
    pub by: String,
}

/// Something to type into an agent's session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Send {
    /// The agent's id, or the beginning of it.
    pub agent: String,
    /// What to type.
    pub text: String,
    /// Whether to type even if the agent is at a prompt, which would take it for an answer.
    #[serde(default)]
    pub force: bool,
    /// Who types.
    pub by: String,
}

/// A decision that a person makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resolve {
    /// The decision's id, or the beginning of it.
    pub id: String,
    /// The option: its number, or its name. Of a question, the answer: the numbers or texts of its
    /// options, or free text.
    pub choice: String,
    /// The answers to further questions of the same decision, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<String>,
    /// What the person says beside it.
    #[serde(default)]
    pub message: Option<String>,
    /// Who it is.
    pub by: String,
    /// Whether exactly the same call is allowed again for the rest of the agent's session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// What a hook process wants to know from a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ask {
    /// What is asked. Asking again with the same id is asking on.
    pub inquiry: Inquiry,
    /// What is known of the agent.
    pub report: AgentReport,
}

/// What the daemon answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// How the daemon is.
    Status(Box<DaemonStatus>),
    /// It is done.
    Done,
    /// Every agent.
    Agents(Vec<AgentView>),
    /// Every decision.
    Decisions(Vec<DecisionView>),
    /// A decision, as it is now.
    Decision(Box<DecisionView>),
    /// Every answer that stands.
    Standing(Vec<Standing>),
    /// How a decision ended: the one that was made, or waited for.
    Resolved(Box<Resolution>),
    /// Something happened.
    Told(Box<Told>),
    /// The event of a record; none if the daemon does not know it, or no longer.
    EventOfRecord(Option<Box<Told>>),
    /// Every pipeline.
    Pipelines(Vec<PipelineView>),
    /// One pipeline: what was asked for, begun, cancelled or taken up.
    Pipeline(Box<PipelineView>),
    /// What happened to a pipeline.
    PipelineLog(Vec<PipelineLine>),
    /// Where an agent's session is.
    Session(SessionView),
    /// It cannot be done.
    Refused(Refusal),
}

/// Something that happened, and its place in the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Told {
    /// Its number.
    pub sequence: u64,
    /// Its place among those that share the number: what followed from an event has the event's.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub part: u32,
    /// When the daemon heard of it.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub heard: Timestamp,
    /// What happened.
    pub event: BusEvent,
    /// Why it changed nothing, where another source knew better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<String>,
    /// What is known of the agent or pipeline it is about.
    #[serde(default, skip_serializing_if = "Subject::is_empty")]
    pub subject: Subject,
}

impl Told {
    /// Returns the event as one flat object, with its number and what is known of its subject.
    pub fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.insert("sequence".to_owned(), self.sequence.into());
        object.insert("heard".to_owned(), self.heard.to_string().into());
        object.extend(self.event.to_object());
        let Subject { agent_name, host, project, pipeline, pipeline_name } = &self.subject;
        let known = [
            ("agent_name", agent_name),
            ("host", host),
            ("project", project),
            ("pipeline", pipeline),
            ("pipeline_name", pipeline_name),
            ("dropped", &self.dropped),
        ];
        for (key, value) in known {
            if let Some(value) = value
                && !object.contains_key(key)
            {
                object.insert(key.to_owned(), value.clone().into());
            }
        }
        object
    }
}

/// The agent or pipeline that an event is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subject {
    /// The name people know the agent by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// The agent's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The id of the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<String>,
    /// The name people know the pipeline by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline_name: Option<String>,
}

impl Subject {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Why something cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// A short, stable name.
    pub code: RefusalCode,
    /// What is wrong.
    pub message: String,
    /// The next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// The other side speaks another version.
    Version,
    /// The request cannot be read.
    BadRequest,
    /// There is no such thing.
    Unknown,
    /// More than one thing goes by that name.
    Ambiguous,
    /// There is no such option.
    NoSuchChoice,
    /// Somebody was first.
    AlreadyResolved,
    /// An agent wants to answer what a person is asked.
    NotAPerson,
    /// The store cannot be written.
    Store,
    /// Too much waits already.
    Busy,
    /// It cannot be done as things stand: a pipeline that is over, an agent at a prompt.
    NotNow,
}

/// How the daemon is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DaemonStatus {
    /// Its process.
    pub pid: u32,
    /// The version of anyhook.
    pub version: String,
    /// Since when it runs.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// How many agents it knows that are not over.
    pub agents: usize,
    /// How many decisions are open.
    pub decisions: usize,
    /// How many pipelines are not over.
    #[serde(default)]
    pub pipelines: usize,
    /// The number of the last stored event.
    pub events: u64,
    /// The store's size in bytes.
    pub store_bytes: u64,
    /// Where it reads the journal.
    pub journal: Option<String>,
    /// Log files that are watched, by host.
    pub logs: Vec<WatchedLogs>,
    /// What is worth knowing: what was repaired, what cannot be watched, notices that failed.
    pub notes: Vec<String>,
    /// Who started it.
    #[serde(default)]
    pub started_by: StartedBy,
    /// When no daemon ran before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Downtime>,
}

/// Who started a daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StartedBy {
    /// A command.
    #[default]
    Command,
    /// A hook event of an agent.
    Hook,
    /// The end of a pipeline's command, or of an agent's session.
    Keeper,
    /// The service manager.
    Service,
}

impl StartedBy {
    /// Returns its name, as it is in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Hook => "hook",
            Self::Keeper => "keeper",
            Self::Service => "service",
        }
    }

    /// Returns the one of that name; a command for any other.
    pub fn from_name(name: &str) -> Self {
        let all = [Self::Hook, Self::Keeper, Self::Service];
        all.into_iter().find(|by| by.name() == name).unwrap_or_default()
    }
}

/// A time in which no daemon ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Downtime {
    /// When the daemon before last gave a sign of life.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub from: Timestamp,
    /// When the next one was started.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub to: Timestamp,
    /// How the daemon before ended.
    pub cause: DownCause,
}

/// How a daemon ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DownCause {
    /// It was killed, or crashed.
    Killed,
    /// A person stopped it.
    Stopped,
    /// It ended in order: the system was shut down, or its socket was removed.
    Ended,
}

/// The logs of one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchedLogs {
    /// The host.
    pub host: String,
    /// How many files are known.
    pub files: usize,
}

/// An agent, as `anyhook agent list --json` tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentView {
    /// Its id.
    pub id: String,
    /// The name people know it by; its id, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `working`, `idle`, `prompting`, `failed`, `exited` or `gone`.
    pub state: String,
    /// At what prompt it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_type: Option<PromptType>,
    /// Why its turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureKind>,
    /// Where the state is known from.
    pub source: Source,
    /// Since when.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// When it was last heard of.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub seen: Timestamp,
    /// Its host.
    pub host: Option<String>,
    /// Its session.
    pub session: Option<String>,
    /// The folder it works in.
    pub work_dir: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// The tool it runs or asks about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessName>,
    /// The log its host writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The open decision about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<RecordId>,
    /// The pipeline it works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<RecordId>,
    /// When no daemon ran, if that is news; only where one is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon_down: Option<Downtime>,
    /// What its transcript tells of tokens and turns; told by `anyhook agent show`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl AgentView {
    /// Returns the name people know it by.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    /// Returns the state as it is in the book of agents.
    pub fn full_state(&self) -> AgentState {
        match self.state.as_str() {
            "idle" => AgentState::Idle,
            "prompting" => AgentState::Prompting(self.prompt_type.unwrap_or_default()),
            "failed" => AgentState::Failed(self.failure.unwrap_or_default()),
            "exited" => AgentState::Exited,
            "gone" => AgentState::Gone,
            _ => AgentState::Working,
        }
    }
}

/// A decision, as `anyhook decision list --json` tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionView {
    /// What is asked.
    pub inquiry: Inquiry,
    /// What became of it; none while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// The name people know the agent by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// The project of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The pipeline of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<String>,
    /// Who said that it is theirs to make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Claim>,
    /// How long it has waited or had waited, in milliseconds.
    #[serde(default)]
    pub waited_ms: u64,
}

impl DecisionView {
    /// Returns the name people know the agent by.
    pub fn shown_agent(&self) -> &str {
        self.agent_name.as_deref().unwrap_or(&self.inquiry.agent)
    }
}

/// What agents used, as their own transcripts tell. What a host does not tell is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// How often a person told it something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Tokens sent to the model, without those read from or written to its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens the model wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Tokens read from the model's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Tokens written to the model's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
}

impl Usage {
    /// Tells whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns both together; what neither tells stays absent.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        Self {
            turns: sum(self.turns, other.turns),
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            cache_read_tokens: sum(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: sum(self.cache_write_tokens, other.cache_write_tokens),
        }
    }
}

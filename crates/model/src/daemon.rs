//! The protocol of the daemon's socket: requests, responses and what they contain.
//!
//! A frame is a length of four bytes, big-endian, followed by that many bytes of JSON. Both sides
//! begin with a [`Hello`]; then the client sends one [`Request`] after another and gets one
//! [`Response`] to each, except for [`Request::Follow`], which gets one for every event from then
//! on.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agent::{AgentState, FailureKind, ProcessName, PromptType, StateSource};
use crate::approval_request::{
    AnswerSignature, ApprovalRequest, Claim, Resolution, StandingAnswer,
};
use crate::bus::{AgentReport, BusEvent};
use crate::id::RecordId;
use crate::json::Object;
use crate::pipeline::{PipelineLine, PipelinePlan, PipelineView, SessionView};

/// The version of the protocol.
///
/// - 1: the first.
pub const PROTOCOL_VERSION: u32 = 1;

/// The maximum length of a frame; a longer one is rejected unread.
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
    /// Creates the greeting of this version.
    pub fn ours() -> Self {
        Self { protocol: PROTOCOL_VERSION, anyhook: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// A request from a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// The daemon's status.
    Status,
    /// Shut down cleanly.
    Stop,
    /// Every agent.
    Agents,
    /// Every decision: open and recently made ones.
    Decisions,
    /// Make a decision.
    Resolve(ResolveDecision),
    /// Claim a decision.
    Claim(ClaimRequest),
    /// Release a claimed decision.
    Release(ClaimRequest),
    /// Every standing answer, valid for the rest of a session.
    Standing,
    /// Revoke a standing answer.
    Revoke(ClaimRequest),
    /// Rename an agent.
    Rename {
        /// The agent's id or name, or a prefix of it.
        agent: String,
        /// The name.
        name: String,
        /// Who requested it.
        by: String,
    },
    /// Wait for a person's answer.
    Ask(Box<Ask>),
    /// Every event from now on, after a [`PublishedEvent::sequence`] number, or since a time.
    Follow {
        /// The number of the last event already received.
        #[serde(default)]
        after: Option<u64>,
        /// Recent events received since then, as far as they are kept. Ignored if `after` is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        since: Option<Timestamp>,
    },
    /// The event reported by a journal record, and whether it changed anything.
    EventOfRecord {
        /// The record's id.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        record: RecordId,
    },
    /// Every pipeline; long variable values are truncated.
    Pipelines,
    /// One pipeline.
    Pipeline {
        /// Its id, or a prefix of it.
        id: String,
    },
    /// Start a pipeline.
    RunPipeline(Box<RunPipeline>),
    /// Cancel a pipeline.
    CancelPipeline(PipelineRequest),
    /// Resume a pipeline that failed or was cancelled.
    ResumePipeline(PipelineRequest),
    /// A pipeline's log.
    PipelineLog {
        /// Its id, or a prefix of it.
        id: String,
        /// The number of the last line already received.
        #[serde(default)]
        after: u64,
    },
    /// Where an agent's session is.
    Session {
        /// The agent's id, or a prefix of it.
        agent: String,
    },
    /// Type something into an agent's session.
    Send(Box<SendKeys>),
    /// Let an agent continue whose process was stopped because of a call that no hook was asked about.
    Thaw {
        /// The agent's id, or a prefix of it.
        agent: String,
        /// Who requested it.
        by: String,
    },
    /// Stop an agent.
    Kill {
        /// The agent's id, or a prefix of it.
        agent: String,
        /// Who requested it.
        by: String,
    },
    /// Serve the page, unless it is served already, and return a link that opens it once.
    OpenPage(OpenPage),
    /// Stop serving the page, and end its sessions.
    ClosePage {
        /// Who requested it.
        by: String,
    },
    /// Serve the page in the network, for paired devices, unless it is served there already.
    OpenLan(OpenLan),
    /// Continue pairing a device.
    PairDevice(PairDevice),
}

/// A request for the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenPage {
    /// The page to open first, such as `/decisions/7k2m9x4q`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Who requested it.
    pub by: String,
}

/// Where the page is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageLink {
    /// The link: it opens the page once, and soon.
    pub link: String,
    /// The page's address, for a browser that has opened it before.
    pub address: String,
    /// For how many seconds the link is valid.
    pub seconds: u64,
}

/// A request for the page in the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenLan {
    /// The address of this machine to listen at; the one that leads to the network, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The port; the one of last time, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Whether a device is to be paired.
    #[serde(default)]
    pub pair: bool,
    /// Who requested it.
    pub by: String,
}

/// Where the page is in the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LanPage {
    /// Its address.
    pub address: String,
    /// The SHA-256 of its certificate, in hexadecimal digits.
    pub fingerprint: String,
    /// The pairing that has begun, if one was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairing: Option<PairingLink>,
}

/// The link that pairs one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairingLink {
    /// The pairing's id.
    pub id: String,
    /// The link. What follows its `#` is secret, and no browser sends it.
    pub link: String,
    /// For how many seconds the link is valid.
    pub seconds: u64,
}

/// The next step of a pairing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairDevice {
    /// The pairing's id.
    pub id: String,
    /// What is to be done.
    pub step: PairingStep,
    /// Who requested it.
    pub by: String,
}

/// A step of a pairing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PairingStep {
    /// Wait a few seconds for a device.
    Wait,
    /// Let the device in, if this is the code that it shows.
    Confirm {
        /// The code, as a person has read it from the device.
        code: String,
    },
    /// Refuse the device, and forget the pairing.
    Cancel,
}

/// How far a pairing is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PairingState {
    /// No device has used the link yet.
    Waiting,
    /// A device has used it, and waits for a person.
    Arrived {
        /// What it calls itself.
        name: String,
    },
    /// The code was not the one that the device shows.
    WrongCode {
        /// How many more codes are accepted.
        left: u8,
    },
    /// The device is paired.
    Paired {
        /// Its name.
        name: String,
    },
    /// The pairing was cancelled.
    Cancelled,
}

/// A claim on a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimRequest {
    /// The decision's id, or a prefix of it.
    pub id: String,
    /// Who decides.
    pub by: String,
}

/// A pipeline to start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunPipeline {
    /// What to do.
    pub plan: PipelinePlan,
    /// The environment of its commands and agents; it may contain secrets, and is not stored with
    /// the rest.
    pub environment: BTreeMap<String, String>,
    /// Who starts it.
    pub by: String,
}

/// A cancel or resume request for a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PipelineRequest {
    /// Its id, or a prefix of it.
    pub id: String,
    /// The step to resume at; where it stopped, if absent.
    #[serde(default)]
    pub step: Option<String>,
    /// The environment, if it is resumed.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Who requested it.
    pub by: String,
}

/// Text to type into an agent's session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SendKeys {
    /// The agent's id, or a prefix of it.
    pub agent: String,
    /// What to type.
    pub text: String,
    /// Whether to type even if the agent is at a prompt, which would treat it as an answer.
    #[serde(default)]
    pub force: bool,
    /// Who sends it.
    pub by: String,
}

/// A decision made by a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResolveDecision {
    /// The decision's id, or a prefix of it.
    pub id: String,
    /// The option: its number or name. For a question, the answer: the numbers or texts of its
    /// options, or free text.
    pub choice: String,
    /// The answers to the remaining questions of the same decision, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<String>,
    /// A message from the person who decides.
    #[serde(default)]
    pub message: Option<String>,
    /// Who decides.
    pub by: String,
    /// Whether to allow exactly the same call for the rest of the agent's session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// The digest of the call that the person has seen; the answer is refused if the decision is
    /// about another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The signature of the device that answers. Only the daemon's own page has checked one: it is
    /// ignored in a request from the socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Box<AnswerSignature>>,
}

/// A question from a hook process to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ask {
    /// What is asked. Asking again with the same id continues the same approval request.
    pub inquiry: ApprovalRequest,
    /// What is known about the agent.
    pub report: AgentReport,
}

/// A response from the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// The daemon's status.
    Status(Box<DaemonStatus>),
    /// The request was carried out.
    Done,
    /// Every agent.
    Agents(Vec<AgentView>),
    /// Every decision.
    Decisions(Vec<DecisionView>),
    /// A decision and its current state.
    Decision(Box<DecisionView>),
    /// Every standing answer.
    Standing(Vec<StandingAnswer>),
    /// How a decision ended: the one just made, or waited for.
    Resolved(Box<Resolution>),
    /// Something happened.
    Told(Box<PublishedEvent>),
    /// The event of a record; none if the daemon does not have it, or no longer does.
    EventOfRecord(Option<Box<PublishedEvent>>),
    /// Every pipeline.
    Pipelines(Vec<PipelineView>),
    /// One pipeline: requested, started, cancelled or resumed.
    Pipeline(Box<PipelineView>),
    /// A pipeline's log.
    PipelineLog(Vec<PipelineLine>),
    /// Where an agent's session is.
    Session(SessionView),
    /// Where the page is.
    Page(PageLink),
    /// Where the page is in the network.
    Lan(LanPage),
    /// How far a pairing is.
    Pairing(PairingState),
    /// The request was refused.
    Refused(Refusal),
}

/// An event, and its position in the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedEvent {
    /// Its sequence number.
    pub sequence: u64,
    /// Its position among events that share the number: consequences of an event have the event's
    /// number.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub part: u32,
    /// When the daemon received it.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub heard: Timestamp,
    /// What happened.
    pub event: BusEvent,
    /// Why it changed nothing, if another source took precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<String>,
    /// What is known about the agent or pipeline it concerns.
    #[serde(default, skip_serializing_if = "Subject::is_empty")]
    pub subject: Subject,
}

impl PublishedEvent {
    /// Returns the event as one flat object, with its number and what is known about its subject.
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

/// The agent or pipeline an event is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subject {
    /// The agent's display name.
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
    /// The pipeline's display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline_name: Option<String>,
}

impl Subject {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero_long(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Why a request was refused.
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

/// The kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// The other side uses a different protocol version.
    Version,
    /// The request cannot be read.
    BadRequest,
    /// Not found.
    Unknown,
    /// The name is ambiguous.
    Ambiguous,
    /// There is no such option.
    NoSuchChoice,
    /// Someone else was first.
    AlreadyResolved,
    /// An agent tried to answer a question meant for a person.
    NotAPerson,
    /// The store cannot be written.
    Store,
    /// Too many requests are waiting already.
    Busy,
    /// It cannot be done in the current state: the pipeline has ended, or the agent is at a prompt.
    NotNow,
}

/// The daemon's status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DaemonStatus {
    /// Its process.
    pub pid: u32,
    /// The version of anyhook.
    pub version: String,
    /// When it was started.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// The number of active agents.
    pub agents: usize,
    /// The number of open decisions.
    pub decisions: usize,
    /// The number of active pipelines.
    #[serde(default)]
    pub pipelines: usize,
    /// The number of the last stored event.
    pub events: u64,
    /// The store's size in bytes.
    pub store_bytes: u64,
    /// The journal it reads.
    pub journal: Option<String>,
    /// Watched log files, by host.
    pub logs: Vec<WatchedLogs>,
    /// Notes: what was repaired, what cannot be watched, notices that failed.
    pub notes: Vec<String>,
    /// Who started it.
    #[serde(default)]
    pub started_by: StartedBy,
    /// When no daemon was running before this one.
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
    /// Returns its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Hook => "hook",
            Self::Keeper => "keeper",
            Self::Service => "service",
        }
    }

    /// Returns the variant of that name; a command for any other name.
    pub fn from_name(name: &str) -> Self {
        let all = [Self::Hook, Self::Keeper, Self::Service];
        all.into_iter().find(|by| by.name() == name).unwrap_or_default()
    }
}

/// A period in which no daemon was running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Downtime {
    /// When the previous daemon was last alive.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub from: Timestamp,
    /// When the next daemon started.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub to: Timestamp,
    /// How the previous daemon ended.
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
    /// It exited cleanly: the system was shut down, or its socket was removed.
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

/// An agent, as printed by `anyhook agent list --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentView {
    /// Its id.
    pub id: String,
    /// Its display name; its id if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `working`, `idle`, `prompting`, `failed`, `exited` or `gone`.
    pub state: String,
    /// The kind of prompt it is waiting at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_type: Option<PromptType>,
    /// Why its turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureKind>,
    /// Where the state comes from.
    pub source: StateSource,
    /// When this state began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// When it was last seen.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub seen: Timestamp,
    /// Its host.
    pub host: Option<String>,
    /// Its session.
    pub session: Option<String>,
    /// Its working folder.
    pub work_dir: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// The tool it is running or asking about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessName>,
    /// The log file its host writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// How many calls it has executed that no hook was asked about.
    #[serde(default, skip_serializing_if = "is_zero_long")]
    pub unguarded: u64,
    /// Whether its process was stopped because of such a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen: bool,
    /// The open decision about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<RecordId>,
    /// The pipeline it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<RecordId>,
    /// When no daemon was running, if not yet reported; only present for a single agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daemon_down: Option<Downtime>,
    /// Tokens and turns according to its transcript; only in `anyhook agent show`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl AgentView {
    /// Returns its display name.
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    /// Returns the state with its kind of prompt or failure.
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

/// A decision, as printed by `anyhook decision list --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionView {
    /// What is asked.
    pub inquiry: ApprovalRequest,
    /// How it ended; none while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// The agent's display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// The agent's project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The agent's pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<String>,
    /// Who claimed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Claim>,
    /// How long it has been waiting, or had been, in milliseconds.
    #[serde(default)]
    pub waited_ms: u64,
}

impl DecisionView {
    /// Returns the agent's display name.
    pub fn shown_agent(&self) -> &str {
        self.agent_name.as_deref().unwrap_or(&self.inquiry.agent)
    }
}

/// What agents used, according to their own transcripts. Values that a host does not report are
/// absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// How many prompts it received from a user.
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
    /// Returns whether nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the sum of both; values that are absent in both stay absent.
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

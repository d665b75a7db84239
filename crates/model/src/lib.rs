//! The types of anyhook that cross a process boundary or are stored on disk.
//!
//! The whole product in one sentence: events in, decisions out, everything journaled. This crate
//! contains the nouns of that sentence and nothing that does I/O:
//!
//! - [`Event`]: something an agent is about to do or has done, as a hook sees it;
//! - [`Decision`]: one hook's decision about it; [`RunOutcome`]: how that hook's run ended;
//! - [`Verdict`]: the combined result of all hooks, naming those that decided and those that
//!   failed;
//! - [`Reply`]: what the agent's program receives, made by a [`Host`];
//! - [`Record`]: one line of the journal.

pub mod agent;
pub mod agent_directives;
mod agent_names;
pub mod alarm;
pub mod approval_request;
pub mod bus;
pub mod case;
pub mod daemon;
pub mod decision;
pub mod derived;
pub mod event;
pub mod exit_code;
pub mod file_path;
pub mod hook;
pub mod host;
pub mod id;
pub mod id_prefix;
pub mod json;
pub mod key;
pub mod kind;
pub mod mcp;
pub mod nearest;
pub mod notice;
pub mod open_format;
pub mod outcome;
pub mod pack;
pub mod patch;
pub mod patch_events;
pub mod pipeline;
pub mod proof;
pub mod reaction;
pub mod record;
pub mod report;
pub mod runbook_keys;
pub mod schema;
pub mod serve;
pub mod state_dir;
pub mod tools;
pub mod truncate;
pub mod verdict;

pub use agent::{
    AgentState, Ancestor, CallerProcess, FailureKind, ProcessName, PromptType, StateSource,
};
pub use alarm::{Alarm, AlarmKind};
pub use approval_request::{ApprovalRequest, Resolution};
pub use bus::BusEvent;
pub use decision::{Decision, Effect};
pub use event::{Event, ToolCall};
pub use file_path::{CallForms, FilePath, OtherName};
pub use hook::{
    DeclaredAnswer, EnvAccess, FailMode, FileCondition, HookDefinition, HookTrigger,
    MatcherDefinition, McpCondition, Mode, ShellCondition, StdinForm, StdoutUse,
};
pub use host::{Caller, DecodeError, ForeignEntry, Host, LateRefusal, Lost, Reply};
pub use id::RecordId;
pub use key::Key;
pub use kind::{EventKind, Spelling};
pub use notice::Notice;
pub use open_format::OpenFormat;
pub use outcome::RunOutcome;
pub use pipeline::PipelinePlan;
pub use record::{LongText, Payload, Record, ReplyRecord, RunRecord, SkipReason, Skipped};
pub use state_dir::StateDir;
pub use verdict::{Failure, Verdict};

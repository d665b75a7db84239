//! Bus events: what happened, as the daemon publishes it, in flat JSON objects with a `type`, such
//! as `{"type": "agent:idle", "agent": "claude-code:5f3c", …}`. Unknown types are kept unchanged.

use jiff::Timestamp;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::agent::{FailureKind, ProcessName, PromptType, StateSource};
use crate::alarm::Alarm;
use crate::approval_request::{AgentQuestion, ApprovalRequest, Claim, Resolution};
use crate::id::RecordId;
use crate::json::{self, Object};

/// The part common to all reports about an agent.
#[expect(clippy::struct_excessive_bools, reason = "each is a member of the event by itself")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentReport {
    /// The agent's id.
    pub agent: String,
    /// The source of the report.
    #[serde(default)]
    pub source: StateSource,
    /// When it happened; when it was received, if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub at: Option<Timestamp>,
    /// Its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Its working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_dir: Option<String>,
    /// The project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The tool it is running or asking about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What it is about: a command, a path or a prompt; shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The SHA-256 of the tool and its input, or the first half of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The host's id of the subagent, if it was not the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// Whether the call has finished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub call_ended: bool,
    /// Its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessName>,
    /// The log file its host writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The journal record of this event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordId>,
    /// Whether the agent has only just started and done nothing yet, so it is not idle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Whether the user interrupted its turn, so that no prompt is open any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken_off: bool,
    /// Whether the agent's host asks for permission this way, so that an answer can reach it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// Whether it is only inferred, from a log that has been quiet for a while.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub likely: bool,
    /// The questions it asks on its screen, if they can be answered with key presses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<AgentQuestion>,
}

/// The part common to all reports about a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PipelineReport {
    /// The pipeline's id.
    pub pipeline: String,
    /// Its name in the runbook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The exit code of a command; none if it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The decision a step waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<RecordId>,
    /// The folder of a workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// When the wait ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub until: Option<Timestamp>,
    /// The reason, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Alarms that an event of an agent raised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlarmReport {
    /// The journal record that contains them.
    pub record: RecordId,
    /// The agent's id.
    pub agent: String,
    /// Its host.
    pub host: String,
    /// The project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The session, if they are about a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The call they are about: the host's id for it, or the digest of its tool and input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// When they were raised.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The alarms, at least one.
    pub alarms: Vec<Alarm>,
}

/// An agent shows a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentPrompt {
    /// The agent.
    pub report: AgentReport,
    /// The kind of prompt it waits at.
    pub prompt_type: PromptType,
}

/// An agent's turn failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentFailed {
    /// The agent.
    pub report: AgentReport,
    /// The reason.
    pub kind: FailureKind,
    /// A message in its own words.
    pub message: Option<String>,
}

/// An agent was renamed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentRenamed {
    /// The agent's id.
    pub agent: String,
    /// The name.
    pub name: String,
    /// Who did it.
    pub by: String,
}

/// What an agent reports about its own work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// It is done.
    #[default]
    Complete,
    /// It needs a person.
    Escalate,
    /// It is not done yet.
    Continue,
}

impl SignalKind {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Escalate => "escalate",
            Self::Continue => "continue",
        }
    }
}

/// An agent reports the status of its work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentSignal {
    /// The agent.
    pub report: AgentReport,
    /// The signal.
    pub kind: SignalKind,
    /// A message in its own words.
    pub message: Option<String>,
}

macro_rules! bus_events {
    ($($(#[$doc:meta])* $variant:ident($body:ty) = $name:literal,)+) => {
        /// Something that happened.
        #[derive(Clone, Debug, PartialEq)]
        pub enum BusEvent {
            $($(#[$doc])* $variant($body),)+
            /// An event of a type that this version does not know: its members, including `type`.
            Other(Object),
        }

        impl BusEvent {
            /// Every type that this version knows.
            pub const TYPES: &'static [&'static str] = &[$($name),+];

            /// Returns the type.
            pub fn type_name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)+
                    Self::Other(members) => members.get("type").and_then(Value::as_str).unwrap_or(""),
                }
            }

            /// Returns the event as a flat object.
            pub fn to_object(&self) -> Object {
                let (name, body) = match self {
                    $(Self::$variant(body) => ($name, members(body)),)+
                    Self::Other(members) => return members.clone(),
                };
                let mut object = Object::new();
                object.insert("type".to_owned(), name.into());
                object.extend(body);
                object
            }

            /// Parses a flat object. An error says what is wrong with an event of a known type.
            pub fn from_object(mut members: Object) -> Result<Self, serde_json::Error> {
                let name = members.get("type").and_then(Value::as_str).unwrap_or("").to_owned();
                match name.as_str() {
                    $($name => {
                        members.remove("type");
                        read(members).map(Self::$variant)
                    })+
                    _ => Ok(Self::Other(members)),
                }
            }
        }
    };
}

bus_events! {
    /// The agent is working.
    AgentWorking(AgentReport) = "agent:working",
    /// It is done and waits for the user.
    AgentIdle(AgentReport) = "agent:idle",
    /// It cannot continue without a person.
    AgentPrompt(AgentPrompt) = "agent:prompt",
    /// Its turn failed.
    AgentFailed(AgentFailed) = "agent:failed",
    /// It ended in an orderly way.
    AgentExited(AgentReport) = "agent:exited",
    /// Its process vanished.
    AgentGone(AgentReport) = "agent:gone",
    /// It reports the status of its work.
    AgentSignal(AgentSignal) = "agent:signal",
    /// It wanted to stop, but a gate blocked the stop: it continues.
    AgentStop(AgentReport) = "agent:stop",
    /// Something was typed to it.
    AgentInput(AgentReport) = "agent:input",
    /// It was renamed.
    AgentRenamed(AgentRenamed) = "agent:renamed",
    /// A decision is needed from a person.
    DecisionCreated(ApprovalRequest) = "decision:created",
    /// The decision was made, or is no longer needed.
    DecisionResolved(Resolution) = "decision:resolved",
    /// Someone claimed the decision.
    DecisionClaimed(Claim) = "decision:claimed",
    /// The claim was released.
    DecisionReleased(Claim) = "decision:released",
    /// A standing answer for the rest of a session was revoked.
    DecisionRevoked(Claim) = "decision:revoked",
    /// A guard was bypassed, changed or is off.
    AlarmRaised(AlarmReport) = "alarm:raised",
    /// A pipeline was created.
    PipelineCreated(PipelineReport) = "pipeline:created",
    /// It advanced to another step.
    PipelineAdvanced(PipelineReport) = "pipeline:advanced",
    /// It is done.
    PipelineCompleted(PipelineReport) = "pipeline:completed",
    /// It failed.
    PipelineFailed(PipelineReport) = "pipeline:failed",
    /// A person cancelled it.
    PipelineCancelled(PipelineReport) = "pipeline:cancelled",
    /// A step began.
    StepStarted(PipelineReport) = "step:started",
    /// A step waits for a person.
    StepWaiting(PipelineReport) = "step:waiting",
    /// A step is done.
    StepCompleted(PipelineReport) = "step:completed",
    /// A step failed.
    StepFailed(PipelineReport) = "step:failed",
    /// An agent's terminal session was created.
    SessionCreated(PipelineReport) = "session:created",
    /// Something was typed into it.
    SessionInput(PipelineReport) = "session:input",
    /// It was deleted.
    SessionDeleted(PipelineReport) = "session:deleted",
    /// A command of a step or a gate ended.
    ShellExited(PipelineReport) = "shell:exited",
    /// A timer was started.
    TimerStarted(PipelineReport) = "timer:started",
    /// The timer fired.
    TimerFired(PipelineReport) = "timer:fired",
    /// A workspace was created.
    WorkspaceCreated(PipelineReport) = "workspace:created",
    /// It was deleted.
    WorkspaceDeleted(PipelineReport) = "workspace:deleted",
}

impl BusEvent {
    /// Returns the report about the agent, if the event is about one.
    pub fn report(&self) -> Option<&AgentReport> {
        match self {
            Self::AgentWorking(report)
            | Self::AgentIdle(report)
            | Self::AgentExited(report)
            | Self::AgentGone(report)
            | Self::AgentStop(report)
            | Self::AgentInput(report) => Some(report),
            Self::AgentPrompt(prompt) => Some(&prompt.report),
            Self::AgentFailed(failed) => Some(&failed.report),
            Self::AgentSignal(signal) => Some(&signal.report),
            _ => None,
        }
    }

    /// Returns the report about the pipeline, if the event is about one.
    pub fn pipeline_report(&self) -> Option<&PipelineReport> {
        match self {
            Self::PipelineCreated(report)
            | Self::PipelineAdvanced(report)
            | Self::PipelineCompleted(report)
            | Self::PipelineFailed(report)
            | Self::PipelineCancelled(report)
            | Self::StepStarted(report)
            | Self::StepWaiting(report)
            | Self::StepCompleted(report)
            | Self::StepFailed(report)
            | Self::SessionCreated(report)
            | Self::SessionInput(report)
            | Self::SessionDeleted(report)
            | Self::ShellExited(report)
            | Self::TimerStarted(report)
            | Self::TimerFired(report)
            | Self::WorkspaceCreated(report)
            | Self::WorkspaceDeleted(report) => Some(report),
            _ => None,
        }
    }

    /// Like [`Self::report`], but mutable.
    pub fn report_mut(&mut self) -> Option<&mut AgentReport> {
        match self {
            Self::AgentWorking(report)
            | Self::AgentIdle(report)
            | Self::AgentExited(report)
            | Self::AgentGone(report)
            | Self::AgentStop(report)
            | Self::AgentInput(report) => Some(report),
            Self::AgentPrompt(prompt) => Some(&mut prompt.report),
            Self::AgentFailed(failed) => Some(&mut failed.report),
            Self::AgentSignal(signal) => Some(&mut signal.report),
            _ => None,
        }
    }
}

impl Serialize for BusEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_object().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for BusEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_object(Object::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Serializes a report and further members as one flat object.
///
/// Not `serde(flatten)`: it cannot deserialize arbitrary-precision numbers.
macro_rules! beside_a_report {
    ($name:ident { $($member:ident: $member_type:ty = $key:literal),+ }) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut object = members(&self.report);
                $(put(&mut object, $key, &self.$member);)+
                object.serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut object = Object::deserialize(deserializer)?;
                $(let $member: $member_type = take(&mut object, $key).map_err(D::Error::custom)?;)+
                let report = read(object).map_err(D::Error::custom)?;
                Ok(Self { report, $($member),+ })
            }
        }
    };
}

beside_a_report!(AgentPrompt { prompt_type: PromptType = "prompt_type" });
beside_a_report!(AgentFailed { kind: FailureKind = "kind", message: Option<String> = "message" });
beside_a_report!(AgentSignal { kind: SignalKind = "kind", message: Option<String> = "message" });

fn members(body: &impl Serialize) -> Object {
    match serde_json::to_value(body) {
        Ok(Value::Object(members)) => members,
        _ => Object::new(),
    }
}

fn read<T: DeserializeOwned>(members: Object) -> Result<T, serde_json::Error> {
    serde_json::from_value(Value::Object(members))
}

fn put(members: &mut Object, key: &str, value: &impl Serialize) {
    if let Ok(value) = serde_json::to_value(value)
        && !value.is_null()
    {
        members.insert(key.to_owned(), value);
    }
}

/// Removes and parses a member; a missing one gives the default.
fn take<T: DeserializeOwned + Default>(
    members: &mut Object,
    key: &str,
) -> Result<T, serde_json::Error> {
    match json::remove(members, key) {
        None | Some(Value::Null) => Ok(T::default()),
        Some(value) => serde_json::from_value(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn round_trip(value: &Value) -> BusEvent {
        let event: BusEvent = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), *value);
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<BusEvent>(&text).unwrap(), event);
        event
    }

    #[test]
    fn every_type_survives_json() {
        for name in
            ["working", "idle", "exited", "gone", "stop", "input", "prompt", "failed", "signal"]
        {
            let name = format!("agent:{name}");
            let mut value = json!({"type": name, "agent": "a", "source": "hook",
                "at": "2026-01-01T00:00:00Z", "host": "codex", "session": "s",
                "process": {"pid": 7, "started": 123_456}});
            match name.as_str() {
                "agent:prompt" => value["prompt_type"] = "question".into(),
                "agent:failed" => value["kind"] = "rate_limited".into(),
                "agent:signal" => {
                    value["kind"] = "escalate".into();
                    value["message"] = "look".into();
                }
                _ => {}
            }
            let event = round_trip(&value);
            assert_eq!(event.type_name(), name);
            assert_eq!(event.report().map(|report| report.agent.as_str()), Some("a"));
        }
        round_trip(&json!({"type": "decision:created", "id": "x", "kind": "permission",
            "agent": "a", "question": "May it?", "options": [{"name": "allow", "does": "it runs"}],
            "created": "2026-01-01T00:00:00Z"}));
        round_trip(&json!({"type": "decision:resolved", "id": "x", "agent": "a",
            "ending": "chosen", "choice": "allow", "by": "me", "at": "2026-01-01T00:00:00Z"}));
        round_trip(&json!({"type": "alarm:raised", "record": "x", "agent": "codex:s",
            "host": "codex", "project": "/p", "at": "2026-01-01T00:00:00Z",
            "alarms": [{"kind": "guard_changed", "hook": "guard", "text": "guard is gone"}]}));
    }

    #[test]
    fn every_prompt_type_survives_and_an_unknown_one_is_other() {
        for (kind, name) in PromptType::ALL {
            let value = json!({"type": "agent:prompt", "agent": "a", "source": "notification",
                "prompt_type": name});
            let BusEvent::AgentPrompt(prompt) = round_trip(&value) else { panic!("no prompt") };
            assert_eq!(prompt.prompt_type, kind);
        }
        for value in [
            json!({"type": "agent:prompt", "agent": "a"}),
            json!({"type": "agent:prompt", "agent": "a", "prompt_type": "elicitation"}),
            json!({"type": "agent:prompt", "agent": "a", "prompt_type": null}),
        ] {
            let BusEvent::AgentPrompt(prompt) = serde_json::from_value(value).unwrap() else {
                panic!("no prompt")
            };
            assert_eq!(prompt.prompt_type, PromptType::Other);
        }
    }

    #[test]
    fn what_nobody_knows_is_kept_as_it_is() {
        let value = json!({"type": "pipeline:paused", "pipeline": 3, "z": [1.50, null]});
        assert_eq!(round_trip(&value).type_name(), "pipeline:paused");
        assert_eq!(round_trip(&json!({"no": "type"})).type_name(), "");
    }

    #[test]
    fn a_known_type_that_is_wrong_is_an_error() {
        for value in [json!({"type": "agent:idle"}), json!({"type": "agent:idle", "agent": 7})] {
            assert!(serde_json::from_value::<BusEvent>(value).is_err());
        }
    }
}

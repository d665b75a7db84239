//! What was proven of an agent on this machine: that its entries call anyhook, and that the agent
//! heeds the answer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::kind::EventKind;

/// The version of [`Proof`].
///
/// - 1: one file for each agent and place of its settings.
pub const PROOF_VERSION: u32 = 1;

/// What `anyhook doctor --prove` found out about an agent's entries in one place: the file
/// `proofs/AGENT-PLACE.json` in the state folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proof {
    /// The version of this format.
    pub v: u32,
    /// The agent.
    pub agent: String,
    /// The project whose settings have the entries; null if they are the user's.
    pub project: Option<String>,
    /// When it was proven.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The agent's program; null if it was not found.
    pub program: Option<FileMark>,
    /// The version that the agent reported.
    pub version: Option<String>,
    /// The digest of the command lines in its settings; null if none of them is ours.
    pub entry: Option<String>,
    /// The programs that they call.
    pub calls: Vec<FileMark>,
    /// Why the entries are not what they should be, if so; then nothing was tried.
    pub fault: Option<String>,
    /// The events at which a canary went through the entry.
    pub events: Vec<EventProof>,
    /// What the agent itself did.
    pub run: AgentProof,
}

/// A canary that went through the entry of one event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventProof {
    /// The event.
    pub event: EventKind,
    /// The agent's name for it.
    pub native_name: String,
    /// Whether the agent's own denial came back.
    pub denied: bool,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// What came instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

/// What an agent did whose model called its shell with a canary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentProof {
    /// What happened.
    pub outcome: AgentOutcome,
    /// Why it was not run, or what it did instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How long it ran, in milliseconds.
    #[serde(default)]
    pub took_ms: u64,
}

/// What happened when an agent was run for a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentOutcome {
    /// The command did not run, and the model was told why.
    Denied,
    /// It did run, or the model was not told.
    Failed,
    /// The agent was not run.
    NotRun,
}

/// A file as it was, told without reading it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileMark {
    /// Its real path.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// When its content was last written, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// When the file was last changed or replaced, in nanoseconds since 1970: package managers give
    /// every version the same time of writing.
    pub changed_ns: i64,
}

impl AgentProof {
    /// Creates that of an agent that was not run.
    pub fn not_run(why: impl Into<String>) -> Self {
        Self { outcome: AgentOutcome::NotRun, why: Some(why.into()), took_ms: 0 }
    }
}

impl Proof {
    /// Returns why this proves nothing; `None` if everything that was tried was denied.
    pub fn failure(&self) -> Option<String> {
        if let Some(fault) = &self.fault {
            return Some(fault.clone());
        }
        if let Some(event) = self.events.iter().find(|event| !event.denied) {
            let why = event.why_not.as_deref().unwrap_or("it was not denied");
            return Some(format!("{} ({}): {why}", event.event, event.native_name));
        }
        match self.run.outcome {
            AgentOutcome::Failed => {
                Some(self.run.why.clone().unwrap_or_else(|| "the agent ran the call".to_owned()))
            }
            _ if self.events.is_empty() => Some("no event could be tried".to_owned()),
            _ => None,
        }
    }

    /// Returns whether everything that was tried was denied.
    pub fn holds(&self) -> bool {
        self.failure().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_is_enough() {
        let event = |denied| EventProof {
            event: EventKind::BeforeTool,
            native_name: "PreToolUse".to_owned(),
            denied,
            took_us: 1,
            why_not: (!denied).then(|| "there was no answer".to_owned()),
        };
        let proof = Proof {
            v: PROOF_VERSION,
            agent: "codex".to_owned(),
            project: None,
            at: Timestamp::UNIX_EPOCH,
            program: None,
            version: None,
            entry: None,
            calls: Vec::new(),
            fault: None,
            events: vec![event(true)],
            run: AgentProof::not_run("--no-run"),
        };
        assert!(proof.holds());
        let fault = Some("changed".to_owned());
        let failed = AgentProof { outcome: AgentOutcome::Failed, ..proof.run.clone() };
        for broken in [
            Proof { fault, ..proof.clone() },
            Proof { events: vec![event(true), event(false)], ..proof.clone() },
            Proof { events: Vec::new(), ..proof.clone() },
            Proof { run: failed, ..proof.clone() },
        ] {
            assert!(!broken.holds(), "{broken:?}");
        }
    }
}

//! Questions that a pipeline asks a person.

use anyhook_model::approval_request::{ApprovalKind, Choice};
use anyhook_model::json::shorten;
use anyhook_model::{ApprovalRequest, RecordId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::monitor::Ticket;

/// Maximum length of a question; a gate's output is part of it.
const QUESTION_LIMIT: usize = 6_000;

/// An open question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineQuestion {
    /// The decision's id.
    pub id: RecordId,
    /// What it is about.
    pub about: QuestionSubject,
    /// The question, in one line.
    pub text: String,
    /// Whether a hook process waits for the answer, so that nothing needs to be typed.
    #[serde(default)]
    pub hook_waits: bool,
}

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionSubject {
    /// A question of the agent's monitor.
    Agent(Ticket),
    /// A job that could not be done, or for which it is unknown how far it got.
    Job,
    /// The agent's own dialog, which no one answered in time.
    Dialog,
}

impl QuestionSubject {
    /// Returns the options of a question that is not the monitor's.
    pub fn options(self) -> Vec<Choice> {
        match self {
            Self::Agent(_) => Vec::new(),
            Self::Job => vec![
                Choice::new("retry", "it is run again from the start"),
                Choice::new("skip", "the step is marked done, and the next one starts"),
                Choice::new("fail", "the step fails"),
            ],
            Self::Dialog => vec![
                Choice::new("attach", "you answer in its session"),
                Choice::new("fail", "the step fails"),
            ],
        }
    }
}

/// Makes the approval request of a question.
pub fn inquiry(
    id: RecordId,
    agent: &str,
    question: &str,
    options: Vec<Choice>,
    now: Timestamp,
) -> ApprovalRequest {
    ApprovalRequest {
        id,
        kind: ApprovalKind::Escalation,
        agent: agent.to_owned(),
        question: shorten(question, QUESTION_LIMIT),
        tool: None,
        about: None,
        digest: None,
        hook: None,
        calls: Vec::new(),
        options,
        questions: Vec::new(),
        created: now,
        until: None,
    }
}

/// Returns the id of a pipeline's question: deterministic, so that folding the same entries gives
/// the same id.
pub fn id(pipeline: &RecordId, number: u32) -> RecordId {
    // FNV-1a: this is an identifier, not a secret.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in pipeline.as_str().bytes().chain(number.to_be_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    RecordId::from_random(hash ^ (hash >> 32))
}

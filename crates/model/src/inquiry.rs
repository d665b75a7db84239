//! What waits for a person's decision. The command line calls it a decision; here that word is
//! what one hook says ([`Decision`](crate::Decision)).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agent::CallerProcess;
use crate::id::RecordId;

/// The choice that stands for the answers to an agent's questions.
pub const ANSWER: &str = "answer";
/// The choice not to answer them.
pub const DECLINE: &str = "decline";

/// What kind of decision it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InquiryKind {
    /// The agent's host asks for a permission, and a hook process waits with its reply.
    Permission,
    /// A hook said `ask`, and its process waits with its reply.
    Ask,
    /// The agent asks the person questions, and a hook process waits with its reply.
    Question,
    /// The agent itself asked for a person.
    Escalation,
    /// A workflow is at a gate, and whoever runs it waits for the answer. It is about a stage, not
    /// about an agent.
    Gate,
}

/// Something that waits for a person's decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inquiry {
    /// Its id: short, as those of records.
    pub id: RecordId,
    /// What kind it is.
    pub kind: InquiryKind,
    /// The agent it is about; of a gate, `workflow/STAGE`.
    pub agent: String,
    /// What is asked, in a sentence.
    pub question: String,
    /// The tool, where it is about a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the call is about: a command, a path; shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The SHA-256 of the tool and its input: an answer counts for this call alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// What can be chosen, numbered from 1.
    pub options: Vec<Choice>,
    /// The questions that the agent asks, in its own words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<AgentQuestion>,
    /// When it was made.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub created: Timestamp,
    /// When nobody waits for the answer any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub until: Option<Timestamp>,
}

/// Something that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// Its name, such as `allow`.
    pub name: String,
    /// What it does.
    pub does: String,
}

impl Choice {
    /// Makes a choice.
    pub fn new(name: &str, does: &str) -> Self {
        Self { name: name.to_owned(), does: does.to_owned() }
    }
}

/// A question that an agent asks the person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentQuestion {
    /// The question.
    pub text: String,
    /// What it is about, in a word or two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The answers that the agent offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// Whether several of them may be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multiple: bool,
    /// Whether the person may answer in their own words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free_text: bool,
}

/// The answer to one question of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionAnswer {
    /// The question.
    pub question: String,
    /// What was chosen, or said.
    pub answer: Vec<String>,
}

/// How an inquiry ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Somebody chose.
    Chosen,
    /// It needs no answer any more: the agent went on, or whoever waited is gone.
    Dismissed,
    /// Nobody answered in time.
    Expired,
}

/// What became of an inquiry. The first one counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resolution {
    /// The inquiry.
    pub id: RecordId,
    /// The agent it was about.
    pub agent: String,
    /// How it ended.
    pub ending: Ending,
    /// The name of what was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
    /// What the person said beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The answers to the agent's questions, one for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<QuestionAnswer>,
    /// Who chose, as they say, or what dismissed it.
    pub by: String,
    /// The process that chose, as the daemon saw it, whatever `by` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<CallerProcess>,
    /// When.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The digest of the inquiry, so that whoever waits can see that it is about its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// When it was asked: the time between is how long it waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub asked: Option<Timestamp>,
    /// The name people knew the agent by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// The pipeline whose agent it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<String>,
    /// Who had claimed it, where somebody else answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// Whether the same call is allowed again without asking, until the agent's session ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// The decision that this answer follows from: a person allowed the same call before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<RecordId>,
}

/// Somebody said that a decision is theirs to make, or no longer, or took a standing answer back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claim {
    /// The inquiry.
    pub id: RecordId,
    /// The agent it is about.
    pub agent: String,
    /// Who, as they say.
    pub by: String,
    /// When.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The process, as the daemon saw it, whatever `by` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<CallerProcess>,
}

/// An answer that stands for the rest of an agent's session: exactly the same call is allowed
/// without asking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Standing {
    /// The decision it follows from.
    pub id: RecordId,
    /// What kind of question it answers.
    pub kind: InquiryKind,
    /// The agent.
    pub agent: String,
    /// The agent's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What was asked.
    pub question: String,
    /// The tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the call is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The SHA-256 of the tool and its input.
    pub digest: String,
    /// Who allowed it.
    pub by: String,
    /// Since when.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// How often it has answered.
    #[serde(default)]
    pub used: u64,
}

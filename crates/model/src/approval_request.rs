//! Approval requests: questions that wait for a person's decision. The command line calls them
//! decisions; here that word means what one hook says ([`Decision`](crate::Decision)).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::CallerProcess;
use crate::id::RecordId;

/// The choice that stands for the answers to an agent's questions.
pub const ANSWER: &str = "answer";
/// The choice not to answer them.
pub const DECLINE: &str = "decline";

/// The kind of decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalKind {
    /// The agent's host asks for permission, and a hook process waits for the answer.
    Permission,
    /// A hook decided `ask`, and the hook process waits for the answer.
    Ask,
    /// The agent asks the user questions, and a hook process waits for the answers.
    Question,
    /// The agent itself asked for help.
    Escalation,
    /// A workflow is at a gate, and its runner waits for the answer. It is about a stage, not an
    /// agent.
    Gate,
}

/// A question that waits for a person's decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalRequest {
    /// Its id: short, like record ids.
    pub id: RecordId,
    /// Its kind.
    pub kind: ApprovalKind,
    /// The agent it is about; for a gate, `workflow/STAGE`.
    pub agent: String,
    /// The question, in one sentence.
    pub question: String,
    /// The tool, if it is about a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What the call is about: a command or a path; shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The SHA-256 of the tool and its input: an answer is valid for this call only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The hook that wants a person to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    /// The calls in full, without secrets; those of a patch are several. Kept while the request is
    /// open: afterwards the journal has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RequestedCall>,
    /// The options, numbered from 1.
    pub options: Vec<Choice>,
    /// The agent's questions, in its own words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<AgentQuestion>,
    /// When it was created.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub created: Timestamp,
    /// When the wait for an answer ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub until: Option<Timestamp>,
}

/// A call that waits for approval, as the person who decides should see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestedCall {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
    /// The input after the changes of hooks, if they changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<Value>,
    /// Whether long texts were shortened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shortened: bool,
}

/// An option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// Its name, such as `allow`.
    pub name: String,
    /// What it does.
    pub does: String,
}

impl Choice {
    /// Creates a choice.
    pub fn new(name: &str, does: &str) -> Self {
        Self { name: name.to_owned(), does: does.to_owned() }
    }
}

/// A question an agent asks the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentQuestion {
    /// The question.
    pub text: String,
    /// A short label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The answers the agent offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// Whether more than one can be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multiple: bool,
    /// Whether a free-text answer is allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free_text: bool,
}

/// The answer to one question of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionAnswer {
    /// The question.
    pub question: String,
    /// What was chosen or typed.
    pub answer: Vec<String>,
}

/// How an approval request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalEnding {
    /// An option was chosen.
    Chosen,
    /// It needs no answer any more: the agent continued, or the waiting process is gone.
    Dismissed,
    /// No one answered in time.
    Expired,
}

/// The resolution of an approval request. The first resolution wins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resolution {
    /// The approval request's id.
    pub id: RecordId,
    /// The agent it was about.
    pub agent: String,
    /// How it ended.
    pub ending: ApprovalEnding,
    /// The name of the chosen option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<String>,
    /// The message of the person who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The answers to the agent's questions, one for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<QuestionAnswer>,
    /// Who decided, as claimed, or what dismissed it.
    pub by: String,
    /// The process that decided, as the daemon saw it, regardless of `by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<CallerProcess>,
    /// When it happened.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The approval request's digest, so that a waiting process can verify that the resolution is
    /// about its call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// When it was asked; the difference from `at` is the waiting time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub asked: Option<Timestamp>,
    /// The agent's display name at the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// The pipeline of the agent it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<String>,
    /// Who had claimed it, if someone else answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_by: Option<String>,
    /// Whether the same call is allowed without asking until the agent's session ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
    /// The decision this answer follows from: a person allowed the same call before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<RecordId>,
    /// The signature of the device that answered, if it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Box<AnswerSignature>>,
}

/// The signature of an answer from a paired device, complete enough to be checked by anyone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerSignature {
    /// The device's id.
    pub device: String,
    /// Its public key: an uncompressed point of P-256, in hexadecimal digits.
    pub key: String,
    /// What was signed: the request with its path, its one-time word and its fields, among them the
    /// choice and the digest of the call.
    pub text: String,
    /// ECDSA with SHA-256, `r` and `s`, in hexadecimal digits.
    pub signature: String,
}

/// A decision was claimed or released, or a standing answer was revoked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claim {
    /// The approval request's id.
    pub id: RecordId,
    /// The agent it is about.
    pub agent: String,
    /// Who, as claimed.
    pub by: String,
    /// When it happened.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub at: Timestamp,
    /// The process, as the daemon saw it, regardless of `by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<CallerProcess>,
}

/// A standing answer for the rest of an agent's session: exactly the same call is allowed without
/// asking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StandingAnswer {
    /// The decision it follows from.
    pub id: RecordId,
    /// What kind of question it answers.
    pub kind: ApprovalKind,
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
    /// When it was given.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub since: Timestamp,
    /// How often it has been used.
    #[serde(default)]
    pub used: u64,
}

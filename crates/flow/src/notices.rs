//! What a person is told of, once each.

use anyhook_model::notice::NoticeKind;
use anyhook_model::{AgentState, RecordId};
use serde::{Deserialize, Serialize};

use crate::agents::Agent;
use crate::pipeline::Moment;

/// What makes a notice the same one: it is given once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeName {
    /// Of a decision.
    Decision(RecordId),
    /// Of an agent: what it is, and the rest it is in.
    Agent(String, NoticeKind, u64),
    /// Of a pipeline: the moment, and how far it was.
    Pipeline(RecordId, Moment, u64),
    /// Of the alarms of a journal's record.
    Alarm(RecordId),
}

/// Returns what is notable of an agent, if anything.
pub fn of_agent(agent: &Agent) -> Option<NoticeKind> {
    match agent.state {
        AgentState::Prompting(_) => Some(NoticeKind::Prompt),
        AgentState::Idle => agent.rest().map(|_| NoticeKind::Idle),
        AgentState::Failed(_) => Some(NoticeKind::Failed),
        AgentState::Gone => Some(NoticeKind::Gone),
        AgentState::Working | AgentState::Exited => None,
    }
}

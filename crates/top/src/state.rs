//! The messages for what an agent does: the same as in `agent list`, notices and JSON.

use anyhook_flow::agents::Agent;
use anyhook_model::AgentState;
use anyhook_model::daemon::AgentView;
use anyhook_terminal::states::{NEEDS_YOU, agent_tone};
use jiff::SignedDuration;

use anyhook_terminal::Tone;

/// A working agent that is silent for this long is shown as silent.
const SILENT_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// What an agent does, as far as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentActivity {
    /// Its state.
    pub state: AgentState,
    /// The tool it is running or asking about.
    tool: Option<String>,
    /// Whether it has an open decision.
    needs_person: bool,
}

impl Default for AgentActivity {
    /// An agent that sends events is working.
    fn default() -> Self {
        Self { state: AgentState::Working, tool: None, needs_person: false }
    }
}

impl From<&Agent> for AgentActivity {
    fn from(agent: &Agent) -> Self {
        Self { state: agent.state, tool: agent.tool.clone(), needs_person: false }
    }
}

impl From<&AgentView> for AgentActivity {
    fn from(agent: &AgentView) -> Self {
        Self {
            state: agent.full_state(),
            tool: agent.tool.clone(),
            needs_person: agent.decision.is_some(),
        }
    }
}

impl AgentActivity {
    /// Returns the message for it, after this long without an event.
    pub fn words(&self, silent: SignedDuration) -> (Tone, String) {
        let needs_person =
            self.needs_person && matches!(self.state, AgentState::Working | AgentState::Idle);
        let words = match self.state {
            AgentState::Working if !needs_person && silent >= SILENT_AFTER => {
                return (Tone::Dim, "working (silent)".to_owned());
            }
            AgentState::Working => match &self.tool {
                Some(tool) => format!("running {tool}"),
                None => "working".to_owned(),
            },
            state => state.to_string(),
        };
        if needs_person {
            return (Tone::Warn, format!("{words}, {NEEDS_YOU}"));
        }
        (agent_tone(self.state), words)
    }
}

#[cfg(test)]
mod tests {
    use anyhook_model::{FailureKind, PromptType};

    use super::*;

    fn words(state: AgentState, tool: Option<&str>, silent: SignedDuration) -> String {
        AgentActivity { state, tool: tool.map(str::to_owned), needs_person: false }.words(silent).1
    }

    #[test]
    fn every_state_has_its_words() {
        for (state, expected) in [
            (AgentState::Working, "running Shell"),
            (AgentState::Prompting(PromptType::Permission), "prompting (permission)"),
            (AgentState::Prompting(PromptType::Question), "prompting (question)"),
            (AgentState::Prompting(PromptType::PlanApproval), "prompting (plan_approval)"),
            (AgentState::Prompting(PromptType::Other), "prompting (other)"),
            (AgentState::Idle, "idle"),
            (AgentState::Failed(FailureKind::RateLimited), "failed (rate_limited)"),
            (AgentState::Exited, "exited"),
            (AgentState::Gone, "gone"),
        ] {
            assert_eq!(words(state, Some("Shell"), SignedDuration::ZERO), expected);
        }
        assert_eq!(words(AgentState::Working, None, SignedDuration::ZERO), "working");
    }

    #[test]
    fn an_open_decision_is_said_unless_the_state_says_it() {
        let words = |state| {
            let tool = Some("Shell".to_owned());
            AgentActivity { state, tool, needs_person: true }.words(SILENT_AFTER)
        };
        assert_eq!(words(AgentState::Working), (Tone::Warn, "running Shell, needs you".to_owned()));
        assert_eq!(words(AgentState::Idle), (Tone::Warn, "idle, needs you".to_owned()));
        assert_eq!(words(AgentState::Exited).1, "exited");
        let asks = AgentState::Prompting(PromptType::Permission);
        assert_eq!(words(asks).1, "prompting (permission)");
    }

    #[test]
    fn silence_is_said() {
        assert_eq!(words(AgentState::Working, Some("Shell"), SILENT_AFTER), "working (silent)");
        assert_eq!(words(AgentState::Working, None, SILENT_AFTER), "working (silent)");
        assert_eq!(words(AgentState::Idle, None, SILENT_AFTER), "idle");
        let asks = AgentState::Prompting(PromptType::Permission);
        assert_eq!(words(asks, None, SILENT_AFTER), "prompting (permission)");
    }
}

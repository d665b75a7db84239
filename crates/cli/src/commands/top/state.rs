//! The words for what an agent does.

use anyhook_flow::agents::Agent;
use anyhook_model::daemon::AgentView;
use anyhook_model::{AgentState, PromptType};
use jiff::SignedDuration;

use crate::commands::agent::tone;
use crate::ui::Tone;

/// An agent at work that is silent for so long is shown as idle.
const IDLE_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// What an agent does, as far as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doing {
    /// Its state.
    pub state: AgentState,
    /// The tool it runs or asks about.
    tool: Option<String>,
}

impl Default for Doing {
    /// Whoever sends events works.
    fn default() -> Self {
        Self { state: AgentState::Working, tool: None }
    }
}

impl From<&Agent> for Doing {
    fn from(agent: &Agent) -> Self {
        Self { state: agent.state, tool: agent.tool.clone() }
    }
}

impl From<&AgentView> for Doing {
    fn from(agent: &AgentView) -> Self {
        Self { state: agent.full_state(), tool: agent.tool.clone() }
    }
}

impl Doing {
    /// Returns the words for it, after so long without an event.
    pub fn words(&self, silent: SignedDuration) -> (Tone, String) {
        let words = match self.state {
            AgentState::Working if silent >= IDLE_AFTER => return (Tone::Dim, "idle".to_owned()),
            AgentState::Working => match &self.tool {
                Some(tool) => format!("running {tool}"),
                None => "working".to_owned(),
            },
            AgentState::Prompting(PromptType::Permission) => "asks permission".to_owned(),
            AgentState::Prompting(PromptType::Question) => "asks a question".to_owned(),
            AgentState::Prompting(PromptType::PlanApproval) => "waits with a plan".to_owned(),
            AgentState::Prompting(PromptType::Other) => "asks something".to_owned(),
            AgentState::Idle | AgentState::Prompting(PromptType::Idle) => {
                "waits for you".to_owned()
            }
            AgentState::Failed(kind) => format!("failed ({})", kind.name().replace('_', " ")),
            AgentState::Exited => "ended".to_owned(),
            AgentState::Gone => "gone".to_owned(),
        };
        (tone(self.state), words)
    }
}

#[cfg(test)]
mod tests {
    use anyhook_model::FailureKind;

    use super::*;

    fn words(state: AgentState, tool: Option<&str>, silent: SignedDuration) -> String {
        Doing { state, tool: tool.map(str::to_owned) }.words(silent).1
    }

    #[test]
    fn every_state_has_its_words() {
        for (state, expected) in [
            (AgentState::Working, "running Shell"),
            (AgentState::Prompting(PromptType::Permission), "asks permission"),
            (AgentState::Prompting(PromptType::Question), "asks a question"),
            (AgentState::Prompting(PromptType::PlanApproval), "waits with a plan"),
            (AgentState::Prompting(PromptType::Other), "asks something"),
            (AgentState::Idle, "waits for you"),
            (AgentState::Failed(FailureKind::RateLimited), "failed (rate limited)"),
            (AgentState::Exited, "ended"),
            (AgentState::Gone, "gone"),
        ] {
            assert_eq!(words(state, Some("Shell"), SignedDuration::ZERO), expected);
        }
        assert_eq!(words(AgentState::Working, None, SignedDuration::ZERO), "working");
    }

    #[test]
    fn silence_makes_work_idle() {
        assert_eq!(words(AgentState::Working, Some("Shell"), IDLE_AFTER), "idle");
        assert_eq!(words(AgentState::Working, None, IDLE_AFTER), "idle");
        assert_eq!(words(AgentState::Idle, None, IDLE_AFTER), "waits for you");
        let asks = AgentState::Prompting(PromptType::Permission);
        assert_eq!(words(asks, None, IDLE_AFTER), "asks permission");
    }
}

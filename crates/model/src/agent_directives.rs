//! Directives from the daemon to the hook processes of an agent: a small file per agent that the
//! daemon maintains and hook processes read at a stop or a permission request, so that the hook
//! path needs no daemon.

use serde::{Deserialize, Serialize};

/// The version of [`AgentDirectives`].
///
/// - 1: the first.
pub const INSTRUCTIONS_VERSION: u32 = 1;

/// What an agent's hook processes should do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDirectives {
    /// [`INSTRUCTIONS_VERSION`].
    pub v: u32,
    /// The agent's id.
    pub agent: String,
    /// Its host, if known. An agent started by this one may belong to another host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its session, once known. An agent started by this one has another session, but the same id
    /// in its environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The message for the agent when it wants to stop; if absent, it may stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_stop: Option<String>,
    /// Whether a permission request waits for a person, regardless of the settings.
    #[serde(default)]
    pub ask_permission: bool,
}

impl AgentDirectives {
    /// Returns whether a session is the agent's own, as far as is known.
    pub fn concern(&self, host: &str, session: Option<&str>) -> bool {
        let is_other = |known: &Option<String>, seen: Option<&str>| {
            known.as_deref().is_some_and(|known| seen.is_some_and(|seen| seen != known))
        };
        !is_other(&self.host, Some(host)) && !is_other(&self.session, session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_within_is_another_one() {
        let mut own = AgentDirectives::default();
        assert!(own.concern("codex", Some("s")), "nothing is known yet");
        own.host = Some("claude-code".to_owned());
        assert!(own.concern("claude-code", Some("s")) && !own.concern("codex", Some("s")));
        own.session = Some("s".to_owned());
        assert!(own.concern("claude-code", Some("s")) && own.concern("claude-code", None));
        assert!(!own.concern("claude-code", Some("t")) && !own.concern("codex", Some("s")));
    }
}

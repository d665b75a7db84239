//! What anyhook knows about agents, one folder an agent: how its payload is read, how it is
//! answered, what it can do, and its quirks, with recorded payloads beside it.
//!
//! Pure functions of their arguments. A new agent is a folder with a table of tools, a table of
//! capabilities, a `decode`, an `encode` and its fixtures.

pub mod claude_code;
pub mod codex;
mod common;
pub mod facts;
pub mod fuzzing;
pub mod gemini_cli;
pub mod opencode;
pub mod patch;
mod patch_events;
pub mod payload;
mod say;
pub mod tool;
pub mod wiring;

use std::path::PathBuf;

use anyhook_model::{EventKind, Host};
use facts::{Capability, Quirk};
use wiring::{Call, Edits, Inspection, Scope, SettingsError, Texts};

/// An agent's program that anyhook can be wired into.
pub trait Agent: Host + Sync {
    /// Returns the name people know it by.
    fn title(&self) -> &'static str;

    /// Returns what it can do at each event.
    fn capabilities(&self) -> Vec<Capability>;

    /// Returns how it differs from what one would think.
    fn quirks(&self) -> &'static [Quirk];

    /// Returns the name of its program.
    fn program(&self) -> &'static str;

    /// Returns the version everything here was tried with.
    fn tried_version(&self) -> &'static str;

    /// Returns how long hooks may take at an event, in milliseconds: a little less than the agent
    /// itself waits.
    fn limit_ms(&self, event: &EventKind) -> u64 {
        let _ = event;
        540_000
    }

    /// Returns the settings files that wiring touches.
    fn settings_files(&self, scope: &Scope) -> Vec<PathBuf>;

    /// Returns further files that tell whether it calls us; wiring leaves them alone.
    fn further_files(&self, scope: &Scope) -> Vec<PathBuf> {
        let _ = scope;
        Vec::new()
    }

    /// Wires us in: returns the new texts of the files that change.
    fn wire(&self, scope: &Scope, texts: &Texts, call: &Call) -> Result<Edits, SettingsError>;

    /// Takes us out again: returns the new texts of the files that change.
    fn unwire(&self, scope: &Scope, texts: &Texts) -> Result<Edits, SettingsError>;

    /// Looks at how we are wired in.
    fn inspect(&self, scope: &Scope, texts: &Texts) -> Result<Inspection, SettingsError>;
}

/// Every agent, by name.
pub const AGENTS: [&dyn Agent; 4] =
    [&claude_code::ClaudeCode, &codex::Codex, &gemini_cli::GeminiCli, &opencode::OpenCode];

/// Finds an agent by its id.
pub fn find(id: &str) -> Option<&'static dyn Agent> {
    AGENTS.into_iter().find(|agent| agent.id() == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_a_row_for_every_event() {
        for agent in AGENTS {
            let events: Vec<_> = agent.capabilities().into_iter().map(|row| row.event).collect();
            let all: Vec<_> = EventKind::all().collect();
            assert_eq!(events, all, "{}", agent.id());
            assert!(agent.quirks().iter().all(|quirk| !quirk.mitigation.is_empty()));
        }
    }
}

//! What anyhook knows about agents, one folder an agent: how its payload is read, how it is
//! answered, what it can do, and its quirks, with recorded payloads beside it.
//!
//! Pure functions of their arguments. A new agent is a folder with a table of tools, a table of
//! capabilities, a `decode`, an `encode` and its fixtures.

pub mod claude_code;
pub mod codex;
pub mod command;
mod common;
pub mod dialog;
pub mod facts;
pub mod fuzzing;
pub mod gemini_cli;
pub mod happening;
pub mod launch;
pub mod log;
pub mod opencode;
pub mod payload;
mod question;
pub mod recognition;
mod say;
pub mod tool;
pub mod usage;
pub mod wiring;

use std::path::PathBuf;

use anyhook_model::{EventKind, Host, ProcessName};
use command::{Command, CommandFile};
use dialog::Dialog;
use facts::{Capability, Quirk};
use launch::Launch;
use log::{LogHomes, LogPlace, LogSays, LogState};
use tool::{OtherTool, Tool};
use wiring::{Call, Displaced, Edits, Injection, Inspection, Scope, SettingsError, Start, Texts};

/// An agent's program that anyhook can be wired into.
pub trait Agent: Host + Sync {
    /// Returns the name people know it by.
    fn title(&self) -> &'static str;

    /// Returns what it can do at each event.
    fn capabilities(&self) -> Vec<Capability>;

    /// Returns its tools that have a canonical name.
    fn tools(&self) -> &'static [Tool];

    /// Returns its other tools.
    fn other_tools(&self) -> &'static [OtherTool];

    /// Returns how it differs from what one would think.
    fn quirks(&self) -> &'static [Quirk];

    /// Returns the name of its program.
    fn program(&self) -> &'static str;

    /// Returns the variables that it sets for the commands it runs, and that nothing else sets: not
    /// an editor's terminal, nor a person's own settings.
    fn session_variables(&self) -> &'static [&'static str];

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

    /// Returns further files that these texts lead to, such as those of plugins, and that tell
    /// whether it calls us.
    fn files_named_in(&self, scope: &Scope, texts: &Texts) -> Vec<PathBuf> {
        let _ = (scope, texts);
        Vec::new()
    }

    /// Wires us in: returns the new texts of the files that change.
    fn wire(&self, scope: &Scope, texts: &Texts, call: &Call) -> Result<Edits, SettingsError>;

    /// Takes us out again: returns the new texts of the files that change.
    fn unwire(&self, scope: &Scope, texts: &Texts) -> Result<Edits, SettingsError>;

    /// Looks at how we are wired in.
    fn inspect(&self, scope: &Scope, texts: &Texts) -> Result<Inspection, SettingsError>;

    /// Returns what makes the agent call us for one start of it, added to what the user and the
    /// project have; its settings files stay as they are.
    ///
    /// Whether its settings have it call us already is for the caller to [inspect](Self::inspect).
    fn inject(&self, start: &Start<'_>) -> Result<Injection, SettingsError> {
        let _ = start;
        Ok(Injection { why_not: Some("nobody has tried"), ..Injection::default() })
    }

    /// Returns the settings that an injection takes the place of, by the user's files, the agent's
    /// command line and its environment; none if the agent adds them up.
    fn displaced(
        &self,
        scope: &Scope,
        run: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Displaced> {
        let _ = (scope, run, variable);
        None
    }

    /// Returns the file from which the agent reads a command that people type, if it has such.
    fn command_file(&self, scope: &Scope, command: &Command<'_>) -> Option<CommandFile> {
        let _ = (scope, command);
        None
    }

    /// Returns the npm package it comes in.
    fn package(&self) -> &'static str;

    /// Tells whether a start takes its prompt as an argument; else it is to be typed once the agent
    /// is ready.
    fn takes_prompt(&self, launch: &Launch<'_>) -> bool {
        let _ = launch;
        true
    }

    /// Returns the arguments that make its command line start with a prompt, or go on with a session.
    fn launch(&self, launch: &Launch<'_>) -> Vec<String> {
        launch::plain(launch)
    }

    /// Returns the dialog that its screen shows, plain or with colours (`tmux capture-pane -p -e`), if
    /// no hook tells of it or none can answer it.
    fn dialog(&self, screen: &str) -> Option<Dialog> {
        let _ = screen;
        None
    }

    /// Returns where the logs are that it writes for itself.
    fn log_places(&self, homes: &LogHomes) -> Vec<LogPlace>;

    /// Returns the state of a log before its first line, as far as the file's name tells.
    fn begin_log(&self, file_name: &str) -> LogState {
        let _ = file_name;
        LogState::default()
    }

    /// Reads the next line of a log, or the data of a row: what it tells of the agent, if anything.
    fn read_log_line(&self, state: &mut LogState, line: &str) -> Option<LogSays>;
}

/// Every agent, by name.
pub const AGENTS: [&dyn Agent; 4] =
    [&claude_code::ClaudeCode, &codex::Codex, &gemini_cli::GeminiCli, &opencode::OpenCode];

/// Every agent as a host and nothing else: whoever takes one from here does not carry along what
/// wires it up, which the hook path has no use for.
const HOSTS: [&dyn Host; 4] =
    [&claude_code::ClaudeCode, &codex::Codex, &gemini_cli::GeminiCli, &opencode::OpenCode];

/// Finds an agent by its id, as a host.
pub fn find_host(id: &str) -> Option<&'static dyn Host> {
    HOSTS.into_iter().find(|host| host.id() == id)
}

/// Finds an agent by its id.
pub fn find(id: &str) -> Option<&'static dyn Agent> {
    AGENTS.into_iter().find(|agent| agent.id() == id)
}

/// Tells whether an agent's process is among some, each with the name of its program.
///
/// A payload sent by hand makes a terminal look like an agent, which it is not: the program has to
/// be one of the agent's.
pub fn is_among(process: &ProcessName, id: &str, all: &[(ProcessName, String)]) -> bool {
    let names = find_host(id).map_or(&[][..], Host::process_names);
    all.iter().any(|(name, program)| name == process && names.contains(&program.as_str()))
}

#[cfg(test)]
mod tests {
    use anyhook_model::tools;

    use super::*;

    #[test]
    fn every_agent_is_a_host() {
        let hosts = HOSTS.map(Host::id);
        assert_eq!(hosts, AGENTS.map(Host::id));
        for id in hosts {
            assert_eq!(find_host(id).unwrap().id(), find(id).unwrap().id());
        }
        assert!(find_host("nobody").is_none());
    }

    /// The model's table is what matchers go by: no tool of a host may be missing there.
    #[test]
    fn every_tool_is_in_the_table_of_matchers() {
        let mut others = Vec::new();
        for agent in AGENTS {
            for tool in agent.tools() {
                let found = tools::find(tool.native).unwrap_or_else(|| panic!("{tool:?}"));
                assert_eq!(found.name, tool.canonical, "{tool:?}");
                let whose = |list: &[(&str, &str)]| {
                    list.iter()
                        .any(|(own, whose)| *own == tool.native && whose.contains(agent.title()))
                };
                assert!(whose(found.names) || whose(found.special), "{tool:?}");
                for (native, canonical) in tool.renamed {
                    let is_path = found.paths.contains(canonical);
                    assert_eq!(found.paths.contains(native), is_path, "{native} of {tool:?}");
                }
                assert!(tool.files.iter().all(|field| found.paths.contains(field)), "{tool:?}");
            }
            others.extend(agent.other_tools().iter().map(|tool| tool.name));
        }
        others.sort_unstable();
        others.dedup();
        assert_eq!(others, tools::OTHER_TOOLS);
        let natives: Vec<_> =
            AGENTS.iter().flat_map(|agent| agent.tools()).map(|tool| tool.native).collect();
        for (name, _) in tools::TOOLS.iter().flat_map(|tool| tool.names.iter().chain(tool.special))
        {
            assert!(natives.contains(name), "no agent has {name}");
        }
    }

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

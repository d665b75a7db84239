//! Agent-specific code of anyhook, one folder per agent: how its payloads are decoded, how it is
//! answered, its capabilities and its quirks, along with recorded payloads.
//!
//! Pure functions of their arguments. A new agent is a folder (`cargo xtask new-host NAME` creates
//! one) and its line here. `build.rs` generates [`AGENTS`] from these lines: a host is a module
//! whose folder has a `capabilities.rs`.

pub mod amp;
pub mod antigravity;
pub mod claude_code;
pub mod cline;
pub mod codex;
pub mod copilot;
pub mod crush;
pub mod cursor;
pub mod droid;
pub mod gemini_cli;
pub mod goose;
pub mod grok;
pub mod hermes;
pub mod junie;
pub mod kilo;
pub mod kimi_cli;
pub mod kimi_code;
pub mod kiro;
pub mod letta;
pub mod oh_my_pi;
pub mod opencode;
pub mod pi;
pub mod qwen_code;
pub mod vscode;
pub mod windsurf;

pub mod agent_package;
pub mod bus_event;
pub mod capabilities;
mod common;
pub mod contract;
pub mod dialog;
mod extension;
pub mod fuzzing;
pub mod launch;
pub mod log;
pub mod log_database;
pub mod native_hooks;
pub mod offline;
pub mod payload;
pub mod planned;
mod question;
pub mod recognition;
mod reply_builder;
pub mod slash_command;
pub mod spec;
pub mod tool;
pub mod transcript;
pub mod usage;
pub mod wiring;

use anyhook_model::{Host, ProcessName};

pub use spec::{HostSpec, Protocol};

// `AGENTS`, every agent by name, and `PROTOCOLS`, the same for the hook path: code that uses only
// the latter does not link the settings editors.
include!(concat!(env!("OUT_DIR"), "/lists.rs"));

/// Finds an agent by its id, as a host.
pub fn find_host(id: &str) -> Option<&'static dyn Host> {
    PROTOCOLS.into_iter().find(|host| host.id == id).map(|host| host as &dyn Host)
}

/// Returns the agents that also run the hooks in an agent's settings and that this process was
/// started by, according to its variables.
pub fn runners_of(
    id: &str,
    has_variable: impl Fn(&str) -> bool,
) -> impl Iterator<Item = &'static Protocol> {
    PROTOCOLS.into_iter().filter(move |host| {
        host.also_runs_hooks_of.contains(&id)
            && host.hook_variables.iter().any(|name| has_variable(name))
    })
}

/// Finds an agent by its id.
pub fn find(id: &str) -> Option<&'static HostSpec> {
    AGENTS.into_iter().find(|agent| agent.id() == id)
}

/// Returns the agents that are tried if none is named, in this order: those that were run. Others may
/// be an editor, or take a prompt in another way.
pub fn in_search_order() -> impl Iterator<Item = &'static HostSpec> {
    let mut agents = AGENTS;
    agents.sort_by_key(|agent| agent.search_order);
    agents.into_iter().filter(|agent| agent.tried_version().is_some())
}

/// Returns the variables with which people choose where agents keep their settings and logs.
pub fn folder_variables() -> impl Iterator<Item = &'static str> {
    PROTOCOLS.into_iter().flat_map(|host| host.folder_variables).copied()
}

/// Returns whether an agent's process is among the given ones, each with the name of its program.
///
/// A payload sent by hand makes a terminal look like an agent, which it is not: the program must be
/// one of the agent's.
pub fn is_among(process: &ProcessName, id: &str, all: &[(ProcessName, String)]) -> bool {
    let names = find_host(id).map_or(&[][..], Host::process_names);
    all.iter().any(|(name, program)| name == process && names.contains(&program.as_str()))
}

#[cfg(test)]
mod tests {
    use anyhook_model::host::{HOST_IDS, host_ids};
    use anyhook_model::{EventKind, tools};

    use super::*;

    #[test]
    fn every_agent_is_a_host() {
        let hosts = PROTOCOLS.map(Host::id);
        assert_eq!(hosts, AGENTS.map(HostSpec::id));
        for id in hosts {
            assert_eq!(find_host(id).unwrap().id(), find(id).unwrap().id());
        }
        assert!(find_host("nobody").is_none());
        for agent in AGENTS {
            assert!(HOST_IDS.contains(&agent.id()), "cargo xtask generate: {}", agent.id());
            for name in agent.other_names {
                assert!(host_ids(name).contains(&agent.id()), "cargo xtask generate: {name}");
            }
        }
        for id in planned::planned().flat_map(|host| host.ids) {
            assert!(HOST_IDS.contains(id) && find(id).is_none(), "{id}");
        }
    }

    /// The model's table is what matchers use: no tool of a host may be missing there, as long as
    /// `cargo xtask generate` was run.
    #[test]
    fn every_tool_is_in_the_table_of_matchers() {
        let mut others = Vec::new();
        for agent in AGENTS {
            for tool in agent.protocol.tools {
                let found = tools::find(tool.native).unwrap_or_else(|| panic!("{tool:?}"));
                assert_eq!(found.name, tool.canonical, "{tool:?}");
                let whose = |list: &[(&str, &str)]| {
                    list.iter()
                        .any(|(own, whose)| *own == tool.native && whose.contains(agent.title))
                };
                assert!(whose(found.names) || whose(found.special), "{tool:?}");
                for (native, canonical) in tool.renamed {
                    let is_path = found.paths.contains(canonical);
                    assert_eq!(found.paths.contains(native), is_path, "{native} of {tool:?}");
                }
                assert!(tool.files.iter().all(|field| found.paths.contains(field)), "{tool:?}");
            }
            others.extend(agent.other_tools.iter().map(|tool| tool.name));
        }
        others.sort_unstable();
        others.dedup();
        assert_eq!(others, tools::OTHER_TOOLS);
        let natives: Vec<_> =
            AGENTS.iter().flat_map(|agent| agent.protocol.tools).map(|tool| tool.native).collect();
        for (name, _) in tools::TOOLS.iter().flat_map(|tool| tool.names.iter().chain(tool.special))
        {
            assert!(natives.contains(name), "no agent has {name}");
        }
    }

    #[test]
    fn every_agent_has_a_row_for_every_event() {
        for agent in AGENTS {
            let events: Vec<_> =
                agent.protocol.capabilities.iter().map(|row| row.event.clone()).collect();
            let all: Vec<_> = EventKind::all().collect();
            assert_eq!(events, all, "{}", agent.id());
            assert!(agent.quirks.iter().all(|quirk| !quirk.mitigation.is_empty()));
        }
    }
}

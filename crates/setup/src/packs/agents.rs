//! The agents that a pack's commands are installed for, and what its hooks cannot do in them.

use anyhook_hook::environment::Environment;
use anyhook_hosts::capabilities::Capability;
use anyhook_hosts::wiring::SettingsScope;
use anyhook_hosts::{AGENTS, HostSpec};
use anyhook_model::hook::{FailMode, HookDefinition, StdoutUse};

use super::Pack;
use crate::error::SetupError;
use crate::settings;

/// Returns the named agents, or those that are installed or call us.
pub fn chosen(
    names: &[String],
    scope: &SettingsScope,
    environment: &Environment,
) -> Result<Vec<&'static HostSpec>, SetupError> {
    let mut chosen: Vec<&'static HostSpec> = Vec::new();
    if names.is_empty() {
        let is_meant = |agent: &&'static HostSpec| {
            settings::is_here(agent, scope) || settings::is_wired(agent, environment)
        };
        chosen.extend(AGENTS.into_iter().filter(is_meant));
    }
    for name in names {
        let agent = settings::find(name)?;
        if chosen.iter().all(|other| other.id() != agent.id()) {
            chosen.push(agent);
        }
    }
    Ok(chosen)
}

/// Returns where hooks of a pack have less effect in an agent: at which events, and which hooks.
pub fn limits(pack: &Pack, agent: &HostSpec) -> Vec<String> {
    let rows = agent.protocol.capabilities;
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for definition in pack.hooks.iter().map(|hook| &hook.definition) {
        let lacking = |row: &&Capability| lack(definition, row);
        let of_hook: Vec<&Capability> =
            rows.iter().filter(|row| definition.spelling_of(&row.event).is_some()).collect();
        let left: Vec<String> = of_hook
            .iter()
            .filter(|row| lacking(row).is_none())
            .map(|row| row.event.to_string())
            .collect();
        for row in &of_hook {
            let Some(lack) = lacking(row) else { continue };
            let instead = if left.is_empty() {
                "have no effect".to_owned()
            } else {
                format!("only work at {}", left.join(", "))
            };
            let text = format!("{lack} {}; these hooks {instead}: ", row.event);
            match groups.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) => names.push(&definition.name),
                None => groups.push((text, vec![&definition.name])),
            }
        }
    }
    groups.into_iter().map(|(text, names)| format!("{text}{}", names.join(", "))).collect()
}

/// Returns what a hook needs at an event and does not have, if anything.
fn lack(definition: &HookDefinition, row: &Capability) -> Option<&'static str> {
    if row.native.is_none() {
        Some("has no")
    } else if definition.stdout == StdoutUse::Context && !row.context {
        Some("ignores context at")
    } else if definition.on_failure == FailMode::Block && !row.block {
        Some("can't block")
    } else {
        None
    }
}

//! What `hosts` reports of an agent.

use anyhook_hook::environment::Environment;
use anyhook_hosts::HostSpec;
use anyhook_model::report::{HostCapability, HostObstacle, HostQuirk, HostReport};

use crate::settings;

/// Reports an agent: where it is, whether it calls us, and what hooks can do in it. The agent is
/// asked for its version, which may take a second.
pub fn host_report(agent: &HostSpec, environment: &Environment) -> HostReport {
    let program = settings::program(agent);
    HostReport {
        id: agent.id().to_owned(),
        title: agent.title.to_owned(),
        version: program.as_deref().and_then(settings::version),
        program: program.map(|path| path.to_string_lossy().into_owned()),
        tried_version: agent.tried_version.to_owned(),
        wired: settings::is_wired(agent, environment),
        obstacles: settings::obstacles(agent, environment)
            .into_iter()
            .map(|obstacle| HostObstacle { what: obstacle.what, way_out: obstacle.way_out })
            .collect(),
        capabilities: agent
            .protocol
            .capabilities
            .iter()
            .map(|row| HostCapability {
                event: row.event.clone(),
                native: row.native.map(str::to_owned),
                block: row.block,
                modify: row.modify,
                context: row.context,
                ask: row.ask,
            })
            .collect(),
        quirks: agent
            .quirks
            .iter()
            .map(|quirk| HostQuirk {
                id: quirk.id.to_owned(),
                versions: quirk.versions.to_owned(),
                behaviour: quirk.behaviour.to_owned(),
                mitigation: quirk.mitigation.to_owned(),
                evidence: quirk.evidence.to_owned(),
            })
            .collect(),
    }
}

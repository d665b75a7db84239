//! What `hosts` reports of an agent.

use anyhook_hook::environment::Environment;
use anyhook_hosts::HostSpec;
use anyhook_hosts::contract::{Contract, Proof};
use anyhook_hosts::planned::{PlannedHost, Refusal};
use anyhook_model::EventKind;
use anyhook_model::report::{HostCapability, HostContract, HostObstacle, HostQuirk, HostReport};

use crate::settings;

/// Reports an agent: where it is, whether it calls us, and what hooks can do in it. The agent is
/// asked for its version, which may take a second.
pub fn host_report(agent: &HostSpec, environment: &Environment) -> HostReport {
    let program = settings::program(agent);
    let version = program.as_deref().and_then(settings::version);
    HostReport {
        id: agent.id().to_owned(),
        title: agent.title.to_owned(),
        standing: version.as_deref().map(|version| agent.standing(version).name().to_owned()),
        version,
        program: program.map(|path| path.to_string_lossy().into_owned()),
        tried_version: agent.tried_version().map(str::to_owned),
        unsupported: None,
        contracts: agent.contracts.iter().map(contract).collect(),
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

/// Reports an agent in which no hook works.
pub fn refused_report(host: &PlannedHost, refusal: &Refusal) -> HostReport {
    let program = host.programs.first().and_then(|program| settings::on_path(program));
    HostReport {
        id: host.ids.concat(),
        title: host.title.to_owned(),
        version: program.as_deref().and_then(settings::version),
        program: program.map(|path| path.to_string_lossy().into_owned()),
        tried_version: Some(refusal.version.to_owned()),
        unsupported: Some(refusal.why.to_owned()),
        standing: None,
        contracts: Vec::new(),
        wired: false,
        obstacles: Vec::new(),
        capabilities: EventKind::all().map(no_capability).collect(),
        quirks: Vec::new(),
    }
}

fn no_capability(event: EventKind) -> HostCapability {
    let (block, modify, context, ask) = (false, false, false, false);
    HostCapability { event, native: None, block, modify, context, ask }
}

fn contract(contract: &Contract) -> HostContract {
    let (run, documented) = match contract.proof {
        Proof::Run(version) => (Some(version.to_owned()), None),
        Proof::FactSheet(date) => (None, Some(date.to_owned())),
    };
    HostContract {
        from: contract.from.to_owned(),
        below: contract.below.map(str::to_owned),
        run,
        documented,
        supported: contract.is_supported,
        note: contract.note.map(str::to_owned),
    }
}

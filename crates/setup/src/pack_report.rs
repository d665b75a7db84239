//! What `add` reports of a pack.

use anyhook_model::report::changes::{AddReport, PlacedCommand, PlacedHook};

use crate::packs::Pack;
use crate::packs::status::{CommandPlace, HookPlace, PackStatus};

/// Reports what of a pack is added.
pub fn added(
    pack: &Pack,
    hooks: &[HookPlace<'_>],
    commands: &[CommandPlace<'_>],
    needs_trust: bool,
    shadow: bool,
) -> AddReport {
    let added = hooks.iter().filter(|place| place.standing != PackStatus::Same);
    let hook = |place: &HookPlace<'_>| PlacedHook {
        name: place.hook.name().to_owned(),
        folder: place.folder.to_string_lossy().into_owned(),
    };
    let new = commands.iter().filter(|place| place.standing != PackStatus::Same);
    let command = |place: &CommandPlace<'_>| PlacedCommand {
        agent: place.agent.id().to_owned(),
        call: place.file.call.clone(),
        path: place.file.path.to_string_lossy().into_owned(),
    };
    AddReport {
        pack: Some(pack.name.clone()),
        hooks: added.map(hook).collect(),
        commands: new.map(command).collect(),
        source: None,
        digest: None,
        shadow,
        needs_trust,
    }
}

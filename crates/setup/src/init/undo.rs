//! Undoes what was done: nothing more, and what someone changed since is not touched.

use std::fs;
use std::path::PathBuf;

use anyhook_hook::environment::Environment;
use anyhook_model::report::init::{InitAgent, InitImport, InitPack, InitReport};

use super::record::{InitRecord, RecordedPack};
use crate::error::SetupError;
use crate::import::ImportError;
use crate::import::restore::restore;
use crate::install::{RestoreResult, TakenOut};
use crate::packs::level::PackLevel;
use crate::packs::removal::InstalledParts;
use crate::packs::status::PackStatus;
use crate::packs::{Pack, PackFiles};
use crate::settings;

/// Undoes the latest `init`.
pub fn undo(environment: &Environment, files: PackFiles) -> Result<InitReport, SetupError> {
    let state = environment.places.state.as_ref().ok_or(SetupError::NoState)?;
    let record = InitRecord::newest(state)?.ok_or(SetupError::NothingToUndo)?;
    of_record(&record, environment, files)
}

/// Undoes what a record says; refuses before the first change if a pack was changed since.
pub fn of_record(
    record: &InitRecord,
    environment: &Environment,
    files: PackFiles,
) -> Result<InitReport, SetupError> {
    let state = environment.places.state.as_ref().ok_or(SetupError::NoState)?;
    let there = record.environment(environment);
    let mut packs: Vec<(PackLevel, Pack)> = Vec::new();
    for recorded in &record.packs {
        let level = PackLevel::read(recorded.level(), &there)?;
        packs.extend(level.pack(&recorded.name, files).map(|pack| (level, pack)));
    }
    let parts: Vec<InstalledParts<'_>> =
        packs.iter().filter_map(|(level, pack)| InstalledParts::find(level, pack)).collect();
    let changed: Vec<PathBuf> = parts
        .iter()
        .flat_map(|parts| parts.paths(PackStatus::Changed))
        .map(PathBuf::from)
        .collect();
    if !changed.is_empty() {
        return Err(SetupError::ChangedSince(changed));
    }
    let mut report = InitReport { result: "undone".to_owned(), ..InitReport::default() };
    // First: their settings are then as they were when anyhook was installed.
    for id in &record.imports {
        report.agents.push(put_back(id, &there)?);
    }
    for id in &record.agents {
        let agent = take_out(id, &there)?;
        match report.agents.iter_mut().find(|known| known.id == agent.id) {
            Some(known) => known.restored = agent.restored,
            None => report.agents.push(agent),
        }
    }
    for part in &parts {
        part.remove(state)?;
    }
    report.packs = record.packs.iter().map(RecordedPack::reported).collect();
    for folder in record.folders.iter().rev() {
        // One with anything else in it is kept.
        let _ = fs::remove_dir(folder);
    }
    record.forget(state)?;
    report.record = Some(record.id.clone());
    Ok(report)
}

fn put_back(id: &str, environment: &Environment) -> Result<InitAgent, SetupError> {
    let agent = settings::find(id)?;
    let (hooks, restored) = match restore(agent, false, false, environment) {
        Ok(done) => (done.removed, worst(&done.files)),
        // A person has put them back since, or the import was not carried out.
        Err(SetupError::Import(ImportError::NothingToRestore(_))) => (Vec::new(), None),
        Err(error) => return Err(error),
    };
    let hooks = hooks.into_iter().map(|(name, _)| name).collect();
    let import = InitImport { hooks, chosen: true, ..InitImport::default() };
    Ok(InitAgent {
        id: agent.id().to_owned(),
        title: agent.title.to_owned(),
        import: Some(import),
        restored: restored.map(|how| how.word().to_owned()),
        ..InitAgent::default()
    })
}

/// Returns how the file that differs most compares with what it was.
fn worst(files: &[(PathBuf, RestoreResult)]) -> Option<RestoreResult> {
    [RestoreResult::Unknown, RestoreResult::Edited, RestoreResult::Exactly]
        .into_iter()
        .find(|how| files.iter().any(|(_, found)| found == how))
}

fn take_out(id: &str, environment: &Environment) -> Result<InitAgent, SetupError> {
    let agent = settings::find(id)?;
    let scope = settings::scope(environment, false)?;
    let state = environment.places.state.as_ref().ok_or(SetupError::NoState)?;
    let taken = TakenOut::of(agent, &scope, state, false)?;
    Ok(InitAgent {
        id: agent.id().to_owned(),
        title: agent.title.to_owned(),
        restored: worst(&taken.files).map(|how| how.word().to_owned()),
        ..InitAgent::default()
    })
}

impl RecordedPack {
    fn reported(&self) -> InitPack {
        InitPack {
            name: self.name.clone(),
            level: self.level().word().to_owned(),
            was_added: true,
            ..InitPack::default()
        }
    }
}

//! Puts an agent's own hooks back into its settings, and removes what was imported from them.

use std::path::{Path, PathBuf};

use anyhook_engine::now;
use anyhook_engine::trust::{TrustStore, absolute};
use anyhook_hook::environment::Environment;
use anyhook_hosts::HostSpec;
use anyhook_hosts::native_hooks::{NativeFormat, unpark};
use anyhook_hosts::wiring::SettingsEdits;
use anyhook_model::StateDir;

use super::ImportError;
use super::carry_out::{text_now, trust_moved};
use super::record::{ParkedHook, ParkedRecord};
use super::survey::ImportSurvey;
use crate::error::SetupError;
use crate::install::RestoreResult;
use crate::packs::apply::move_away;
use crate::settings;

/// What was put back and removed, or would be.
#[derive(Debug)]
pub struct Restored {
    /// What was found before.
    pub survey: ImportSurvey,
    /// The settings files that change.
    pub edits: SettingsEdits,
    /// How each file compares with its state before the hooks were taken out.
    pub files: Vec<(PathBuf, RestoreResult)>,
    /// The hooks that were put back.
    pub hooks: Vec<ParkedHook>,
    /// The imported hooks that were removed, and where each is kept.
    pub removed: Vec<(String, PathBuf)>,
}

/// Puts an agent's own hooks back, or only says what would be done.
pub fn restore(
    agent: &'static HostSpec,
    project: bool,
    dry_run: bool,
    environment: &Environment,
) -> Result<Restored, SetupError> {
    let state = environment.places.state.as_deref().ok_or(SetupError::NoState)?;
    let survey = ImportSurvey::look(agent, project, environment)?;
    if survey.parked.is_none() && survey.imported.is_empty() {
        return Err(ImportError::NothingToRestore(agent.title.to_owned()).into());
    }
    let record = survey.parked.clone().unwrap_or_default();
    let (edits, files) = edits(&survey, &record, environment)?;
    let kept = removed_folder(state);
    let removed: Vec<(String, PathBuf)> =
        survey.imported.iter().map(|folder| (folder.name(), kept.join(folder.name()))).collect();
    let hooks = record.hooks;
    let restored = Restored { survey, edits, files, hooks, removed };
    if !dry_run {
        restored.carry_out(state)?;
    }
    Ok(restored)
}

/// Returns whether anything of an agent's settings is parked, so that it would be lost without us.
pub fn is_parked(agent: &'static HostSpec, project: bool, environment: &Environment) -> bool {
    let Some(state) = environment.places.state.as_deref() else { return false };
    let scope = settings::scope(environment, project);
    let record = scope.map(|scope| ParkedRecord::load(state, agent, &scope));
    !matches!(record, Ok(Ok(None)) | Err(_))
}

fn removed_folder(state: &Path) -> PathBuf {
    let stamp = now().to_string().replace(':', "");
    StateDir::new(state).removed().join(format!("imported-{stamp}"))
}

impl Restored {
    fn carry_out(&self, state: &Path) -> Result<(), SetupError> {
        // First: a hook that is there twice is better than none.
        settings::write(&self.edits)?;
        for (folder, (_, kept)) in self.survey.imported.iter().zip(&self.removed) {
            let source = absolute(&folder.folder)?;
            move_away(&folder.folder, kept)?;
            // A removed hook must not be reported as missing.
            TrustStore::new(state).forget(&source)?;
        }
        ParkedRecord::forget(state, self.survey.agent, &self.survey.scope)
    }
}

/// Returns the settings with the hooks that were taken out: as they were, or, where someone has
/// edited them since, with the hooks at the end of their event.
fn edits(
    survey: &ImportSurvey,
    record: &ParkedRecord,
    environment: &Environment,
) -> Result<(SettingsEdits, Vec<(PathBuf, RestoreResult)>), SetupError> {
    let mut edits = SettingsEdits::new();
    let mut files = Vec::new();
    let mut is_edited = false;
    for (path, change) in &record.files {
        let now = text_now(survey, path)?;
        let (text, how) = if now == change.after || now == change.before {
            (change.before.clone(), RestoreResult::Exactly)
        } else {
            is_edited = true;
            let text = with_parked(survey.format, path, now.clone(), record)?;
            (text, RestoreResult::Edited)
        };
        if text != now {
            edits.insert(path.clone(), text);
        }
        files.push((path.clone(), how));
    }
    if is_edited {
        trust_moved(survey, &mut edits, environment)?;
    }
    Ok((edits, files))
}

/// Returns the text of a settings file with the hooks that were taken out of it.
pub(super) fn with_parked(
    format: &NativeFormat,
    path: &Path,
    now: Option<String>,
    record: &ParkedRecord,
) -> Result<Option<String>, SetupError> {
    let parked = record.of_file(path);
    if parked.is_empty() {
        return Ok(now);
    }
    Ok(Some(unpark(format, path, now.as_deref(), &parked)?))
}

//! Installs anyhook into agents' settings files and removes it again: the changes, and the record
//! from which they are reverted byte for byte.

use std::path::{Path, PathBuf};

use anyhook_engine::run::environment::{path_file, record_path};
use anyhook_hook::environment::Environment;
use anyhook_hosts::wiring::{
    HookInvocation, SettingsEdits, SettingsScope, SettingsTexts, WiringStatus,
};
use anyhook_hosts::{AGENTS, HostSpec};

use crate::error::SetupError;
use crate::proof::store;
use crate::settings::{self, RecordedChange, RecordedInstallation};

/// The changes for one agent: its settings before and after.
pub struct InstallPlan {
    /// The agent.
    pub agent: &'static HostSpec,
    /// Its settings files before.
    pub texts: SettingsTexts,
    /// The files that change.
    pub edits: SettingsEdits,
}

impl std::fmt::Debug for InstallPlan {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let agent = self.agent.id();
        formatter
            .debug_struct("InstallPlan")
            .field("agent", &agent)
            .field("edits", &self.edits)
            .finish_non_exhaustive()
    }
}

/// Returns the named agents, or those that are installed.
pub fn chosen(
    names: &[String],
    scope: &SettingsScope,
) -> Result<Vec<&'static HostSpec>, SetupError> {
    if names.is_empty() {
        return Ok(AGENTS.into_iter().filter(|agent| settings::is_here(agent, scope)).collect());
    }
    let mut chosen: Vec<&'static HostSpec> = Vec::new();
    for name in names {
        let agent = settings::find(name)?;
        if chosen.iter().all(|other| other.id() != agent.id()) {
            chosen.push(agent);
        }
    }
    Ok(chosen)
}

impl InstallPlan {
    /// Computes the settings with which an agent calls us.
    pub fn wire(
        agent: &'static HostSpec,
        scope: &SettingsScope,
        call: &HookInvocation,
    ) -> Result<Self, SetupError> {
        let texts = settings::read(agent, scope)?;
        let mut edits = agent.settings.wire(scope, &texts, call)?;
        edits.retain(|path, after| texts.get(path) != after.as_ref());
        Ok(Self { agent, texts, edits })
    }

    /// Computes how to revert them: to what was there before, or, if someone has edited them since,
    /// to the text without our entries.
    pub fn unwire(
        agent: &'static HostSpec,
        scope: &SettingsScope,
        record: Option<&RecordedInstallation>,
    ) -> Result<Self, SetupError> {
        let texts = settings::read(agent, scope)?;
        let mut edits = agent.settings.unwire(scope, &texts)?;
        for (name, change) in record.into_iter().flat_map(|record| &record.files) {
            let path = PathBuf::from(name);
            if texts.get(&path) == change.after.as_ref() {
                edits.insert(path, change.before.clone());
            }
        }
        edits.retain(|path, after| texts.get(path) != after.as_ref());
        Ok(Self { agent, texts, edits })
    }

    /// Returns the settings files after the changes.
    pub fn texts_after(&self) -> SettingsTexts {
        let mut texts = self.texts.clone();
        for (path, after) in &self.edits {
            match after {
                Some(text) => drop(texts.insert(path.clone(), text.clone())),
                None => drop(texts.remove(path)),
            }
        }
        texts
    }

    /// Inspects the settings after the changes.
    pub fn outcome(&self, scope: &SettingsScope) -> Result<WiringStatus, SetupError> {
        Ok(self.agent.settings.inspect(scope, &self.texts_after())?)
    }

    /// Returns the change of each file that changes.
    pub fn changes(&self) -> impl Iterator<Item = (&PathBuf, SettingsChange)> {
        self.edits.iter().map(|(path, after)| {
            let change = match (self.texts.get(path), after) {
                (_, None) => SettingsChange::Removed,
                (None, Some(_)) => SettingsChange::Created,
                (Some(_), Some(_)) => SettingsChange::Changed,
            };
            (path, change)
        })
    }

    /// Compares settings files with their state before the installation: those that this plan
    /// changes, and those in the record. `now` is their current state.
    pub fn restored(
        &self,
        now: &SettingsTexts,
        record: Option<&RecordedInstallation>,
    ) -> Vec<(PathBuf, RestoreResult)> {
        let known = record.into_iter().flat_map(|record| record.files.keys().map(PathBuf::from));
        let mut paths: Vec<PathBuf> = self.edits.keys().cloned().chain(known).collect();
        paths.sort();
        paths.dedup();
        let restored = |path: PathBuf| {
            let known = record.and_then(|record| record.files.get(path.to_string_lossy().as_ref()));
            let how = match known {
                None => RestoreResult::Unknown,
                Some(change) if change.before.as_ref() == now.get(&path) => RestoreResult::Exactly,
                Some(_) => RestoreResult::Edited,
            };
            (path, how)
        };
        paths.into_iter().map(restored).collect()
    }

    /// Writes the settings, and stores a record of what was there before.
    pub fn install(
        &self,
        scope: &SettingsScope,
        environment: &Environment,
    ) -> Result<(), SetupError> {
        let Self { agent, texts, edits } = self;
        if edits.is_empty() {
            return Ok(());
        }
        let state = environment.places.state.as_ref().ok_or(SetupError::NoState)?;
        // The first installation knows what was there before; a second must not forget it. If
        // someone has edited it since, what was there before is their text without our entries.
        let without_us = agent.settings.unwire(scope, texts)?;
        let mut record = RecordedInstallation::load(state, agent, scope).unwrap_or_default();
        record.v = 1;
        let call = settings::call(environment).ok();
        record.program = call.map(|call| call.small.unwrap_or(call.binary));
        for (path, after) in edits {
            let name = path.to_string_lossy().into_owned();
            let now = texts.get(path).cloned();
            let before = match record.files.get(&name) {
                Some(old) if old.after == now => old.before.clone(),
                _ => without_us.get(path).cloned().unwrap_or(now),
            };
            record.files.insert(name, RecordedChange { before, after: after.clone() });
        }
        record.keep(state, agent, scope)?;
        settings::write(edits)
    }
}

/// What was taken out of an agent's settings.
#[derive(Debug)]
pub struct TakenOut {
    /// The changes.
    pub plan: InstallPlan,
    /// How each file compares with its state before the installation.
    pub files: Vec<(PathBuf, RestoreResult)>,
}

impl TakenOut {
    /// Takes our entries out of an agent's settings, or only says what would be done.
    pub fn of(
        agent: &'static HostSpec,
        scope: &SettingsScope,
        state: &Path,
        dry_run: bool,
    ) -> Result<Self, SetupError> {
        let record = RecordedInstallation::load(state, agent, scope);
        let plan = InstallPlan::unwire(agent, scope, record.as_ref())?;
        if dry_run {
            let files = plan.restored(&plan.texts_after(), record.as_ref());
            return Ok(Self { plan, files });
        }
        settings::write(&plan.edits)?;
        // As they are on disk now, not as they should be.
        let files = plan.restored(&settings::read(agent, scope)?, record.as_ref());
        RecordedInstallation::forget(state, agent, scope);
        store::forget(state, agent, scope);
        Ok(Self { plan, files })
    }
}

/// The change of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsChange {
    /// It did not exist.
    Created,
    /// Its text changes.
    Changed,
    /// It is removed.
    Removed,
}

impl SettingsChange {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// The state of a settings file after an `uninstall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreResult {
    /// As it was before the installation, byte for byte.
    Exactly,
    /// Someone has edited it since; only our entries are gone.
    Edited,
    /// Without our entries; there is no record of how it was.
    Unknown,
}

impl RestoreResult {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exactly => "exactly",
            Self::Edited => "edited",
            Self::Unknown => "unknown",
        }
    }
}

/// Records where programs are found now: guards use this to find theirs, not the agent's `PATH`.
pub fn record_program_path(environment: &Environment) -> Result<(), SetupError> {
    let Some(state) = &environment.places.state else { return Ok(()) };
    let path = std::env::var_os("PATH").unwrap_or_default();
    record_path(state, &path)
        .map_err(|cause| SetupError::PathNotRecorded { path: path_file(state), cause })
}

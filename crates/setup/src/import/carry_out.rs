//! Writes the folders of imported hooks, and takes what they replace out of the agent's settings.

use std::fs;
use std::path::{Path, PathBuf};

use anyhook_hook::environment::Environment;
use anyhook_hosts::native_hooks::{HandlerPlace, Parked, park};
use anyhook_hosts::wiring::{SettingsEdits, SettingsTexts};
use anyhook_model::report::import::ImportReport;

use super::folder::NewImport;
use super::plan::ImportPlan;
use super::record::{ParkedHook, ParkedRecord};
use super::survey::ImportSurvey;
use super::{ImportError, report};
use crate::error::SetupError;
use crate::learned::{self, NewFolder};
use crate::settings::{self, RecordedChange};

/// Imports hooks: all that can be imported, or none. Returns their folders.
pub fn import(plan: &ImportPlan, shadow: bool) -> Result<Vec<PathBuf>, SetupError> {
    let survey = &plan.survey;
    if !survey.is_called {
        let (host, title) = (survey.agent.id().to_owned(), survey.agent.title.to_owned());
        return Err(ImportError::NotCalled { host, title }.into());
    }
    let folders: Vec<NewFolder> = new_folders(plan, shadow);
    if folders.is_empty() {
        return Ok(Vec::new());
    }
    learned::add(&survey.hooks_folder, &folders)
}

fn new_folders(plan: &ImportPlan, shadow: bool) -> Vec<NewFolder> {
    let survey = &plan.survey;
    let new = plan.importable().enumerate().filter_map(|(order, (planned, name))| {
        let natives: Vec<_> = planned.natives.iter().map(|index| &survey.natives[*index]).collect();
        let new = NewImport {
            name,
            agent: survey.agent,
            format: survey.format,
            project: survey.is_project(),
            shadow,
            order: order + survey.imported.len(),
        };
        new.files(&natives)
    });
    new.collect()
}

/// A hook that is taken out of the settings: its place in the list of those that were found, and the
/// name of the one that replaces it.
pub type Leaving<'plan> = (usize, &'plan str);

/// Returns the hooks that can be taken out of the settings: those that were imported and are in
/// force; with `after_import` also those that are to be imported at the user's level, where hooks
/// need no trust.
pub fn leaving(plan: &ImportPlan, after_import: bool) -> Vec<Leaving<'_>> {
    let mut leaving: Vec<Leaving<'_>> = Vec::new();
    for (hook, name) in plan.replaced() {
        leaving.extend(hook.natives.iter().map(|index| (*index, name)));
    }
    if after_import && !plan.survey.is_project() {
        for (hook, name) in plan.importable() {
            leaving.extend(hook.natives.iter().map(|index| (*index, name)));
        }
    }
    leaving.sort_unstable();
    leaving
}

/// Returns the settings files without the hooks that leave.
pub fn edits(
    survey: &ImportSurvey,
    leaving: &[Leaving<'_>],
    environment: &Environment,
) -> Result<SettingsEdits, SetupError> {
    let mut edits = SettingsEdits::new();
    for (path, text) in &survey.texts {
        let places: Vec<(&str, HandlerPlace)> = leaving
            .iter()
            .map(|(index, _)| &survey.natives[*index])
            .filter(|native| native.file == *path)
            .map(|native| (native.event.as_str(), native.place))
            .collect();
        if !places.is_empty() {
            let after = park(survey.format, path, text, &places)?;
            edits.insert(path.clone(), Some(after));
        }
    }
    trust_moved(survey, &mut edits, environment)?;
    Ok(edits)
}

/// Where an agent identifies hooks by their position, adds the changes by which it runs our entries
/// at their new one.
pub(super) fn trust_moved(
    survey: &ImportSurvey,
    edits: &mut SettingsEdits,
    environment: &Environment,
) -> Result<(), SetupError> {
    let (agent, scope) = (survey.agent, &survey.scope);
    if edits.is_empty()
        || !survey.format.counts_positions
        || settings::inspect(agent, scope)?.ours.is_empty()
    {
        return Ok(());
    }
    let mut texts: SettingsTexts = settings::read(agent, scope)?;
    for (path, text) in edits.iter() {
        match text {
            Some(text) => texts.insert(path.clone(), text.clone()),
            None => texts.remove(path),
        };
    }
    let call = settings::call(environment)?;
    for (path, text) in agent.settings.wire(scope, &texts, &call)? {
        if texts.get(&path) != text.as_ref() {
            edits.insert(path, text);
        }
    }
    Ok(())
}

/// Takes hooks out of the settings. Returns the edits that were made.
pub fn take_out(
    survey: &ImportSurvey,
    leaving: &[Leaving<'_>],
    environment: &Environment,
) -> Result<SettingsEdits, SetupError> {
    let state = environment.places.state.as_deref().ok_or(SetupError::NoState)?;
    let edits = edits(survey, leaving, environment)?;
    if edits.is_empty() {
        return Ok(edits);
    }
    let (agent, scope) = (survey.agent, &survey.scope);
    let record = record(survey, leaving, &edits)?;
    // Before the settings are written: what was taken out is never without a record.
    record.keep(state, agent, scope)?;
    if let Err(error) = settings::write(&edits) {
        match &survey.parked {
            Some(earlier) => earlier.keep(state, agent, scope)?,
            None => ParkedRecord::forget(state, agent, scope)?,
        }
        return Err(error);
    }
    Ok(edits)
}

/// Adds what leaves to the record of what was taken out earlier.
fn record(
    survey: &ImportSurvey,
    leaving: &[Leaving<'_>],
    edits: &SettingsEdits,
) -> Result<ParkedRecord, SetupError> {
    let mut record = survey.parked.clone().unwrap_or_default();
    for (path, after) in edits {
        let now = text_now(survey, path)?;
        // If someone has edited the file since, what was there before is their text.
        let before = match record.files.get(path) {
            Some(old) if old.after == now => old.before.clone(),
            Some(_) => super::restore::with_parked(survey.format, path, now, &record)?,
            None => now,
        };
        record.files.insert(path.clone(), RecordedChange { before, after: after.clone() });
    }
    for (index, name) in leaving {
        let native = &survey.natives[*index];
        let parked = Parked::from(native);
        record.hooks.push(ParkedHook {
            file: native.file.clone(),
            name: (*name).to_owned(),
            parked,
        });
    }
    Ok(record)
}

/// Returns the current text of a settings file.
pub(super) fn text_now(survey: &ImportSurvey, path: &Path) -> Result<Option<String>, SetupError> {
    if let Some(text) = survey.texts.get(path) {
        return Ok(Some(text.clone()));
    }
    let unreadable = |cause| SetupError::Unreadable { path: path.to_owned(), cause };
    settings::read_bounded(path).map_err(unreadable)
}

/// What was imported and taken out of the settings.
#[derive(Debug)]
pub struct Imported {
    /// The folders that were written.
    pub folders: Vec<PathBuf>,
    /// The report of it.
    pub report: ImportReport,
}

/// Imports the hooks, and unless they are put into shadow mode, takes those that are in force then
/// out of the agent's settings. If that fails, nothing is imported.
pub fn all(
    plan: &ImportPlan,
    shadow: bool,
    environment: &Environment,
) -> Result<Imported, SetupError> {
    let (agent, project) = (plan.survey.agent, plan.survey.is_project());
    let folders = import(plan, shadow)?;
    let look = || ImportPlan::of(agent, project, plan.partial, environment);
    let parked = if shadow {
        Ok(SettingsEdits::new())
    } else {
        look().and_then(|now| take_out(&now.survey, &leaving(&now, false), environment))
    };
    let edits = parked.inspect_err(|_| {
        for folder in &folders {
            // The first error is reported; a hook that stays is named by `--list`.
            let _ = fs::remove_dir_all(folder);
        }
    })?;
    let mut report = report::of_plan(&look()?, "done");
    report.files = report::changed(&plan.survey.texts, &edits);
    Ok(Imported { folders, report })
}

/// Reports what would be imported and taken out of the settings.
pub fn proposal(
    plan: &ImportPlan,
    shadow: bool,
    environment: &Environment,
) -> Result<ImportReport, SetupError> {
    let mut report = report::of_plan(plan, "proposed");
    if !shadow {
        let edits = edits(&plan.survey, &leaving(plan, true), environment)?;
        report.files = report::changed(&plan.survey.texts, &edits);
    }
    Ok(report)
}

/// Returns whether there is anything to import or to take out of the settings.
pub fn has_work(plan: &ImportPlan, shadow: bool) -> bool {
    plan.importable().next().is_some() || (!shadow && !leaving(plan, false).is_empty())
}

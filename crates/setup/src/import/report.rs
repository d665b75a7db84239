//! What was found, proposed or done, as it is printed.

use std::path::PathBuf;

use anyhook_hosts::native_hooks::NativeHook;
use anyhook_hosts::wiring::{SettingsEdits, SettingsTexts};
use anyhook_model::report::changes::ChangedFile;
use anyhook_model::report::import::{ImportReport, ImportedHook};

use super::plan::{HookFate, ImportPlan};
use super::record::ParkedHook;
use super::restore::Restored;
use super::survey::ImportSurvey;

/// Reports an agent's hooks, those in its settings and those that were taken out.
pub fn of_plan(plan: &ImportPlan, result: &str) -> ImportReport {
    let survey = &plan.survey;
    let mut report = of_survey(survey, result);
    for planned in &plan.hooks {
        for native in planned.natives.iter().map(|index| &survey.natives[*index]) {
            let mut row = of_native(native);
            row.notes.clone_from(&planned.notes);
            match &planned.fate {
                HookFate::Importable(name) => {
                    "importable".clone_into(&mut row.state);
                    row.name = Some(name.clone());
                }
                HookFate::Imported { name, not_in_force } => {
                    "imported".clone_into(&mut row.state);
                    row.name = Some(name.clone());
                    row.why.clone_from(not_in_force);
                }
                HookFate::NotCarriedOver(why) => {
                    "not_carried_over".clone_into(&mut row.state);
                    row.why = Some(why.clone());
                }
            }
            report.hooks.push(row);
        }
    }
    let parked = survey.parked.iter().flat_map(|record| &record.hooks);
    let is_there =
        |hook: &ParkedHook| survey.imported.iter().any(|folder| folder.name() == hook.name);
    report.hooks.extend(parked.map(|hook| ImportedHook {
        why: (!is_there(hook)).then(|| "it was removed (--restore puts this back)".to_owned()),
        ..of_parked(hook, "parked")
    }));
    report
}

/// Reports what was put back, or would be.
pub fn of_restored(restored: &Restored, dry_run: bool) -> ImportReport {
    let result = if dry_run { "proposed" } else { "restored" };
    let mut report = of_survey(&restored.survey, result);
    report.hooks = restored.hooks.iter().map(|hook| of_parked(hook, "restored")).collect();
    report.files = changed(&restored.survey.texts, &restored.edits);
    for (path, how) in &restored.files {
        let path = path.to_string_lossy();
        let restored = Some(how.word().to_owned());
        match report.files.iter_mut().find(|file| file.path == path) {
            Some(file) => file.restored = restored,
            None => report.files.push(ChangedFile {
                path: path.into_owned(),
                change: "unchanged".to_owned(),
                diff: None,
                restored,
            }),
        }
    }
    report.removed = restored.removed.iter().map(|(name, _)| name.clone()).collect();
    report.kept = restored
        .removed
        .first()
        .and_then(|(_, folder)| Some(folder.parent()?.to_string_lossy().into_owned()));
    report
}

/// Reports settings files that change.
pub fn changed(before: &SettingsTexts, edits: &SettingsEdits) -> Vec<ChangedFile> {
    let word = |path: &PathBuf, after: &Option<String>| match (before.get(path), after) {
        (_, None) => "removed",
        (None, Some(_)) if !path.exists() => "created",
        (_, Some(_)) => "changed",
    };
    let file = |(path, after): (&PathBuf, &Option<String>)| ChangedFile {
        path: path.to_string_lossy().into_owned(),
        change: word(path, after).to_owned(),
        diff: None,
        restored: None,
    };
    edits.iter().map(file).collect()
}

fn of_survey(survey: &ImportSurvey, result: &str) -> ImportReport {
    ImportReport {
        result: result.to_owned(),
        host: survey.agent.id().to_owned(),
        title: survey.agent.title.to_owned(),
        level: if survey.is_project() { "project" } else { "user" }.to_owned(),
        is_called: survey.is_called,
        hooks_folder: survey.hooks_folder.to_string_lossy().into_owned(),
        ..ImportReport::default()
    }
}

fn of_native(native: &NativeHook) -> ImportedHook {
    ImportedHook {
        file: native.file.to_string_lossy().into_owned(),
        event: native.event.clone(),
        matcher: native.matcher.clone(),
        command: native.label.clone(),
        ..ImportedHook::default()
    }
}

fn of_parked(hook: &ParkedHook, state: &str) -> ImportedHook {
    let handler = &hook.parked.handler;
    let text = |value: Option<&serde_json::Value>| value?.as_str().map(str::to_owned);
    let group = hook.parked.group.as_ref().and_then(|group| group.get("matcher"));
    let command = ["command", "bash"].into_iter().find_map(|key| text(handler.get(key)));
    ImportedHook {
        file: hook.file.to_string_lossy().into_owned(),
        event: hook.parked.event.clone(),
        matcher: text(group.or_else(|| handler.get("matcher"))),
        command: command.unwrap_or_default(),
        state: state.to_owned(),
        name: Some(hook.name.clone()),
        ..ImportedHook::default()
    }
}

//! `anyhook check`: lint hooks, with line, column and a caret.

use std::path::PathBuf;

use anyhook_engine::places::find_root;
use anyhook_engine::settings::Settings;
use anyhook_engine::{Hook, Problem, Severity};
use anyhook_model::exit_code;
use anyhook_model::report::{CheckReport, CheckedHook};
use clap::{Args, ValueEnum};

use super::CommandResult;
use crate::environment::Environment;
use crate::pages::sarif;
use crate::target;
use crate::ui::{Out, Tone, counted};
use anyhook_pages::diagnostic::draw;

/// Lint hooks; exit 1 if there are problems
#[derive(Args)]
#[command(after_help = "Example: anyhook check examples/hooks")]
pub struct CheckArgs {
    /// Hooks by name or folder, or folders of hooks; default: all installed hooks
    paths: Vec<PathBuf>,
    /// Print as JSON; the same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// How to print the findings; `sarif` is SARIF 2.1.0, for code hosts and editors
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    format: CheckFormat,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    Text,
    Json,
    Sarif,
}

pub fn run(arguments: &CheckArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let mut notes = Vec::new();
    let hooks = if arguments.paths.is_empty() {
        let installed = target::installed(environment);
        notes.extend(installed.notes);
        let places = &environment.places;
        let root = find_root(&environment.work_dir, places.home.as_deref());
        notes.extend(Settings::load(places, root.as_deref()).problems);
        // What the author wrote is checked, not the copy that was trusted.
        installed
            .hooks
            .into_iter()
            .map(|standing| Hook::load(&standing.hook.folder, standing.hook.level))
            .collect()
    } else {
        target::find(&arguments.paths, environment)?
    };
    let mut hooks: Vec<Hook> = hooks;
    for hook in &mut hooks {
        let findings = target::findings(hook, environment);
        hook.problems.extend(findings);
    }
    // A note asks for no change, so it must not fail a CI job.
    let problems = hooks
        .iter()
        .flat_map(|hook| &hook.problems)
        .filter(|problem| problem.severity > Severity::Note);
    let count = problems.count() + notes.len();
    let format = if arguments.json { CheckFormat::Json } else { arguments.format };
    if format == CheckFormat::Sarif {
        out.json(&log(&hooks, &notes, environment)?)?;
    } else if format == CheckFormat::Json {
        let checked = |hook: &Hook| CheckedHook {
            name: hook.name().to_owned(),
            folder: hook.folder_text(),
            usable: hook.fault().is_none(),
            problems: hook.problems.iter().map(Problem::to_finding).collect(),
        };
        out.json(&CheckReport { hooks: hooks.iter().map(checked).collect(), notes })?;
    } else {
        for hook in &hooks {
            show(hook, environment, out)?;
        }
        for note in &notes {
            out.line(&[(Tone::Warn, "warning: "), (Tone::Plain, note)])?;
        }
        let (tone, words) = match count {
            0 => (Tone::Good, "no problems".to_owned()),
            many => (Tone::Bad, counted(many, "problem")),
        };
        let hooks = counted(hooks.len(), "hook");
        out.line(&[(tone, &words), (Tone::Dim, " in "), (Tone::Dim, &hooks)])?;
    }
    Ok(if count == 0 { exit_code::OK } else { exit_code::PROBLEM })
}

/// Returns the findings as SARIF.
fn log(
    hooks: &[Hook],
    notes: &[String],
    environment: &Environment,
) -> std::io::Result<serde_json::Value> {
    let texts = hooks.iter().map(text).collect::<std::io::Result<Vec<_>>>()?;
    let paths: Vec<PathBuf> = hooks.iter().map(|hook| hook.folder.join("HOOK.md")).collect();
    let files = hooks
        .iter()
        .zip(&texts)
        .zip(&paths)
        .map(|((hook, text), path)| sarif::CheckedFile { path, text, problems: &hook.problems });
    Ok(sarif::check_log(&environment.work_dir, &files.collect::<Vec<_>>(), notes))
}

/// Returns the text of a hook's file, if a finding has a position in it: without one the file may be
/// a pipe that never ends.
fn text(hook: &Hook) -> std::io::Result<String> {
    let placed = hook.problems.iter().any(|problem| problem.place.is_some());
    let bytes = if placed { std::fs::read(hook.folder.join("HOOK.md"))? } else { Vec::new() };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Shows a hook's findings in its source text.
fn show(hook: &Hook, environment: &Environment, out: &mut Out) -> std::io::Result<()> {
    let path = hook.folder.join("HOOK.md");
    let path =
        path.strip_prefix(&environment.work_dir).unwrap_or(&path).to_string_lossy().into_owned();
    let text = text(hook)?;
    for problem in &hook.problems {
        out.text(&draw(problem, &path, &text))?;
        out.gap()?;
    }
    Ok(())
}

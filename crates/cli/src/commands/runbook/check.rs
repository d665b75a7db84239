//! `anyhook runbook check`: reports what is wrong, with line, column and a caret.

use std::path::{Path, PathBuf};

use anyhook_engine::{Problem, Severity};
use anyhook_model::exit_code;
use anyhook_model::report::runbook::{CheckedRunbook, RunbookCheckReport};

use crate::commands::CommandResult;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::runbooks::{FoundRunbook, InstalledRunbooks, files_in, path_from};
use crate::ui::{Out, Tone, counted};
use anyhook_pages::diagnostic::draw;

pub fn run(
    paths: &[PathBuf],
    json: bool,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let InstalledRunbooks { runbooks, notes } = if paths.is_empty() {
        InstalledRunbooks::find(environment)
    } else {
        named(paths, environment)?
    };
    let problems = runbooks
        .iter()
        .flat_map(FoundRunbook::problems)
        .filter(|problem| problem.severity > Severity::Note);
    let count = problems.count() + notes.len();
    if json {
        let checked = |found: &FoundRunbook| CheckedRunbook {
            file: found.file.display().to_string(),
            usable: found.is_usable(),
            problems: found.problems().iter().map(Problem::to_finding).collect(),
        };
        let runbooks = runbooks.iter().map(checked).collect();
        out.json(&RunbookCheckReport { runbooks, notes })?;
    } else {
        for found in &runbooks {
            let path = path_from(&found.file, environment);
            for problem in found.problems() {
                out.text(&draw(&problem, &path, &found.text))?;
                out.gap()?;
            }
        }
        for note in &notes {
            out.line(&[(Tone::Bad, "error: "), (Tone::Plain, note)])?;
        }
        let (tone, words) = match count {
            0 => (Tone::Good, "no problems".to_owned()),
            many => (Tone::Bad, counted(many, "problem")),
        };
        let runbooks = counted(runbooks.len(), "runbook");
        out.line(&[(Tone::Plain, &runbooks), (Tone::Dim, ", "), (tone, &words)])?;
    }
    Ok(if count == 0 { exit_code::OK } else { exit_code::PROBLEM })
}

/// Reads the named runbooks, or those in named folders.
fn named(paths: &[PathBuf], environment: &Environment) -> Result<InstalledRunbooks, CommandError> {
    let mut files: Vec<PathBuf> = Vec::new();
    for path in paths {
        let whole = environment.work_dir.join(path);
        if !whole.is_dir() {
            if whole.symlink_metadata().is_err() {
                return Err(missing(path));
            }
            files.push(whole);
            continue;
        }
        let inner = files_in(&whole).map_err(|error| CommandError::at(&whole, error))?;
        if inner.is_empty() {
            let message = format!("no runbook in `{}`", path.display());
            return Err(
                CommandError::input(message).hint("runbooks are `*.hcl` and `*.toml` files")
            );
        }
        files.extend(inner);
    }
    // A name may be in two of them: they need not be used together.
    let runbooks = files.iter().map(|file| FoundRunbook::read(file)).collect();
    Ok(InstalledRunbooks { runbooks, notes: Vec::new() })
}

fn missing(path: &Path) -> CommandError {
    CommandError::input(format!("`{}` does not exist", path.display()))
        .hint("omit the path to check all installed runbooks")
}

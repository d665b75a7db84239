//! Errors for runbooks that cannot be used; runbooks are found and read in
//! [`anyhook_setup::runbooks`].

use std::path::{Path, PathBuf};

use anyhook_engine::trust::FileTrust;
use anyhook_flow::runbook::{self, Finding, Runbook};
use anyhook_setup::runbooks::{self as found, FindError};

pub use anyhook_setup::runbooks::{
    FoundRunbook, InstalledRunbooks, UnverifiedFile, files_in, is_name, of_project, path_from,
    place, problem, read_beside,
};

use crate::environment::Environment;
use crate::error::CommandError;
use crate::ui::counted;
use anyhook_pages::diagnostic::draw;

/// Returns why a runbook's pipelines do not run.
pub fn refusal(runbook: &UnverifiedFile, environment: &Environment) -> CommandError {
    let name = runbook.name(environment);
    let hint = format!("anyhook trust {name}");
    if runbook.is_workflow() {
        let message = format!("`{name}` is not trusted, so agents may not run it");
        return CommandError::problem(message).hint(hint);
    }
    let why = match runbook.trust {
        FileTrust::Changed => "has changed since it was trusted",
        FileTrust::Never | FileTrust::Trusted => "is not trusted",
    };
    CommandError::problem(format!("`{name}` {why}, so its pipelines do not run")).hint(hint)
}

/// Returns the error that a runbook cannot be used as it is or for what was asked, with every
/// finding drawn.
pub fn unusable(
    file: &Path,
    text: &str,
    findings: &[Finding],
    environment: &Environment,
) -> CommandError {
    let path = path_from(file, environment);
    let errors = findings.iter().filter(|finding| finding.severity != runbook::Severity::Note);
    let drawn: Vec<String> =
        errors.map(|finding| draw(&problem(finding, text), &path, text)).collect();
    let count = counted(drawn.len(), "problem");
    CommandError::input(format!("{count} in `{path}`")).drawn(drawn)
}

/// Finds a pipeline by its name, in one runbook or in all that are installed: the runbook's file,
/// its text, and its parsed content, which is valid.
pub fn find_pipeline(
    environment: &Environment,
    name: &str,
    file: Option<&Path>,
) -> Result<(PathBuf, String, Runbook), CommandError> {
    found::find_pipeline(environment, name, file).map_err(|error| match error {
        FindError::Unusable(found) => {
            unusable(&found.file, &found.text, &found.findings, environment)
        }
        FindError::Twice(files) => {
            let [one, other] = files.map(|file| path_from(&file, environment));
            let message = format!("the pipeline `{name}` is in both `{one}` and `{other}`");
            CommandError::input(message).hint("rename one of them, or specify the file")
        }
        FindError::Unknown { near, broken } => {
            let broken: Vec<String> =
                broken.iter().map(|file| path_from(file, environment)).collect();
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None if broken.is_empty() => {
                    "`anyhook runbook list` lists the available pipelines".to_owned()
                }
                None => {
                    format!("`anyhook runbook check` says what is wrong with {}", broken.join(", "))
                }
            };
            CommandError::input(format!("there is no pipeline `{name}`")).hint(hint)
        }
    })
}

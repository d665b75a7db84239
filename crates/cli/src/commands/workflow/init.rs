//! `anyhook workflow init`: starts a workflow, with files that people can edit.

use std::path::Path;

use anyhook_workflow::project::{CONFIG, definition_file, write_whole};
use serde_json::json;

use super::status::show;
use crate::commands::CommandResult;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::runbooks::path_from;
use crate::ui::{Out, Tone};
use crate::workflow;

/// The files in `ARTIFACTS/system` that `git` ignores.
const IGNORED: &str = ".workflow-*.lock\nworkflow-state.*.json\n";

pub fn run(json: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let root = environment.project_root();
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
    let config = json!({
        "project_name": name.unwrap_or_else(|| "project".to_owned()),
        "technology_stack": {},
    });
    let config = serde_json::to_string_pretty(&config).map_err(std::io::Error::from)? + "\n";
    // Existing files are checked first: nothing is written next to something that cannot be used.
    let existing = workflow::find(environment)?;
    existing.config()?;
    if existing.state()?.is_some() {
        existing.begun()?;
    }
    let wrote =
        [(definition_file(&root), workflow::method().text()), (root.join(CONFIG), config.as_str())];
    existing.make_folder(&existing.system())?;
    for (file, text) in &wrote {
        let path = path_from(file, environment);
        let is_new = write_new(file, text)?;
        if !json {
            let (tone, word) = if is_new { (Tone::Good, "wrote ") } else { (Tone::Dim, "exists ") };
            out.line(&[(tone, word), (Tone::Plain, &path)])?;
        }
    }
    // Locks and previous states belong to this machine alone.
    write_new(&existing.system().join(".gitignore"), IGNORED)?;
    let project = workflow::find(environment)?;
    let (begun, is_new) = project.begin()?;
    begun.not_journaled.iter().try_for_each(workflow::warn_of_journal)?;
    let state = begun.state;
    if !json {
        let word = if is_new { "started" } else { "continuing" };
        out.line(&[
            (Tone::Good, word),
            (Tone::Plain, &format!(" {} {}", state.workflow, state.id)),
        ])?;
        out.gap()?;
    }
    show(&project, &state, json, out)
}

/// Writes a file unless it exists; returns whether it was written.
fn write_new(file: &Path, text: &str) -> Result<bool, CommandError> {
    if file.symlink_metadata().is_ok() {
        return Ok(false);
    }
    write_whole(file, text.as_bytes()).map_err(|error| CommandError::at(file, error))?;
    Ok(true)
}

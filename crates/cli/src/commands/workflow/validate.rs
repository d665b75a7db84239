//! `anyhook workflow validate`: reports what is wrong with artifacts, with positions.

use std::path::PathBuf;

use anyhook_model::exit_code;
use anyhook_model::report::workflow::{FileFault, ValidateReport, ValidatedFile};
use anyhook_workflow::error::WorkflowError;
use anyhook_workflow::project::Project;
use anyhook_workflow::schemas::SchemaViolation;
use anyhook_workflow::validation::Validated;
use clap::{Args, ValueEnum};

use crate::commands::CommandResult;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::ui::{Out, Tone, counted};
use crate::workflow::{self, path_in_project};

#[derive(Args)]
pub struct ValidateArgs {
    /// Artifacts
    #[arg(required_unless_present_any = ["all", "event"])]
    files: Vec<PathBuf>,
    /// Every existing artifact of the workflow
    #[arg(long, conflicts_with = "files")]
    all: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// For hook scripts: take the agent from the event on standard input
    #[arg(long, conflicts_with_all = ["files", "all", "json"])]
    event: bool,
    /// With `--event`: check the signal, or the artifacts it names
    #[arg(long, value_enum, requires = "event")]
    part: Option<HandedPart>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HandedPart {
    /// The completion signal
    Signal,
    /// The artifacts
    Artifacts,
}

pub fn run(arguments: &ValidateArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    if arguments.event {
        return of_event(arguments.part, environment);
    }
    let project = workflow::find(environment)?;
    let named = || arguments.files.iter().map(|file| path_in_project(&project, file, environment));
    let paths = if arguments.all { all(&project)? } else { named().collect::<Result<_, _>>()? };
    let files: Result<Vec<ValidatedFile>, CommandError> =
        paths.iter().map(|path| look(&project, path)).collect();
    let files = files?;
    let is_valid = files.iter().all(|file| file.valid);
    if arguments.json {
        out.json(&ValidateReport { files })?;
    } else {
        show(&files, out)?;
    }
    Ok(if is_valid { exit_code::OK } else { exit_code::PROBLEM })
}

fn show(files: &[ValidatedFile], out: &mut Out) -> Result<(), CommandError> {
    for file in files {
        let schema = file.schema.as_ref().map(|schema| format!(" ({schema})")).unwrap_or_default();
        let (tone, mark) = if file.valid { (Tone::Good, "✔ ") } else { (Tone::Bad, "✘ ") };
        out.line(&[(tone, mark), (Tone::Strong, &file.path), (Tone::Dim, &schema)])?;
        for fault in &file.faults {
            let pointer = if fault.pointer.is_empty() { "/" } else { &fault.pointer };
            out.line(&[
                (Tone::Plain, "    "),
                (Tone::Warn, pointer),
                (Tone::Plain, ": "),
                (Tone::Plain, &fault.message),
            ])?;
        }
    }
    let bad = files.iter().filter(|file| !file.valid).count();
    let (tone, words) = match bad {
        0 => (Tone::Good, "all valid".to_owned()),
        bad => (Tone::Bad, format!("{bad} invalid")),
    };
    out.line(&[(Tone::Plain, &counted(files.len(), "file")), (Tone::Dim, ", "), (tone, &words)])?;
    Ok(())
}

/// Returns the paths of all existing artifacts, relative to the project.
fn all(project: &Project) -> Result<Vec<String>, CommandError> {
    let paths = project.artifact_paths();
    if paths.is_empty() {
        return Err(CommandError::input("no artifacts yet").hint("anyhook workflow next"));
    }
    Ok(paths)
}

fn look(project: &Project, path: &str) -> Result<ValidatedFile, CommandError> {
    let Validated { schema, faults } = project.validate_file(path)?;
    let faults = faults
        .into_iter()
        .map(|SchemaViolation { pointer, message }| FileFault { pointer, message });
    let faults: Vec<FileFault> = faults.collect();
    Ok(ValidatedFile { path: path.to_owned(), schema, valid: faults.is_empty(), faults })
}

/// Checks what the agent of an event would hand in; sends it back if that is not valid.
fn of_event(part: Option<HandedPart>, environment: &Environment) -> CommandResult {
    let event = workflow::read_event()?;
    let Some((project, agent)) = workflow::concerned(&event, environment)? else {
        return Ok(exit_code::OK);
    };
    let Err(error) = project.check_submission_of(&agent) else { return Ok(exit_code::OK) };
    let is_of_artifacts = match &error {
        WorkflowError::Refused(refusal) => refusal.is_about_artifacts(),
        // Reported once, whichever parts there are.
        WorkflowError::NoSignal { .. } => false,
        _ => return Err(error.into()),
    };
    match part {
        Some(HandedPart::Artifacts) if !is_of_artifacts => Ok(exit_code::OK),
        Some(HandedPart::Signal) if is_of_artifacts => Ok(exit_code::OK),
        _ => workflow::send_back(error),
    }
}

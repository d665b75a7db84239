//! `anyhook workflow check`: reports what is wrong with a definition, with line, column and a
//! caret.

use std::ops::Range;
use std::path::Path;

use anyhook_engine::{Problem, Severity};
use anyhook_flow::runbook::{self, Finding, SpannedName};
use anyhook_model::exit_code;
use anyhook_model::report::workflow::WorkflowCheckReport;
use anyhook_workflow::project::{DefinitionText, definition_file, schema_files};
use anyhook_workflow::schemas::ArtifactSchema;

use crate::commands::CommandResult;
use crate::environment::Environment;
use crate::error::workflow::WHOLE_SCHEMA;
use crate::runbooks::{path_from, problem};
use crate::ui::{Out, Tone, counted};
use crate::workflow::{caller, method};
use anyhook_pages::diagnostic::draw;

pub fn run(
    file: Option<&Path>,
    json: bool,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let named = file.map(|file| environment.work_dir.join(file));
    let is_named = named.is_some();
    let file = named.unwrap_or_else(|| definition_file(&environment.project_root()));
    if !is_named && file.symlink_metadata().is_err() {
        if json {
            let report =
                WorkflowCheckReport { file: String::new(), usable: true, problems: Vec::new() };
            out.json(&report)?;
        } else {
            out.line(&[(
                Tone::Plain,
                "the project has no workflow file; the one that comes with anyhook applies",
            )])?;
            out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, "anyhook workflow init")])?;
        }
        return Ok(exit_code::OK);
    }
    let written = DefinitionText::read(&file, method())?;
    let path = path_from(&written.file, environment);
    let mut findings = written.reading.findings.clone();
    findings.extend(schemas(&written, environment));
    runbook::sort_by_place(&mut findings);
    let problems: Vec<Problem> =
        findings.iter().map(|finding| problem(finding, &written.text)).collect();
    let usable = problems.iter().all(|problem| problem.severity == Severity::Note);
    let count = problems.iter().filter(|problem| problem.severity > Severity::Note).count();
    if json {
        let problems = problems.iter().map(Problem::to_finding).collect();
        out.json(&WorkflowCheckReport { file: path, usable, problems })?;
    } else {
        for problem in &problems {
            out.text(&draw(problem, &path, &written.text))?;
            out.gap()?;
        }
        let (tone, words) = match count {
            0 => (Tone::Good, "no problems".to_owned()),
            many => (Tone::Bad, counted(many, "problem")),
        };
        out.line(&[(Tone::Plain, &path), (Tone::Dim, ": "), (tone, &words)])?;
    }
    Ok(if count == 0 { exit_code::OK } else { exit_code::PROBLEM })
}

/// Finds the project's own schemas that cannot be used: they are part of the definition.
fn schemas(written: &DefinitionText, environment: &Environment) -> Vec<Finding> {
    let project = written.project(environment.project_root(), caller(environment));
    // Invalid paths have been reported already.
    let is_told = |file: &SpannedName| {
        let place = Some(Range::from(&file.span));
        written.reading.findings.iter().any(|finding| finding.span == place)
    };
    let files = schema_files(&project.definition).filter(|file| !is_told(file));
    let wrong = files.filter_map(|file| {
        let (why, hint) = match project.read_text(&file.text) {
            Err(error) => {
                (error.to_string(), "write it, or fix the path; it is relative to the project root")
            }
            Ok(text) => (ArtifactSchema::new(&text).err()?.to_string(), WHOLE_SCHEMA),
        };
        let message = format!("`{}` cannot be used: {why}", file.text);
        Some(Finding::error("schema", message).at(&file.span).hint(hint))
    });
    wrong.collect()
}

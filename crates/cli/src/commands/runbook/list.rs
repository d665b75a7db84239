//! `anyhook runbook list`: lists every pipeline.

use anyhook_model::exit_code;
use anyhook_model::report::runbook::{ListedVariable, RunbookListReport};
use anyhook_setup::runbook_report;

use crate::commands::CommandResult;
use crate::environment::Environment;
use crate::runbooks::{InstalledRunbooks, path_from};
use crate::ui::{Cell, Out, Tone};

pub fn run(json: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let InstalledRunbooks { runbooks, mut notes } = InstalledRunbooks::find(environment);
    let mut rows = Vec::new();
    let mut pipelines = Vec::new();
    for found in &runbooks {
        let path = path_from(&found.file, environment);
        if !found.is_usable() {
            notes.push(format!("`{path}` is unusable; `anyhook runbook check` says why"));
            continue;
        }
        for pipeline in &found.runbook.pipelines {
            let listed = runbook_report::listed(pipeline, &found.file);
            rows.push(vec![
                Cell::new(Tone::Strong, listed.name.clone()),
                Cell::new(Tone::Plain, path.clone()),
                Cell::new(Tone::Plain, listed.steps.join(", ")),
                Cell::new(Tone::Dim, in_brief(&listed.variables)),
            ]);
            pipelines.push(listed);
        }
    }
    if json {
        out.json(&RunbookListReport { pipelines, notes })?;
        return Ok(exit_code::OK);
    }
    if rows.is_empty() {
        out.line(&[
            (Tone::Plain, "no pipelines"),
            (Tone::Dim, " (runbooks are in .agents/runbooks and ~/.config/agents/runbooks)"),
        ])?;
    } else {
        let titles = ["pipeline", "file", "steps", "variables"];
        rows.insert(0, titles.map(|title| Cell::new(Tone::Dim, title)).to_vec());
        out.table(&rows)?;
    }
    for note in &notes {
        out.line(&[(Tone::Warn, "warning: "), (Tone::Plain, note)])?;
    }
    Ok(exit_code::OK)
}

/// Lists the variables by name; required ones are marked.
fn in_brief(variables: &[ListedVariable]) -> String {
    let words = variables.iter().map(|variable| match &variable.default {
        None => format!("{} (required)", variable.name),
        Some(default) if default.is_empty() => variable.name.clone(),
        Some(default) => format!("{}={default}", variable.name),
    });
    words.collect::<Vec<_>>().join(", ")
}

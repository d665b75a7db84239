//! `anyhook workflow history`: lists what happened.

use anyhook_model::exit_code;
use anyhook_model::report::workflow::{HistoryReport, WorkflowHistoryReport};

use crate::commands::CommandResult;
use crate::environment::Environment;
use crate::format::second;
use crate::ui::{Cell, Out, Tone};
use crate::workflow;

pub fn run(json: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let project = workflow::find(environment)?;
    let state = project.begun()?;
    if json {
        let lines = state.history.into_iter().map(|line| HistoryReport {
            revision: line.revision,
            at: line.at,
            what: line.what,
            stage: line.stage,
            by: line.by,
            note: line.note,
        });
        out.json(&WorkflowHistoryReport { id: state.id, lines: lines.collect() })?;
        return Ok(exit_code::OK);
    }
    let titles = ["", "when", "stage", "what", "by", "note"];
    let mut rows = vec![titles.map(|title| Cell::new(Tone::Dim, title)).to_vec()];
    for line in &state.history {
        let or_nothing = |text: &Option<String>| text.clone().unwrap_or_default();
        rows.push(vec![
            Cell::new(Tone::Dim, line.revision.to_string()),
            Cell::new(Tone::Dim, second(line.at)),
            Cell::new(Tone::Strong, or_nothing(&line.stage)),
            Cell::new(Tone::Plain, line.what.clone()),
            Cell::new(Tone::Plain, or_nothing(&line.by)),
            Cell::new(Tone::Plain, or_nothing(&line.note)),
        ]);
    }
    out.table(&rows)?;
    Ok(exit_code::OK)
}

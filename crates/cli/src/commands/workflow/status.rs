//! `anyhook workflow status`: prints the board.

use anyhook_model::exit_code;
use anyhook_workflow::board;
use anyhook_workflow::briefing::NO_CONFIG;
use anyhook_workflow::project::{CONFIG, Project};
use anyhook_workflow::state::WorkflowState;

use crate::commands::CommandResult;
use crate::environment::{Environment, line_width};
use crate::ui::{Out, Tone};
use crate::workflow;
use anyhook_workflow::report::report;

pub fn run(json: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let project = workflow::find(environment)?;
    let state = project.begun()?;
    warn_of_config(&project)?;
    show(&project, &state, json, out)
}

/// Warns on standard error that agents are not given the project's configuration.
pub fn warn_of_config(project: &Project) -> std::io::Result<()> {
    if project.root.join(CONFIG).symlink_metadata().is_err() {
        Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, NO_CONFIG)])?;
    }
    Ok(())
}

/// Prints the status of a workflow.
pub fn show(project: &Project, state: &WorkflowState, json: bool, out: &mut Out) -> CommandResult {
    let report = report(project, state);
    if json {
        out.json(&report)?;
        return Ok(exit_code::OK);
    }
    board::draw(&report, anyhook_engine::now(), line_width(), out)?;
    Ok(exit_code::OK)
}

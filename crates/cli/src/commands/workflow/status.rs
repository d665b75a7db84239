//! `anyhook workflow status`: the board.

use anyhook_flow::workflow::state::State;
use anyhook_model::exit_code;

use super::board;
use super::report::report;
use crate::commands::Ended;
use crate::environment::Environment;
use crate::ui::Out;
use crate::workflow::project::Project;

pub fn run(json: bool, environment: &Environment, out: &mut Out) -> Ended {
    let project = Project::find(environment)?;
    let state = project.begun()?;
    show(&project, &state, json, out)
}

/// Prints where a workflow is.
pub fn show(project: &Project, state: &State, json: bool, out: &mut Out) -> Ended {
    let report = report(project, state);
    if json {
        out.json(&report)?;
        return Ok(exit_code::OK);
    }
    board::draw(&report, anyhook_engine::now(), out)
}

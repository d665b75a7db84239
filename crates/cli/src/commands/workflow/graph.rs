//! `anyhook workflow graph`: draws the workflow as a graph.

use anyhook_model::exit_code;
use anyhook_workflow::graph;
use clap::Args;

use crate::commands::CommandResult;
use crate::environment::Environment;
use crate::ui::Out;
use crate::workflow;

#[derive(Args)]
pub struct GraphArgs {
    /// As SVG instead of Mermaid
    #[arg(long)]
    svg: bool,
    /// Without the status of each stage
    #[arg(long)]
    plain: bool,
}

pub fn run(arguments: &GraphArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let project = workflow::find(environment)?;
    let state = if arguments.plain { None } else { project.state()? };
    // A state of another definition says nothing about this one.
    let state = state.filter(|state| state.fits(&project.definition).is_none());
    let draw = if arguments.svg { graph::svg } else { graph::mermaid };
    out.text(draw(&project.definition, state.as_ref()).trim_end())?;
    Ok(exit_code::OK)
}

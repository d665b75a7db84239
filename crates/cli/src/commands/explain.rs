//! `anyhook explain`: which hooks would run, in which order, which would not, and why.

use anyhook_engine::{Engine, agent_directives};
use anyhook_model::{Event, EventKind, exit_code};
use anyhook_pages::plan::PlanPage;
use clap::Args;

use super::CommandResult;
use crate::environment::Environment;
use crate::event_args::EventArgs;
use crate::ui::Out;

/// Show which hooks an event would run, in order, and why others are skipped; runs nothing
#[derive(Args)]
#[command(after_help = "Example: anyhook explain before_tool --command 'rm -rf /'")]
pub struct ExplainArgs {
    #[command(flatten)]
    event: EventArgs,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &ExplainArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let event = arguments.event.event(environment)?;
    show(&Engine::new(environment.places.clone()), &event, arguments.json, environment, out)
}

/// Shows the dispatch plan of an event.
pub fn show(
    engine: &Engine,
    event: &Event,
    json: bool,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let hooks_met = engine.hooks_for(event);
    let mut in_project = event.clone();
    in_project.project_dir.clone_from(&hooks_met.root);
    in_project.home.clone_from(&environment.places.home);
    let hooks = anyhook_engine::explain(&hooks_met, &in_project);
    let plan = PlanPage {
        event: &in_project,
        root: hooks_met.root.as_deref(),
        hooks: &hooks,
        held: held(event, environment),
    };
    if json {
        out.json(&plan.report())?;
    } else {
        plan.show(&environment.places, out)?;
    }
    Ok(exit_code::OK)
}

/// Returns what its pipeline would tell the calling agent if that wanted to stop.
fn held(event: &Event, environment: &Environment) -> Option<String> {
    let state = environment.places.state.as_deref().filter(|_| event.kind == EventKind::BeforeStop);
    agent_directives::read(state?, environment.agent_id.as_deref()?)?.hold_stop
}

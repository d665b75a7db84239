//! `anyhook workflow context`: what an agent is given before it begins.

use anyhook_model::exit_code;
use anyhook_workflow::machine;
use clap::Args;

use super::status::warn_of_config;
use crate::commands::Ended;
use crate::environment::{Environment, workflow_agent};
use crate::ui::{Out, printable};
use crate::workflow::context::{Given, Part, not_now};
use crate::workflow::event::{HookEvent, agent_named, tell_model};
use crate::workflow::project::Project;

#[derive(Args)]
pub struct ContextArgs {
    /// The agent
    #[arg(required_unless_present = "event")]
    agent: Option<String>,
    /// Print only one part
    #[arg(long, value_enum)]
    part: Option<Part>,
    /// Print all of it as JSON, uncut
    #[arg(long, conflicts_with = "part")]
    json: bool,
    /// For a hook's script: the event on standard input says which agent it is
    #[arg(long, conflicts_with_all = ["agent", "json"])]
    event: bool,
}

pub fn run(arguments: &ContextArgs, environment: &Environment, out: &mut Out) -> Ended {
    if arguments.event {
        return give(arguments.part, environment, out);
    }
    let project = Project::find(environment)?;
    let state = project.begun()?;
    let name = arguments.agent.as_deref().unwrap_or_default();
    let agent = agent_named(&project.definition, name).unwrap_or_else(|| name.to_owned());
    let given = Given::read(&project, &state, &agent)?;
    warn_of_config(&project)?;
    if arguments.json {
        out.json(&given.report())?;
        return Ok(exit_code::OK);
    }
    let text = arguments.part.map_or_else(|| given.text(), |part| given.part(part));
    // What agents have written may not play with a terminal.
    for line in text.lines() {
        out.text(&printable(line))?;
    }
    Ok(exit_code::OK)
}

/// Gives the agent of an event what it is to know. Whoever is none of the workflow gets nothing.
fn give(part: Option<Part>, environment: &Environment, out: &mut Out) -> Ended {
    let event = HookEvent::read()?;
    let (of_session, is_given) = workflow_agent();
    if is_given && !event.is_of_subagent() {
        return Ok(exit_code::OK);
    }
    let Some((project, agent)) = event.concerns(of_session.as_deref(), environment)? else {
        return Ok(exit_code::OK);
    };
    let Some(state) = project.state()? else { return Ok(exit_code::OK) };
    let is_open = machine::next(&project.definition, &state).iter().any(|one| one.agent == agent);
    let text = match Given::read(&project, &state, &agent) {
        Ok(given) if is_open => part.map_or_else(|| given.text(), |part| given.part(part)),
        // Said once, whichever parts there are.
        Ok(_) if part.is_none_or(|part| part == Part::WorkflowState) => {
            not_your_turn(&state, &agent)
        }
        Err(error) if part.is_none_or(|part| part == Part::WorkflowState) => not_now(&error),
        Ok(_) | Err(_) => String::new(),
    };
    tell_model(&text, out)?;
    Ok(exit_code::OK)
}

fn not_your_turn(state: &anyhook_workflow::state::State, agent: &str) -> String {
    let at = state.current_stage.as_deref().unwrap_or("no stage");
    format!(
        "# It is not the turn of `{agent}` in the workflow `{}`\nIt is {} at {at}. Do not begin; say so, and end.",
        state.workflow,
        state.status.name()
    )
}

//! `anyhook workflow context`: what an agent is given before it begins.

use anyhook_model::exit_code;
use anyhook_workflow::briefing::{self, Briefing};
use anyhook_workflow::event::agent_named;
use anyhook_workflow::machine;
use clap::{Args, ValueEnum};

use super::status::warn_of_config;
use crate::commands::CommandResult;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::ui::{Out, printable};
use crate::workflow::{self, tell_model, workflow_agent};

#[derive(Args)]
pub struct ContextArgs {
    /// The agent
    #[arg(required_unless_present = "event")]
    agent: Option<String>,
    /// Print only one part
    #[arg(long, value_enum)]
    part: Option<ContextPart>,
    /// Print everything as JSON, untruncated
    #[arg(long, conflicts_with = "part")]
    json: bool,
    /// For hook scripts: take the agent from the event on standard input
    #[arg(long, conflicts_with_all = ["agent", "json"])]
    event: bool,
}

/// A part of what an agent is given. They come in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ContextPart {
    /// Its role, its task, and the state of the workflow
    WorkflowState,
    /// project-config.json
    ProjectConfig,
    /// Artifacts of earlier stages, and current documentation
    UpstreamArtifacts,
    /// What it has to produce
    OutputSchema,
}

impl From<ContextPart> for briefing::BriefingPart {
    fn from(part: ContextPart) -> Self {
        match part {
            ContextPart::WorkflowState => Self::WorkflowState,
            ContextPart::ProjectConfig => Self::ProjectConfig,
            ContextPart::UpstreamArtifacts => Self::UpstreamArtifacts,
            ContextPart::OutputSchema => Self::OutputSchema,
        }
    }
}

pub fn run(arguments: &ContextArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    if arguments.event {
        return give(arguments.part, environment, out);
    }
    let project = workflow::find(environment)?;
    let state = project.begun()?;
    let name = arguments.agent.as_deref().unwrap_or_default();
    let agent = agent_named(&project.definition, name).unwrap_or_else(|| name.to_owned());
    let given = Briefing::read(&project, &state, &agent)?;
    warn_of_config(&project)?;
    if arguments.json {
        out.json(&given.report())?;
        return Ok(exit_code::OK);
    }
    let text = text_of(&given, arguments.part);
    // Text that agents have written must not control the terminal.
    for line in text.lines() {
        out.text(&printable(line))?;
    }
    Ok(exit_code::OK)
}

/// Gives the agent of an event its context. An agent that is not part of the workflow gets nothing.
fn give(part: Option<ContextPart>, environment: &Environment, out: &mut Out) -> CommandResult {
    let event = workflow::read_event()?;
    let (_, is_given) = workflow_agent();
    if is_given && !event.is_of_subagent() {
        return Ok(exit_code::OK);
    }
    let Some((project, agent)) = workflow::concerned(&event, environment)? else {
        return Ok(exit_code::OK);
    };
    let Some(state) = project.state()? else { return Ok(exit_code::OK) };
    let is_open = machine::next(&project.definition, &state).iter().any(|one| one.agent == agent);
    let text = match Briefing::read(&project, &state, &agent) {
        Ok(given) if is_open => text_of(&given, part),
        // Reported once, whichever parts there are.
        Ok(_) if part.is_none_or(|part| part == ContextPart::WorkflowState) => {
            not_your_turn(&state, &agent)
        }
        Err(error) if part.is_none_or(|part| part == ContextPart::WorkflowState) => {
            not_now(&CommandError::from(error))
        }
        Ok(_) | Err(_) => String::new(),
    };
    tell_model(&text, out)?;
    Ok(exit_code::OK)
}

fn text_of(briefing: &Briefing, part: Option<ContextPart>) -> String {
    part.map_or_else(|| briefing.text(), |part| briefing.part(part.into()))
}

/// Returns the notice for an agent that there is nothing to begin with now.
fn not_now(trouble: &CommandError) -> String {
    format!("# You cannot start now\n{}", trouble.message())
}

fn not_your_turn(state: &anyhook_workflow::state::WorkflowState, agent: &str) -> String {
    let at = state.current_stage.as_deref().unwrap_or("no stage");
    format!(
        "# It is not `{agent}`'s turn in the workflow `{}`\nThe workflow is {} at {at}. Do not start; report this and stop.",
        state.workflow,
        state.status.name()
    )
}

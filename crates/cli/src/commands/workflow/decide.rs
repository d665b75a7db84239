//! `anyhook workflow approve` and `reject`: a person's answer at a gate.

use anyhook_workflow::machine::{self, PersonDecision, WorkflowEffects};
use anyhook_workflow::project::Project;
use anyhook_workflow::refusal::WorkflowRefusal;
use anyhook_workflow::state::WorkflowState;
use anyhook_workflow::vocabulary::{Asks, Decision};
use clap::Args;

use super::status::show;
use crate::commands::CommandResult;
use crate::environment::{Environment, user_name};
use crate::ui::{Out, Tone};
use crate::workflow;

#[derive(Args)]
pub struct DecideArgs {
    /// The stage
    stage: String,
    /// Who decides; default: your login name
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Print the workflow's new state as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub struct RejectArgs {
    #[command(flatten)]
    decide: DecideArgs,
    /// Abort the whole workflow
    #[arg(long)]
    abort: bool,
}

pub fn approve(arguments: &DecideArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    decide(arguments, environment, out, |project, state, choice| {
        let stage = &arguments.stage;
        match asks(state, stage) {
            Some(Asks::Choice) => {
                machine::choose(&project.definition, state, stage, Decision::DeployAnyway, choice)
            }
            _ => machine::approve(&project.definition, state, stage, choice),
        }
    })
}

pub fn reject(arguments: &RejectArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let RejectArgs { decide: arguments, abort } = arguments;
    decide(arguments, environment, out, |project, state, choice| {
        let (definition, stage) = (&project.definition, &arguments.stage);
        if *abort {
            return machine::choose(definition, state, stage, Decision::Abort, choice);
        }
        let has_bugs = state.stages.get(stage).is_some_and(|stage| stage.qa_verdict.is_some());
        match asks(state, stage) {
            Some(Asks::Choice) => machine::choose(definition, state, stage, Decision::Fix, choice),
            // Blocking bugs are not asked about: they can be fixed, or the workflow ended.
            None if has_bugs => machine::choose(definition, state, stage, Decision::Fix, choice),
            _ => machine::reject(definition, state, stage, choice),
        }
    })
}

fn asks(state: &WorkflowState, stage: &str) -> Option<Asks> {
    state.stages.get(stage)?.asks
}

fn decide(
    arguments: &DecideArgs,
    environment: &Environment,
    out: &mut Out,
    machine: impl FnOnce(
        &Project,
        &WorkflowState,
        PersonDecision<'_>,
    ) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal>,
) -> CommandResult {
    let project = workflow::find(environment)?;
    let by = arguments.by.clone().unwrap_or_else(user_name);
    let choice =
        PersonDecision { by: &by, note: arguments.note.as_deref(), at: anyhook_engine::now() };
    let changed = project.change(|state| machine(&project, state, choice))?;
    changed.not_journaled.iter().try_for_each(workflow::warn_of_journal)?;
    let (state, effects) = (changed.state, changed.effects);
    if arguments.json {
        return show(&project, &state, true, out);
    }
    for line in &effects.told {
        out.line(&[(Tone::Good, "• "), (Tone::Plain, &line.sentence())])?;
    }
    out.gap()?;
    show(&project, &state, false, out)
}

//! `anyhook workflow next`: reports which agent works next.

use anyhook_model::exit_code;
use anyhook_model::report::workflow::{NextAgent, WorkflowNextReport};
use anyhook_workflow::board;
use anyhook_workflow::next_actions::{NextAction, out_of};
use anyhook_workflow::project::Project;
use anyhook_workflow::state::WorkflowState;
use anyhook_workflow::vocabulary::WorkflowStatus;
use clap::Args;

use super::status::warn_of_config;
use crate::commands::CommandResult;
use crate::environment::Environment;
use crate::ui::{Out, Tone};
use crate::workflow::{self, tell_model, workflow_agent};
use anyhook_workflow::report::{hints, next, waits};

#[derive(Args)]
pub struct NextArgs {
    /// Print as JSON
    #[arg(long)]
    json: bool,
    /// For hook scripts: read the event from standard input, and answer for the main agent
    #[arg(long, conflicts_with = "json")]
    event: bool,
    /// Only this review
    #[arg(long, value_name = "NAME")]
    review: Option<String>,
}

pub fn run(arguments: &NextArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    if arguments.event {
        return tell_orchestrator(arguments.review.as_deref(), environment, out);
    }
    let project = workflow::find(environment)?;
    let state = project.begun()?;
    warn_of_config(&project)?;
    let mut next = next(&project, &state);
    next.retain(|one| arguments.review.as_ref().is_none_or(|review| one.stage == *review));
    let waits = waits(&project, &state);
    if arguments.json {
        let status = state.status.name().to_owned();
        out.json(&WorkflowNextReport { status, next, waits, hints: hints(&project, &state) })?;
        return Ok(exit_code::OK);
    }
    if next.is_empty() && waits.is_empty() {
        let status = state.status.name();
        let words = match &state.current_stage {
            Some(stage) => format!(" at {stage}: no agent is due"),
            None => ": no agent is due".to_owned(),
        };
        out.line(&[(board::tone(status), status), (Tone::Plain, &words)])?;
    }
    board::steps(&next, &waits, out)?;
    board::hints(&hints(&project, &state), out)?;
    Ok(exit_code::OK)
}

/// Tells the main agent which agent comes next, so that it delegates the work. An agent of the
/// workflow itself delegates nothing.
fn tell_orchestrator(
    review: Option<&str>,
    environment: &Environment,
    out: &mut Out,
) -> CommandResult {
    let event = workflow::read_event()?;
    if workflow_agent().0.is_some() || event.is_of_subagent() {
        return Ok(exit_code::OK);
    }
    let project = workflow::find(environment)?;
    let is_call = event.value.get("tool_name").is_some();
    let called = event.called_agent(&project.definition);
    if is_call && called.is_none() {
        return Ok(exit_code::OK);
    }
    let Some(state) = project.state()? else { return Ok(exit_code::OK) };
    let called = called.as_deref();
    let text = match review {
        Some(review) => next(&project, &state)
            .iter()
            .filter(|one| one.stage == review)
            .map(|one| invitation(one, called))
            .collect::<Vec<_>>()
            .join("\n"),
        None => words(&project, &state, called),
    };
    tell_model(&text, out)?;
    Ok(exit_code::OK)
}

fn words(project: &Project, state: &WorkflowState, called: Option<&str>) -> String {
    let mut lines = vec![format!("The workflow `{}` is {}.", state.workflow, state.status.name())];
    // Reviews have hooks of their own, which can be removed.
    let stages = next(project, state).into_iter().filter(|one| one.reviewed_stage.is_none());
    lines.extend(stages.map(|one| format!("- {}", invitation(&one, called))));
    for waiting in waits(project, state) {
        lines.push(format!(
            "- The stage `{}` is waiting for a person: nothing continues until they answer. Tell them: {}",
            waiting.stage,
            waiting.answers.join("; or: ")
        ));
    }
    if matches!(state.status, WorkflowStatus::Completed | WorkflowStatus::Aborted) {
        return String::new();
    }
    for (name, stage) in &state.stages {
        if let Some(reason) = &stage.reason {
            let ways: Vec<String> = out_of(name, stage).iter().map(NextAction::hint).collect();
            lines.push(format!(
                "- The stage `{name}` is {}: {reason}. A person is needed. Tell them: {}",
                stage.status.name(),
                ways.join("; or ")
            ));
        }
    }
    lines.join("\n")
}

/// Describes whose turn it is. An agent that was just called may still be working.
fn invitation(one: &NextAgent, called: Option<&str>) -> String {
    let NextAgent { agent, stage, reviewed_stage, .. } = one;
    match reviewed_stage {
        _ if called == Some(agent) => {
            format!(
                "`{stage}` is not completed: the subagent `{agent}` is still working, or has to continue"
            )
        }
        Some(reviewed) => {
            format!("Start the subagent `{agent}` to review the stage `{reviewed}` (`{stage}`)")
        }
        None => format!("Start the subagent `{agent}` to do the stage `{stage}`"),
    }
}

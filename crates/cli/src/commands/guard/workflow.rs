//! `anyhook guard workflow`: keeps agents of a workflow from starting before their turn.
//!
//! Hooks also tell agents about reviews and approvals. An agent that forgets or ignores what it is
//! told is stopped here nevertheless.

use std::time::Duration;

use anyhook_model::exit_code;
use anyhook_workflow::machine;
use anyhook_workflow::project::Project;
use anyhook_workflow::question::{GateResult, wait_for_person};
use anyhook_workflow::state::WorkflowState;
use anyhook_workflow::vocabulary::WorkflowStatus;

use crate::commands::CommandResult;
use crate::environment::Environment;
use crate::ui::{Out, Tone};
use crate::workflow;
use anyhook_workflow::report::waits;

pub fn run(wait: Option<Duration>, environment: &Environment) -> CommandResult {
    let event = workflow::read_event()?;
    let project = match workflow::find(environment) {
        Ok(project) => project,
        // A definition that cannot be read may name any agent; it is assumed to name those of the
        // default one.
        Err(trouble) if event.called_agent(workflow::method().definition()).is_some() => {
            return Err(trouble);
        }
        Err(_) => return Ok(exit_code::OK),
    };
    let Some(agent) = event.called_agent(&project.definition) else { return Ok(exit_code::OK) };
    let Some(mut state) = project.state()? else { return Ok(exit_code::OK) };
    if let Some(limit) = wait
        && let Some(stage) = state.paused_at.clone()
        && !is_due(&project, &state, &agent)
    {
        match wait_for_person(&project, &stage, limit)? {
            GateResult::Elsewhere(decided) => state = decided,
            GateResult::Here(changed) => {
                changed.not_journaled.iter().try_for_each(workflow::warn_of_journal)?;
                state = changed.state;
            }
            GateResult::NotInTime => {}
        }
    }
    let is_over = matches!(state.status, WorkflowStatus::Completed | WorkflowStatus::Aborted);
    if is_over || is_due(&project, &state, &agent) {
        return Ok(exit_code::OK);
    }
    // The exit code is the answer, whether or not the message can be written.
    let _ = Out::stderr().line(&[(Tone::Plain, &why_not(&project, &state, &agent))]);
    Ok(exit_code::BLOCKED)
}

fn is_due(project: &Project, state: &WorkflowState, agent: &str) -> bool {
    machine::next(&project.definition, state).iter().any(|one| one.agent == agent)
}

/// Returns what is waited for, so that the caller can do that first.
fn why_not(project: &Project, state: &WorkflowState, agent: &str) -> String {
    let mut lines = vec![format!(
        "it is not `{agent}`'s turn: the workflow `{}` is {}{}",
        state.workflow,
        state.status.name(),
        state.current_stage.as_ref().map(|stage| format!(" at `{stage}`")).unwrap_or_default()
    )];
    for waiting in waits(project, state) {
        lines.push(format!(
            "hint: waiting for a person's approval of `{}`: {}",
            waiting.stage,
            waiting.answers.join("; or: ")
        ));
    }
    for one in machine::next(&project.definition, state) {
        lines.push(match &one.reviewed {
            Some(reviewed) => {
                format!("hint: first, `{}` reviews `{reviewed}` (`{}`)", one.agent, one.stage)
            }
            None => format!("hint: first, `{}` has to finish `{}`", one.agent, one.stage),
        });
    }
    lines.join("\n")
}

//! The summary when no agent works any more, with the next step.

use anyhook_model::exit_code;
use anyhook_workflow::board;
use anyhook_workflow::gate_request::StageGate;
use anyhook_workflow::next_actions::{is_stuck, out_of};
use anyhook_workflow::project::Project;
use anyhook_workflow::state::WorkflowState;
use anyhook_workflow::vocabulary::WorkflowStatus;

use crate::commands::CommandResult;
use crate::ui::{Out, Tone};
use anyhook_workflow::report;

/// Prints the status of a workflow in which no agent works.
pub fn tell(project: &Project, state: &WorkflowState, out: &mut Out) -> CommandResult {
    for gate in StageGate::all(project, state) {
        let mut lines = gate.question.lines();
        out.line(&[
            (Tone::Warn, "paused at "),
            (Tone::Strong, &gate.stage),
            (Tone::Plain, &format!(": {}", lines.next().unwrap_or_default())),
        ])?;
        for line in lines {
            out.line(&[(Tone::Plain, "  "), (Tone::Plain, line)])?;
        }
    }
    let waits = report::waits(project, state);
    for answer in waits.iter().flat_map(|waiting| &waiting.answers) {
        out.hint(answer)?;
    }
    if !waits.is_empty() {
        out.hint("then continue: anyhook workflow run")?;
    }
    for (name, stage) in &state.stages {
        let reason = stage.reason.as_deref().unwrap_or("no reason given");
        if is_stuck(stage) {
            out.line(&[
                (Tone::Bad, stage.status.name()),
                (Tone::Plain, ": "),
                (Tone::Strong, name),
                (Tone::Plain, &format!(": {reason}")),
            ])?;
            for way in out_of(name, stage) {
                out.hint(&way.hint())?;
            }
        }
    }
    let status = state.status;
    if matches!(status, WorkflowStatus::Completed | WorkflowStatus::Aborted) {
        let tone = board::tone(status.name());
        out.line(&[(Tone::Strong, &state.workflow), (Tone::Plain, " is "), (tone, status.name())])?;
    }
    Ok(code(state))
}

/// Returns the exit code: waiting for a person is not a failure, unless something else has failed.
pub fn code(state: &WorkflowState) -> u8 {
    let is_aborted = state.status == WorkflowStatus::Aborted;
    let is_problem = is_aborted || state.stages.values().any(is_stuck);
    if is_problem { exit_code::PROBLEM } else { exit_code::OK }
}

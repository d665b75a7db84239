//! `anyhook workflow reset`: repeats a stage, restores the previous state, adopts changed rules, or
//! starts over. The old state is kept.

use anyhook_workflow::machine::{self, PersonDecision, WorkflowEffects};
use anyhook_workflow::project::Project;
use anyhook_workflow::refusal::WorkflowRefusal;
use anyhook_workflow::state::WorkflowState;
use anyhook_workflow::transaction::Replacement;
use anyhook_workflow::vocabulary::StageStatus;
use clap::Args;

use super::status::show;
use crate::commands::CommandResult;
use crate::environment::{Environment, user_name};
use crate::ui::{Out, Tone};
use crate::workflow;

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option by itself")]
pub struct ResetArgs {
    /// The stage to redo, along with everything after it
    #[arg(required_unless_present_any = ["previous", "rules", "all"], conflicts_with_all = ["previous", "rules", "all"])]
    stage: Option<String>,
    /// Go back to the state before the last change
    #[arg(long, conflicts_with_all = ["rules", "all"])]
    previous: bool,
    /// Continue with the rules now in workflow.toml
    #[arg(long, conflicts_with = "all")]
    rules: bool,
    /// Start over
    #[arg(long)]
    all: bool,
    /// Who decides
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Print the workflow's new state as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &ResetArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let project = workflow::find(environment)?;
    let by = arguments.by.clone().unwrap_or_else(user_name);
    let note = arguments.note.as_deref();
    let choice = PersonDecision { by: &by, note, at: anyhook_engine::now() };
    let changed = match &arguments.stage {
        Some(stage) => project.change(|state| again(&project, state, stage, choice))?,
        None if arguments.rules => project.accept_rules(choice)?,
        None => {
            let with = if arguments.previous { Replacement::Previous } else { Replacement::Fresh };
            let replaced = project.replace(with, &by, note)?;
            if let Some(kept) = replaced.kept.filter(|_| !arguments.json) {
                out.line(&[(Tone::Dim, "kept as "), (Tone::Dim, &kept)])?;
            }
            replaced.changed
        }
    };
    changed.not_journaled.iter().try_for_each(workflow::warn_of_journal)?;
    show(&project, &changed.state, arguments.json, out)
}

fn again(
    project: &Project,
    state: &WorkflowState,
    stage: &str,
    choice: PersonDecision<'_>,
) -> Result<(WorkflowState, WorkflowEffects), WorkflowRefusal> {
    let status = state.stages.get(stage).map(|stage| stage.status);
    match status {
        Some(StageStatus::Blocked | StageStatus::Failed) => {
            machine::retry(&project.definition, state, stage, choice)
        }
        _ => machine::rollback(&project.definition, state, stage, choice),
    }
}

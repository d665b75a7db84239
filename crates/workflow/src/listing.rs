//! The workflows of this user, over all projects, as they are now.

use anyhook_model::report::workflow::ListedWorkflow;
use jiff::Timestamp;

use crate::caller::WorkflowCaller;
use crate::error::WorkflowError;
use crate::machine::next;
use crate::next_actions::is_stuck;
use crate::project::Project;
use crate::registry::{self, EntryStatus, ListedEntry};
use crate::state::WorkflowState;
use crate::vocabulary::{Asks, WorkflowStatus};

/// Returns the status of every workflow, the most recently changed first. `problem` says in words why
/// one cannot be read.
pub fn all(
    caller: &WorkflowCaller,
    now: Timestamp,
    problem: &dyn Fn(WorkflowError) -> String,
) -> Vec<ListedWorkflow> {
    let all = registry::list(caller, now).into_iter();
    let mut listed: Vec<ListedWorkflow> = all.map(|one| report(one, problem)).collect();
    listed.sort_by_key(|one| std::cmp::Reverse(one.since));
    listed
}

fn report(listed: ListedEntry, problem: &dyn Fn(WorkflowError) -> String) -> ListedWorkflow {
    let ListedEntry { entry, now } = listed;
    let known = ListedWorkflow {
        project: entry.project.display().to_string(),
        workflow: entry.workflow,
        id: entry.id,
        status: "gone".to_owned(),
        execution_mode: entry.execution_mode,
        stage: entry.stage,
        waiting_for: None,
        since: entry.updated_at,
        problem: None,
    };
    match now {
        EntryStatus::There(found) => {
            let (project, state) = *found;
            ListedWorkflow {
                waiting_for: waiting_for(&project, &state),
                since: since(&state),
                status: state.status.name().to_owned(),
                execution_mode: state.execution_mode.map(|mode| mode.name().to_owned()),
                workflow: state.workflow,
                id: state.id,
                stage: state.current_stage,
                ..known
            }
        }
        EntryStatus::Gone => known,
        EntryStatus::Unreadable(error) => ListedWorkflow {
            status: "unreadable".to_owned(),
            problem: Some(problem(error)),
            ..known
        },
    }
}

/// Returns who has to do something.
fn waiting_for(project: &Project, state: &WorkflowState) -> Option<String> {
    if matches!(state.status, WorkflowStatus::Completed | WorkflowStatus::Aborted) {
        return None;
    }
    let stages = project.definition.stages.iter();
    let of_person = stages.filter_map(|stage| {
        let name = &stage.name.text;
        let now = state.stages.get(name)?;
        match now.asks {
            Some(Asks::Approval) => Some(format!("approval of {name}")),
            Some(Asks::Choice) => Some(format!("a decision on the bugs in {name}")),
            None if is_stuck(now) => Some(format!("a person ({name} is {})", now.status.name())),
            None => None,
        }
    });
    let agents = next(&project.definition, state).into_iter().map(|one| one.agent);
    let all: Vec<String> = of_person.chain(agents).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Returns since when a workflow has its status: a person is asked since the stage was completed,
/// whatever others have done meanwhile.
fn since(state: &WorkflowState) -> Timestamp {
    let paused = state.paused_at.as_ref().and_then(|stage| state.stages.get(stage));
    paused.and_then(|stage| stage.completed_at).unwrap_or(state.updated_at)
}

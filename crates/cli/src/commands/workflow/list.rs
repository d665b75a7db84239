//! `anyhook workflow list`: lists every workflow of this user, over all projects.

use std::path::Path;

use anyhook_model::exit_code;
use anyhook_model::report::workflow::{ListedWorkflow, WorkflowListReport};
use anyhook_terminal::format::age;
use anyhook_workflow::board;
use anyhook_workflow::machine::next;
use anyhook_workflow::next_actions::is_stuck;
use anyhook_workflow::project::Project;
use anyhook_workflow::registry::{self, EntryStatus, ListedEntry};
use anyhook_workflow::state::WorkflowState;
use anyhook_workflow::vocabulary::{Asks, WorkflowStatus};
use jiff::Timestamp;

use crate::commands::CommandResult;
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::ui::{Cell, Out, Tone};
use crate::workflow::caller;

pub fn run(json: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let now = anyhook_engine::now();
    let workflows = listed(environment, now);
    if json {
        out.json(&WorkflowListReport { workflows })?;
        return Ok(exit_code::OK);
    }
    if workflows.is_empty() {
        out.line(&[(Tone::Plain, "no workflows yet")])?;
        out.hint("anyhook workflow init")?;
        return Ok(exit_code::OK);
    }
    let titles = ["project", "mode", "stage", "state", "waiting for", "since"];
    let mut rows = vec![titles.map(|title| Cell::new(Tone::Dim, title)).to_vec()];
    for one in &workflows {
        let ListedWorkflow { project, status, execution_mode, stage, waiting_for, .. } = one;
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        rows.push(vec![
            Cell::new(Tone::Strong, shown(Path::new(project), &environment.places)),
            Cell::new(Tone::Plain, text(execution_mode)),
            Cell::new(Tone::Plain, text(stage)),
            Cell::new(board::tone(status), status.clone()),
            Cell::new(Tone::Plain, text(waiting_for)),
            Cell::new(Tone::Dim, age(one.since, now)),
        ]);
    }
    out.table(&rows)?;
    for one in &workflows {
        if let Some(problem) = &one.problem {
            let place = shown(Path::new(&one.project), &environment.places);
            out.line(&[(Tone::Bad, &format!("{place}: ")), (Tone::Plain, problem)])?;
        }
    }
    Ok(exit_code::OK)
}

/// Returns the status of every workflow, the most recently changed first.
fn listed(environment: &Environment, now: Timestamp) -> Vec<ListedWorkflow> {
    let all = registry::list(&caller(environment), now).into_iter();
    let mut listed: Vec<ListedWorkflow> = all.map(|one| report(one, environment)).collect();
    listed.sort_by_key(|one| std::cmp::Reverse(one.since));
    listed
}

fn report(listed: ListedEntry, environment: &Environment) -> ListedWorkflow {
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
            problem: Some(CommandError::of_workflow(error, environment).message().to_owned()),
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

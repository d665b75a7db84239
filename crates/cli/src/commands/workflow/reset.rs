//! `anyhook workflow reset`: a stage again, the state before, other rules, or all anew. What was
//! there is kept.

use std::fs;

use anyhook_workflow::machine::{self, Choice, Effects};
use anyhook_workflow::refusal::Refusal;
use anyhook_workflow::state::{HistoryLine, State};
use anyhook_workflow::words::StageStatus;
use clap::Args;

use super::status::show;
use crate::commands::Ended;
use crate::environment::{Environment, person};
use crate::error::Trouble;
use crate::ui::{Out, Tone};
use crate::workflow::project::Project;
use crate::workflow::store::journal;
use crate::workflow::watcher;

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option by itself")]
pub struct ResetArgs {
    /// The stage that is to be done again, and with it all that came after it
    #[arg(required_unless_present_any = ["previous", "rules", "all"], conflicts_with_all = ["previous", "rules", "all"])]
    stage: Option<String>,
    /// Take the state before the last change
    #[arg(long, conflicts_with_all = ["rules", "all"])]
    previous: bool,
    /// Go on by the rules that workflow.toml has now
    #[arg(long, conflicts_with = "all")]
    rules: bool,
    /// Begin anew
    #[arg(long)]
    all: bool,
    /// Who decides
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Print where the workflow is then, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &ResetArgs, environment: &Environment, out: &mut Out) -> Ended {
    let project = Project::find(environment)?;
    let by = arguments.by.clone().unwrap_or_else(person);
    let note = arguments.note.as_deref();
    let state = match &arguments.stage {
        Some(stage) => {
            project.begun()?;
            let choice = Choice { by: &by, note, at: anyhook_engine::now() };
            let again = |state: &_| again(&project, state, stage, choice);
            project.change(environment, again)?.0
        }
        None if arguments.rules => {
            let choice = Choice { by: &by, note, at: anyhook_engine::now() };
            let accept = |state: &_| machine::accept_rules(&project.definition, state, choice);
            project.change(environment, accept)?.0
        }
        None => replace(&project, environment, arguments, &by, out)?,
    };
    show(&project, &state, arguments.json, out)
}

fn again(
    project: &Project,
    state: &State,
    stage: &str,
    choice: Choice<'_>,
) -> Result<(State, Effects), Refusal> {
    let status = state.stages.get(stage).map(|stage| stage.status);
    match status {
        Some(StageStatus::Blocked | StageStatus::Failed) => {
            machine::retry(&project.definition, state, stage, choice)
        }
        _ => machine::rollback(&project.definition, state, stage, choice),
    }
}

/// Puts the state aside, and another in its place.
fn replace(
    project: &Project,
    environment: &Environment,
    arguments: &ResetArgs,
    by: &str,
    out: &mut Out,
) -> Result<State, Trouble> {
    let _lock = project.lock()?;
    let now = project.state().ok().flatten().map_or(0, |state| state.revision);
    let (mut state, what) = if arguments.previous {
        let previous = project.previous_file();
        let state = project.read_state(&previous)?.ok_or_else(|| {
            Trouble::input("there is no state before the last change")
                .hint("`anyhook workflow reset --all` begins anew")
        })?;
        (state, "previous state taken")
    } else {
        (project.fresh()?.0, "begun anew")
    };
    let file = project.state_file();
    if file.symlink_metadata().is_ok() {
        let stamp = anyhook_engine::now().strftime("%Y%m%dT%H%M%S%.3f");
        let kept = file.with_file_name(format!("workflow-state.{stamp}.json"));
        fs::copy(&file, &kept).map_err(|error| Trouble::at(&kept, error))?;
        if !arguments.json {
            let name = kept.file_name().unwrap_or_default().to_string_lossy().into_owned();
            out.line(&[(Tone::Dim, "kept as "), (Tone::Dim, &project.system_path(&name))])?;
        }
    }
    // It goes on from there: what was decided since then is to be decided again.
    state.revision = state.revision.max(now) + 1;
    state.updated_at = anyhook_engine::now();
    let line = HistoryLine {
        revision: state.revision,
        at: state.updated_at,
        what: what.to_owned(),
        stage: None,
        by: Some(by.to_owned()),
        note: arguments.note.clone(),
    };
    state.history.push(line.clone());
    project.write(environment, &state)?;
    journal(project, environment, &[line]);
    if state.stages.values().any(|stage| stage.asks.is_some()) {
        watcher::announce(environment);
    }
    Ok(state)
}

//! `anyhook workflow list`: lists every workflow of this user, over all projects.

use std::path::Path;

use anyhook_model::exit_code;
use anyhook_model::report::workflow::{ListedWorkflow, WorkflowListReport};
use anyhook_terminal::format::age;
use anyhook_workflow::board;
use anyhook_workflow::listing;

use crate::commands::CommandResult;
use crate::environment::{Environment, shown};
use crate::error::CommandError;
use crate::ui::{Cell, Out, Tone};
use crate::workflow::caller;

pub fn run(json: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let now = anyhook_engine::now();
    let problem = |error| CommandError::of_workflow(error, environment).message().to_owned();
    let workflows = listing::all(&caller(environment), now, &problem);
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

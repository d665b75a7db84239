//! `anyhook workflow complete`: an agent reports that it is done, and its signal is processed.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhook_model::exit_code;
use anyhook_workflow::board;
use anyhook_workflow::error::WorkflowError;
use anyhook_workflow::event::agent_named;
use anyhook_workflow::transaction::StateChange;
use anyhook_workflow::vocabulary::WorkflowStatus;
use clap::Args;
use serde_json::Value;

use super::status::show;
use crate::commands::CommandResult;
use crate::environment::{Environment, line_width};
use crate::error::CommandError;
use crate::ui::{Out, Tone};
use crate::workflow;
use anyhook_workflow::report::report;

/// No signal is larger than this.
const LIMIT: u64 = 4 * 1024 * 1024;

#[derive(Args)]
pub struct CompleteArgs {
    /// The signal's file, or `-` for standard input
    #[arg(required_unless_present_any = ["event", "agent"])]
    signal: Option<PathBuf>,
    /// Use this agent's signal, from its folder
    #[arg(long, conflicts_with_all = ["signal", "event"])]
    agent: Option<String>,
    /// Print the workflow's new state as JSON
    #[arg(long)]
    json: bool,
    /// For hook scripts: take the agent from the event on standard input
    #[arg(long, conflicts_with_all = ["signal", "json"])]
    event: bool,
}

pub fn run(arguments: &CompleteArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    if arguments.event {
        return of_event(environment);
    }
    let project = workflow::find(environment)?;
    let signal = match (&arguments.agent, &arguments.signal) {
        (Some(name), _) => {
            let agent = agent_named(&project.definition, name).unwrap_or_else(|| name.clone());
            project.read_signal(&agent)?
        }
        (None, file) => read(file.as_deref().unwrap_or(Path::new("-")), environment)?,
    };
    let StateChange { state, effects, not_journaled } = project.submit(signal)?;
    not_journaled.iter().try_for_each(workflow::warn_of_journal)?;
    if arguments.json {
        return show(&project, &state, true, out);
    }
    if effects.is_unchanged {
        out.line(&[(Tone::Dim, "already handed in; nothing changed")])?;
    }
    for line in &effects.told {
        out.line(&[(Tone::Good, "• "), (Tone::Plain, &line.sentence())])?;
    }
    out.gap()?;
    let mut report = report(&project, &state);
    // Mostly an agent reads this, and agents do not start other agents.
    if state.status == WorkflowStatus::Running {
        report.hints.clear();
    }
    board::draw(&report, anyhook_engine::now(), line_width(), out)?;
    Ok(exit_code::OK)
}

/// Accepts what the agent of an event has produced; sends it back if that is not possible.
fn of_event(environment: &Environment) -> CommandResult {
    let event = workflow::read_event()?;
    let Some((project, agent)) = workflow::concerned(&event, environment)? else {
        return Ok(exit_code::OK);
    };
    match project.submit_of(&agent) {
        Ok(changed) => {
            let warning = changed.and_then(|changed| changed.not_journaled);
            warning.iter().try_for_each(workflow::warn_of_journal)?;
            Ok(exit_code::OK)
        }
        Err(error @ (WorkflowError::Refused(_) | WorkflowError::NoSignal { .. })) => {
            workflow::send_back(error)
        }
        Err(error) => Err(error.into()),
    }
}

fn read(file: &Path, environment: &Environment) -> Result<Value, CommandError> {
    let mut bytes = Vec::new();
    let (name, read) = if file == Path::new("-") {
        let read = std::io::stdin().lock().take(LIMIT + 1).read_to_end(&mut bytes);
        ("standard input".to_owned(), read)
    } else {
        let opened = std::fs::File::open(environment.work_dir.join(file));
        let read = opened.and_then(|opened| opened.take(LIMIT + 1).read_to_end(&mut bytes));
        (format!("`{}`", file.display()), read)
    };
    let cannot = |why: String| {
        CommandError::input(format!("{name} is not a signal: {why}"))
            .hint("anyhook schema stage-completion-signal")
    };
    read.map_err(|error| cannot(error.to_string()))?;
    if bytes.len() as u64 > LIMIT {
        return Err(cannot(format!("it is larger than {LIMIT} bytes")));
    }
    serde_json::from_slice(&bytes).map_err(|error| cannot(error.to_string()))
}

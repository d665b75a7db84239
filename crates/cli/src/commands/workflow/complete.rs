//! `anyhook workflow complete`: an agent's word that it is done, and what becomes of it.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhook_model::exit_code;
use anyhook_workflow::refusal::Refusal;
use anyhook_workflow::words::WorkflowStatus;
use clap::Args;
use serde_json::Value;

use super::board;
use super::report::report;
use super::status::show;
use super::validate::{SignalOf, block, signal_of};
use crate::commands::Ended;
use crate::environment::{Environment, workflow_agent};
use crate::error::Trouble;
use crate::ui::{Out, Tone};
use crate::workflow::event::{HookEvent, agent_named};
use crate::workflow::project::Project;
use crate::workflow::session;
use crate::workflow::store::words;
use crate::workflow::submission::HandedIn;

/// No signal is so large.
const LIMIT: u64 = 4 * 1024 * 1024;

#[derive(Args)]
pub struct CompleteArgs {
    /// The signal's file, or `-` for standard input
    #[arg(required_unless_present_any = ["event", "agent"])]
    signal: Option<PathBuf>,
    /// Take the signal of this agent, from its folder
    #[arg(long, conflicts_with_all = ["signal", "event"])]
    agent: Option<String>,
    /// Print where the workflow is then, as JSON
    #[arg(long)]
    json: bool,
    /// For a hook's script: the event on standard input says which agent is done
    #[arg(long, conflicts_with_all = ["signal", "json"])]
    event: bool,
}

pub fn run(arguments: &CompleteArgs, environment: &Environment, out: &mut Out) -> Ended {
    if arguments.event {
        return of_event(environment);
    }
    let project = Project::find(environment)?;
    let signal = match (&arguments.agent, &arguments.signal) {
        (Some(name), _) => {
            let agent = agent_named(&project.definition, name).unwrap_or_else(|| name.clone());
            let path = project.signal_path(&agent);
            project.read_json(&path).map_err(|error| error.trouble(&path))?
        }
        (None, file) => read(file.as_deref().unwrap_or(Path::new("-")), environment)?,
    };
    project.begun()?;
    let agent = signal.get("agent").and_then(Value::as_str).unwrap_or_default().to_owned();
    speaks_for_itself(&project, &agent)?;
    let handed_in = HandedIn::read(&project, signal, environment)?;
    let (state, effects) =
        project.change(environment, |state| handed_in.complete(&project.definition, state))?;
    if !effects.is_unchanged {
        session::end_own(&agent, environment);
    }
    if arguments.json {
        return show(&project, &state, true, out);
    }
    if effects.is_unchanged {
        out.line(&[(Tone::Dim, "this signal is known already; nothing changed")])?;
    }
    for line in &effects.told {
        out.line(&[(Tone::Good, "• "), (Tone::Plain, &words(line))])?;
    }
    out.gap()?;
    let mut report = report(&project, &state);
    // Mostly it is an agent that reads this, and agents do not start other agents.
    if state.status == WorkflowStatus::Running {
        report.hints.clear();
    }
    board::draw(&report, anyhook_engine::now(), out)
}

/// Looks whether a session that is an agent of the workflow hands in its own work.
fn speaks_for_itself(project: &Project, agent: &str) -> Result<(), Trouble> {
    let own = workflow_agent().0;
    let own = own.and_then(|name| agent_named(&project.definition, &name));
    match own {
        Some(own) if own != agent => {
            let why =
                format!("this is the session of `{own}`, and the signal speaks for `{agent}`");
            Err(Trouble::input(why).hint(format!("let `{agent}` hand in its own work")))
        }
        _ => Ok(()),
    }
}

/// Takes in what the agent of an event has made; sends it back if that cannot be.
fn of_event(environment: &Environment) -> Ended {
    let event = HookEvent::read()?;
    let SignalOf { project, signal, .. } = match signal_of(&event, environment)? {
        Ok(Some(signal)) => signal,
        Ok(None) => return Ok(exit_code::OK),
        Err(why) => return block(&why),
    };
    let handed_in = HandedIn::read(&project, signal, environment)?;
    let mut refusal: Option<Refusal> = None;
    let completed = project.change(environment, |state| {
        handed_in.complete(&project.definition, state).inspect_err(|why| {
            refusal = Some(why.clone());
        })
    });
    match (completed, refusal) {
        (Ok(_), _) => Ok(exit_code::OK),
        (Err(_), Some(refusal)) => block(&format!("{refusal}\nhint: {}", refusal.hint())),
        (Err(trouble), None) => Err(trouble),
    }
}

fn read(file: &Path, environment: &Environment) -> Result<Value, Trouble> {
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
        Trouble::input(format!("{name} is no signal: {why}"))
            .hint("anyhook schema stage-completion-signal")
    };
    read.map_err(|error| cannot(error.to_string()))?;
    if bytes.len() as u64 > LIMIT {
        return Err(cannot(format!("it has more than {LIMIT} bytes")));
    }
    serde_json::from_slice(&bytes).map_err(|error| cannot(error.to_string()))
}

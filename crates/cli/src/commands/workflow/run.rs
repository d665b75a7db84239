//! `anyhook workflow run`: starts every agent whose turn it is, until a person is needed or all is
//! done, and reports progress.

mod outcome;
mod progress;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhook_hosts::in_search_order;
use anyhook_model::exit_code;
use anyhook_model::pipeline::{PipelinePlan, PipelineView, StepWork};
use anyhook_workflow::machine;
use anyhook_workflow::project::Project;
use anyhook_workflow::state::WorkflowState;
use anyhook_workflow::supervisor::{Observer as _, RunEnd, StartOptions, Starter, Supervisor};
use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use self::progress::WorkflowProgress;
use crate::agents::program;
use crate::commands::{CommandResult, trust};
use crate::environment::{Environment, user_name, variables_for_agents};
use crate::error::CommandError;
use crate::human_only::{agent_above, only_a_person};
use crate::runbooks::UnverifiedFile;
use crate::ui::{Out, Tone};
use crate::workflow;
use anyhook_workflow::report::report;

#[derive(Args)]
pub struct RunArgs {
    /// The command that starts every agent, overriding the workflow
    #[arg(long, value_name = "COMMAND")]
    with: Option<String>,
    /// At a gate, ask through the daemon and continue with the answer, instead of exiting
    #[arg(long)]
    wait: bool,
    /// Print which agents would be started, how and with which prompt, without starting them
    #[arg(long, conflicts_with = "wait")]
    dry_run: bool,
    /// Print the workflow's final state as JSON; progress goes to standard error
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &RunArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let project = workflow::find(environment)?;
    if !arguments.dry_run {
        check_caller(arguments, &project, environment)?;
    }
    let state = project.begun()?;
    let options = StartOptions {
        with: arguments.with.clone(),
        usual: usual_program().map(str::to_owned),
        variables: variables_for_agents(environment),
        by: user_name(),
    };
    if arguments.dry_run {
        let starter = Starter { project: &project, options: &options };
        return show(starter, &state, arguments.json, out);
    }
    let supervisor = Supervisor::new(&project, &state, &options, arguments.wait)?;
    let mut stderr = Out::stderr();
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&interrupted))?;
    }
    let mut progress = WorkflowProgress::new(if arguments.json { &mut stderr } else { &mut *out });
    // The effects of the first step are reported, too.
    progress.state(&state)?;
    let is_interrupted = || interrupted.load(Ordering::Relaxed);
    match supervisor.run(&mut progress, &is_interrupted)? {
        RunEnd::Interrupted(open) => leave(&open, progress.out()),
        RunEnd::AtRest(state) if arguments.json => {
            out.json(&report(&project, &state))?;
            Ok(outcome::code(&state))
        }
        RunEnd::AtRest(state) => outcome::tell(&project, &state, out),
    }
}

/// Returns the program of the first agent that is installed on this machine.
fn usual_program() -> Option<&'static str> {
    in_search_order().find(|agent| program(agent).is_some()).map(|agent| agent.program)
}

/// Refuses commands that an agent gives: its hooks would see nothing of what the daemon starts with
/// them.
fn check_caller(
    arguments: &RunArgs,
    project: &Project,
    environment: &Environment,
) -> Result<(), CommandError> {
    if agent_above(environment).is_none() {
        return Ok(());
    }
    if arguments.with.is_some() {
        return only_a_person("workflow run", environment);
    }
    let definition = &project.definition;
    let has_commands =
        definition.run.is_some() || definition.agents.iter().any(|agent| agent.run.is_some());
    match (&project.file, &project.text) {
        (Some(file), Some(text)) if has_commands => {
            let workflow = UnverifiedFile::of(file, text, environment);
            trust::before_an_agent_runs_it("workflow run", &workflow, environment)
        }
        // Agents' programs, which `install` knows where to find.
        _ => Ok(()),
    }
}

/// Prints which agents would be started.
fn show(starter: Starter<'_>, state: &WorkflowState, json: bool, out: &mut Out) -> CommandResult {
    let next = machine::next(&starter.project.definition, state);
    let plans: Vec<PipelinePlan> =
        next.iter().map(|work| starter.plan(state, work)).collect::<Result<_, _>>()?;
    if json {
        out.json(&plans)?;
        return Ok(exit_code::OK);
    }
    for (work, plan) in next.iter().zip(&plans) {
        out.line(&[
            (Tone::Strong, &progress::place(work)),
            (Tone::Plain, &format!(": {}, attempt {}", work.agent, work.attempt)),
        ])?;
        for step in &plan.steps {
            let StepWork::Agent(agent) = &step.work else { continue };
            out.field("command", Tone::Plain, &agent.run.text)?;
            let host = agent.host.as_deref().unwrap_or("unknown to anyhook");
            out.field("agent", Tone::Plain, host)?;
            out.field("prompt", Tone::Plain, agent.prompt.as_deref().unwrap_or_default())?;
        }
        out.gap()?;
    }
    if next.is_empty() {
        return outcome::tell(starter.project, state, out);
    }
    Ok(exit_code::OK)
}

/// Prints what happens to the agents when we are told to end.
fn leave(open: &[PipelineView], out: &mut Out) -> CommandResult {
    let word = if open.is_empty() { "no agent is working" } else { "the agents keep working" };
    out.line(&[(Tone::Warn, "interrupted"), (Tone::Plain, &format!(": {word}"))])?;
    out.hint("resume it: anyhook workflow run")?;
    for one in open {
        out.hint(&format!("stop {}: anyhook pipeline cancel {}", one.name, one.id))?;
    }
    Ok(exit_code::PROBLEM)
}

//! `anyhook workflow`: staged delivery with artifacts and gates.

#![expect(clippy::similar_names, reason = "a state has stages")]

mod board;
mod check;
mod complete;
mod context;
mod decide;
mod doctor;
mod graph;
mod history;
mod init;
mod list;
mod next;
pub mod report;
mod reset;
mod run;
mod status;
mod validate;

use std::borrow::Cow;
use std::path::PathBuf;

use anyhook_workflow::definition;
use clap::{Args, Subcommand};

pub use doctor::look_at;

use super::Ended;
use crate::environment::Environment;
use crate::ui::Out;
use crate::workflow::{caller, method};

/// Take software through stages: agents hand on artifacts that are checked, people decide at gates
#[derive(Args)]
#[command(
    after_help = "Example: anyhook workflow init\n         anyhook workflow status\n         anyhook workflow approve requirements --by ann"
)]
pub struct WorkflowArgs {
    #[command(subcommand)]
    command: WorkflowCommand,
}

#[derive(Subcommand)]
enum WorkflowCommand {
    /// Write the workflow's file and the project's, if they are not there, and begin
    #[command(after_help = "Example: anyhook workflow init")]
    Init {
        /// Print where the workflow is, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Have everybody work whose turn it is, until a person is needed or all is done
    ///
    /// Every agent is a session of the daemon; those side by side work at the same time. Ends at a
    /// gate (exit 0), when all is done (exit 0), or when something is blocked or failed (exit 1).
    /// Interrupted, it leaves the agents at work, and the next one takes them up.
    #[command(
        after_help = "Example: anyhook workflow run\n         anyhook workflow run --with \"claude --permission-mode acceptEdits\" --wait"
    )]
    Run(run::RunArgs),
    /// The board: every stage, who owns it, what it made, who is asked
    #[command(after_help = "Example: anyhook workflow status --json")]
    Status {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Every workflow that you have run, over all projects: where it is, and who is waited for
    #[command(after_help = "Example: anyhook workflow list")]
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Who is to work now, and what waits for a person
    #[command(after_help = "Example: anyhook workflow next")]
    Next(next::NextArgs),
    /// What an agent is given before it begins
    #[command(after_help = "Example: anyhook workflow context system_architect")]
    Context(context::ContextArgs),
    /// Hand in a stage: its signal is checked, then its artifacts, then the workflow goes on
    #[command(
        after_help = "Example: anyhook workflow complete ARTIFACTS/product-manager/stage-completion-signal.json"
    )]
    Complete(complete::CompleteArgs),
    /// Let a stage go on that a person is asked about
    #[command(
        after_help = "Example: anyhook workflow approve requirements --by ann --note \"good\""
    )]
    Approve(decide::DecideArgs),
    /// Send a stage back that a person is asked about
    #[command(
        after_help = "Example: anyhook workflow reject requirements --by ann --note \"no word on speed\""
    )]
    Reject(decide::RejectArgs),
    /// Say what is wrong with artifacts; exit 1 if anything is
    #[command(after_help = "Example: anyhook workflow validate --all")]
    Validate(validate::ValidateArgs),
    /// Say what is wrong with the workflow's file, where and why; exit 1 if anything is
    #[command(after_help = "Example: anyhook workflow check")]
    Check {
        /// The file; without, the project's
        file: Option<PathBuf>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// The workflow as a picture: Mermaid, or SVG
    #[command(after_help = "Example: anyhook workflow graph --svg > workflow.svg")]
    Graph(graph::GraphArgs),
    /// What happened, the latest last
    #[command(after_help = "Example: anyhook workflow history")]
    History {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Do a stage again, take the state before the last change or changed rules, or begin anew
    #[command(
        after_help = "Example: anyhook workflow reset architecture --by ann\n         anyhook workflow reset --previous\n         anyhook workflow reset --rules --by ann\n         anyhook workflow reset --all"
    )]
    Reset(reset::ResetArgs),
}

/// Returns the schemas of a workflow's file and of its artifacts, with their names.
pub fn schemas() -> Vec<(&'static str, Cow<'static, str>)> {
    let file = format!("{:#}\n", definition::schema(method()));
    let artifacts = method().kinds().map(|kind| (kind.name(), kind.text().into()));
    [("workflow-file", file.into())].into_iter().chain(artifacts).collect()
}

/// Asks people about gates until there is none: the process that the daemon starts for it.
pub fn watch_gates() {
    anyhook_workflow::watcher::run(&caller(&Environment::read()));
}

pub fn run(arguments: WorkflowArgs, environment: &Environment, out: &mut Out) -> Ended {
    match arguments.command {
        WorkflowCommand::Init { json } => init::run(json, environment, out),
        WorkflowCommand::Run(arguments) => run::run(&arguments, environment, out),
        WorkflowCommand::Status { json } => status::run(json, environment, out),
        WorkflowCommand::List { json } => list::run(json, environment, out),
        WorkflowCommand::Next(arguments) => next::run(&arguments, environment, out),
        WorkflowCommand::Context(arguments) => context::run(&arguments, environment, out),
        WorkflowCommand::Complete(arguments) => complete::run(&arguments, environment, out),
        WorkflowCommand::Approve(arguments) => decide::approve(&arguments, environment, out),
        WorkflowCommand::Reject(arguments) => decide::reject(&arguments, environment, out),
        WorkflowCommand::Validate(arguments) => validate::run(&arguments, environment, out),
        WorkflowCommand::Check { file, json } => {
            check::run(file.as_deref(), json, environment, out)
        }
        WorkflowCommand::Graph(arguments) => graph::run(&arguments, environment, out),
        WorkflowCommand::History { json } => history::run(json, environment, out),
        WorkflowCommand::Reset(arguments) => reset::run(&arguments, environment, out),
    }
}

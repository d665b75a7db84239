//! `anyhook workflow`: staged delivery with artifacts and gates.

#![expect(clippy::similar_names, reason = "a state has stages")]

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
mod reset;
mod run;
mod status;
mod validate;

use std::borrow::Cow;
use std::path::PathBuf;

use anyhook_workflow::definition;
use clap::{Args, Subcommand};

pub use doctor::look_at;

use super::CommandResult;
use crate::environment::Environment;
use crate::ui::Out;
use crate::workflow::{caller, method};

/// Take software through stages: agents hand over checked artifacts, people decide at gates
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
    /// Create the workflow file and the project's config if they are missing, and start
    #[command(after_help = "Example: anyhook workflow init")]
    Init {
        /// Print the workflow's state as JSON
        #[arg(long)]
        json: bool,
    },
    /// Run all ready stages until one needs approval or the workflow finishes
    ///
    /// Every agent is a session of the daemon; independent stages run in parallel. Ends at a gate
    /// (exit 0), when everything is done (exit 0), or when a stage is blocked or failed (exit 1). If
    /// interrupted, the agents keep working, and the next run picks them up.
    #[command(
        after_help = "Example: anyhook workflow run\n         anyhook workflow run --with \"claude --permission-mode acceptEdits\" --wait"
    )]
    Run(run::RunArgs),
    /// Show the board: every stage, its owner, its artifacts, and pending approvals
    #[command(after_help = "Example: anyhook workflow status --json")]
    Status {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the workflows of all your projects: their stage, and what they are waiting for
    #[command(after_help = "Example: anyhook workflow list")]
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show which agents work next, and what is waiting for approval
    #[command(after_help = "Example: anyhook workflow next")]
    Next(next::NextArgs),
    /// Show what an agent is given before it starts
    #[command(after_help = "Example: anyhook workflow context system_architect")]
    Context(context::ContextArgs),
    /// Hand in a stage: check its signal and artifacts, then continue the workflow
    #[command(
        after_help = "Example: anyhook workflow complete ARTIFACTS/product-manager/stage-completion-signal.json"
    )]
    Complete(complete::CompleteArgs),
    /// Approve a stage that is waiting for approval
    #[command(
        after_help = "Example: anyhook workflow approve requirements --by ann --note \"good\""
    )]
    Approve(decide::DecideArgs),
    /// Send back a stage that is waiting for approval
    #[command(
        after_help = "Example: anyhook workflow reject requirements --by ann --note \"says nothing about speed\""
    )]
    Reject(decide::RejectArgs),
    /// Validate artifacts; exit 1 if there are errors
    #[command(after_help = "Example: anyhook workflow validate --all")]
    Validate(validate::ValidateArgs),
    /// Lint the workflow file; exit 1 if there are problems
    #[command(after_help = "Example: anyhook workflow check")]
    Check {
        /// The file; default: the project's
        file: Option<PathBuf>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Draw the workflow, as Mermaid or SVG
    #[command(after_help = "Example: anyhook workflow graph --svg > workflow.svg")]
    Graph(graph::GraphArgs),
    /// Show what happened, the latest last
    #[command(after_help = "Example: anyhook workflow history")]
    History {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Redo a stage, undo the last change, adopt changed rules, or start over
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

/// Asks people about gates until none is left: run in the process that the daemon starts for it.
pub fn watch_gates() {
    anyhook_workflow::watcher::run(&caller(&Environment::read()));
}

pub fn run(arguments: WorkflowArgs, environment: &Environment, out: &mut Out) -> CommandResult {
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

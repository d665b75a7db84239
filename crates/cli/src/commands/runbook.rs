//! `anyhook runbook`: lists, shows and checks runbooks, the definitions of pipelines and agents.

mod check;
mod list;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::CommandResult;
use crate::environment::Environment;
use crate::ui::Out;

/// Inspect runbooks: pipelines of shell steps and agents
#[derive(Args)]
#[command(after_help = "Example: anyhook runbook check\n         anyhook runbook show release")]
pub struct RunbookArgs {
    #[command(subcommand)]
    command: RunbookCommand,
}

#[derive(Subcommand)]
enum RunbookCommand {
    /// Lint runbooks; exit 1 if there are problems
    #[command(after_help = "Example: anyhook runbook check examples/runbooks")]
    Check {
        /// Runbooks, or folders of runbooks; default: all installed runbooks
        paths: Vec<PathBuf>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// List pipelines: file, steps and variables
    #[command(after_help = "Example: anyhook runbook list --json")]
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a pipeline: variables, steps and where they lead, agents
    #[command(after_help = "Example: anyhook runbook show release")]
    Show {
        /// The pipeline
        name: String,
        /// Look only in this runbook
        #[arg(long, value_name = "PATH")]
        file: Option<PathBuf>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(arguments: &RunbookArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    match &arguments.command {
        RunbookCommand::Check { paths, json } => check::run(paths, *json, environment, out),
        RunbookCommand::List { json } => list::run(*json, environment, out),
        RunbookCommand::Show { name, file, json } => {
            show::run(name, file.as_deref(), *json, environment, out)
        }
    }
}

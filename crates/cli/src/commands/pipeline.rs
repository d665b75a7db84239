//! `anyhook pipeline`: runs pipelines of runbooks, shows their progress, and ends them.

mod list;
mod logs;
mod run;
pub mod wait;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhook_model::daemon::{PipelineRequest, Request, Response};
use anyhook_model::pipeline::PipelineView;
use anyhook_model::{StateDir, exit_code};
use anyhook_socket::ClientError;
use clap::{Args, Subcommand};

use super::CommandResult;
use crate::daemon::{ask, connect};
use crate::environment::{Environment, user_name, variables_for_agents};
use crate::error::CommandError;
use crate::ui::{Out, Tone};

/// How often a pipeline that is watched is queried.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Run pipelines from runbooks: commands and agents, step by step
#[derive(Args)]
#[command(
    after_help = "Example: anyhook pipeline run release --var version=1.2\n         anyhook pipeline logs -f 7k2m\n         anyhook pipeline cancel 7k2m"
)]
pub struct PipelineArgs {
    #[command(subcommand)]
    command: PipelineCommand,
}

#[derive(Subcommand)]
enum PipelineCommand {
    /// Start a pipeline
    #[command(after_help = "Example: anyhook pipeline run release --var version=1.2 --wait")]
    Run(run::RunPipelineArgs),
    /// List pipelines: their progress, and what they are waiting for
    #[command(after_help = "Example: anyhook pipeline list --all")]
    List {
        /// Include finished ones
        #[arg(long)]
        all: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a pipeline: its steps, its agent, and what it is waiting for
    #[command(after_help = "Example: anyhook pipeline show 7k2m")]
    Show {
        /// Its id or name, or the start of either
        id: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what happened in a pipeline, and its steps' output
    #[command(
        after_help = "Example: anyhook pipeline logs -f 7k2m\n         anyhook pipeline logs 7k2m --step test"
    )]
    Logs(logs::LogsArgs),
    /// Cancel a pipeline: stop what is running, then run its `on_cancel` step
    #[command(after_help = "Example: anyhook pipeline cancel 7k2m")]
    Cancel {
        /// Its id or name, or the start of either
        id: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Resume a failed or cancelled pipeline in the same workspace
    #[command(after_help = "Example: anyhook pipeline resume 7k2m --from test")]
    Resume {
        /// Its id or name, or the start of either
        id: String,
        /// The step to start from; default: the one it stopped at
        #[arg(long, value_name = "STEP")]
        from: Option<String>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Wait for pipelines to finish; exit 0 if all completed, otherwise 1
    #[command(after_help = "Example: anyhook pipeline wait 7k2m --timeout 1h")]
    Wait {
        /// Their ids or names, or the start of either
        #[arg(required = true)]
        ids: Vec<String>,
        /// Time limit, such as 10m
        #[arg(long, value_name = "TIME", value_parser = wait::limit)]
        timeout: Option<Duration>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(arguments: PipelineArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    match arguments.command {
        PipelineCommand::Run(arguments) => run::run(arguments, environment, out),
        PipelineCommand::List { all, json } => list::list(all, json, environment, out),
        PipelineCommand::Show { id, json } => list::show(&id, json, environment, out),
        PipelineCommand::Logs(arguments) => logs::run(&arguments, environment, out),
        PipelineCommand::Cancel { id, json } => {
            let change =
                PipelineRequest { id, step: None, environment: BTreeMap::new(), by: user_name() };
            tell(&Request::CancelPipeline(change), json, environment, out)
        }
        PipelineCommand::Resume { id, from, json } => {
            let (step, by) = (from, user_name());
            let change =
                PipelineRequest { id, step, environment: variables_for_agents(environment), by };
            tell(&Request::ResumePipeline(change), json, environment, out)
        }
        PipelineCommand::Wait { ids, timeout, json } => {
            wait::run(&ids, timeout, json, environment, out)
        }
    }
}

/// Requests a change, and prints the resulting pipeline.
fn tell(request: &Request, json: bool, environment: &Environment, out: &mut Out) -> CommandResult {
    let Response::Pipeline(pipeline) = connect(environment)?.request(request)? else {
        return Err(ClientError::NoAnswer.into());
    };
    if json {
        out.json(&pipeline)?;
        return Ok(exit_code::OK);
    }
    let id = pipeline.id.to_string();
    let word = match (request, pipeline.phase.is_over()) {
        (Request::CancelPipeline(_), false) => "is being cancelled",
        (Request::CancelPipeline(_), true) => "is cancelled",
        _ => "resumed",
    };
    out.line(&[(Tone::Strong, &id), (Tone::Plain, &format!(" ({}) {word}", pipeline.name))])?;
    hint(out, &format!("anyhook pipeline logs -f {id}"))?;
    Ok(exit_code::OK)
}

fn pipelines(environment: &Environment) -> Result<Vec<PipelineView>, CommandError> {
    match ask(environment, &Request::Pipelines)? {
        Response::Pipelines(pipelines) => Ok(pipelines),
        _ => Err(ClientError::NoAnswer.into()),
    }
}

/// Finds a pipeline by its id or a prefix of it.
fn find(id: &str, environment: &Environment) -> Result<PipelineView, CommandError> {
    match ask(environment, &Request::Pipeline { id: id.to_owned() })? {
        Response::Pipeline(pipeline) => Ok(*pipeline),
        _ => Err(ClientError::NoAnswer.into()),
    }
}

fn hint(out: &mut Out, text: &str) -> Result<(), CommandError> {
    Ok(out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, text)])?)
}

/// Returns the folder for workspaces for which runbooks give no path.
fn workspaces_folder(environment: &Environment) -> Result<PathBuf, CommandError> {
    let state = environment.places.state.as_deref().ok_or_else(|| {
        CommandError::problem("no state folder, so there are no workspaces").hint("set HOME")
    })?;
    Ok(StateDir::new(state).workspaces())
}

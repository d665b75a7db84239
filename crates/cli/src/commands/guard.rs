//! `anyhook guard`: guards that hooks are made of.

mod mcp;
#[cfg(feature = "workflow")]
mod workflow;

use std::time::Duration;

use clap::{Args, Subcommand};

use super::Ended;
use super::pipeline::wait::limit;
#[cfg(not(feature = "workflow"))]
use super::without_workflow::guard as workflow;
use crate::environment::Environment;

/// Look at an event on standard input: exit 0 if it may go on, 2 if not
#[derive(Args)]
#[command(
    after_help = "Example: echo '{\"tool_input\": {\"run\": \"sudo reboot\"}}' | anyhook guard mcp"
)]
pub struct GuardArgs {
    #[command(subcommand)]
    command: GuardCommand,
}

#[derive(Subcommand)]
enum GuardCommand {
    /// Dangerous commands in what a tool is called with: a download piped into a shell, `rm -rf`, `sudo`
    ///
    /// Every text of `tool_input` is looked at, and argument lists as a whole. What cannot be read
    /// does not pass.
    #[command(
        after_help = "Example: echo '{\"tool_input\": {\"run\": \"sudo reboot\"}}' | anyhook guard mcp"
    )]
    Mcp,
    /// Whether it is the turn of the agent of a workflow that is about to be started
    ///
    /// One that is none of the workflow's starts as ever.
    #[command(
        after_help = "Example: echo '{\"tool_name\": \"Subagent\", \"tool_input\": {\"subagent_type\": \"qa_engineer\"}}' | anyhook guard workflow"
    )]
    Workflow {
        /// Wait so long for a person who is asked, through the daemon: 30s, 10m
        #[arg(long, value_name = "TIME", value_parser = limit)]
        wait: Option<Duration>,
    },
}

pub fn run(arguments: &GuardArgs, environment: &Environment) -> Ended {
    match arguments.command {
        GuardCommand::Mcp => Ok(mcp::run()),
        GuardCommand::Workflow { wait } => workflow::run(wait, environment),
    }
}

//! `anyhook guard`: guards that hooks are built from.

mod mcp;
#[cfg(feature = "workflow")]
mod workflow;

use std::time::Duration;

use clap::{Args, Subcommand};

use super::CommandResult;
use super::pipeline::wait::limit;
#[cfg(not(feature = "workflow"))]
use super::without_workflow::guard as workflow;
use crate::environment::Environment;

/// Check an event on standard input: exit 0 to allow it, 2 to block it
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
    /// Block dangerous commands in a tool's input: a download piped into a shell, `rm -rf`, `sudo`
    ///
    /// Checks every string in `tool_input`, and argument lists as a whole. Input that cannot be read
    /// is blocked.
    #[command(
        after_help = "Example: echo '{\"tool_input\": {\"run\": \"sudo reboot\"}}' | anyhook guard mcp"
    )]
    Mcp,
    /// Block a workflow's agents from starting before their turn
    ///
    /// Other agents start as usual.
    #[command(
        after_help = "Example: echo '{\"tool_name\": \"Subagent\", \"tool_input\": {\"subagent_type\": \"qa_engineer\"}}' | anyhook guard workflow"
    )]
    Workflow {
        /// Wait this long for a pending approval, through the daemon: 30s, 10m
        #[arg(long, value_name = "TIME", value_parser = limit)]
        wait: Option<Duration>,
    },
}

pub fn run(arguments: &GuardArgs, environment: &Environment) -> CommandResult {
    match arguments.command {
        GuardCommand::Mcp => Ok(mcp::run()),
        GuardCommand::Workflow { wait } => workflow::run(wait, environment),
    }
}

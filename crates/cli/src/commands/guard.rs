//! `anyhook guard`: guards that hooks are built from.

mod mcp;
mod native;
mod pack;
#[cfg(feature = "workflow")]
mod workflow;

use std::io::{self, Read};
use std::time::Duration;

use anyhook_guards::Guard;
use clap::{Args, Subcommand};

use serde_json::Value;

use super::CommandResult;
use super::pipeline::wait::limit;
#[cfg(not(feature = "workflow"))]
use super::without_workflow::guard as workflow;
use crate::environment::Environment;
use crate::progress::say_that_we_read;

/// The same limit as on the hook path.
const EVENT_LIMIT: u64 = 64 * 1024 * 1024;

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
    /// Find secrets in writes, commands, prompts and outputs (pack `secrets`)
    ///
    /// Options are in `metadata.options` of the hook's HOOK.md; by hand, there are the defaults.
    #[command(
        after_help = "Example: echo '{\"event_type\": \"before_agent\", \"prompt\": \"hello\"}' | anyhook guard secrets"
    )]
    Secrets,
    /// Make a checkpoint before a call that may change files (pack `checkpoint`)
    ///
    /// `anyhook undo` brings it back.
    #[command(
        after_help = "Example: echo '{\"event_type\": \"before_tool\", \"tool_name\": \"Shell\", \"tool_input\": {\"command\": \"make\"}}' | anyhook guard checkpoint"
    )]
    Checkpoint,
    /// Run the tests before the agent stops, if files changed (pack `tests-before-stop`)
    ///
    /// Options are in `metadata.options` of the hook's HOOK.md; by hand, there are the defaults.
    #[command(
        after_help = "Example: echo '{\"event_type\": \"before_stop\"}' | anyhook guard tests-before-stop"
    )]
    TestsBeforeStop,
    /// Format a file that was written (pack `format-on-write`)
    ///
    /// Options are in `metadata.options` of the hook's HOOK.md; by hand, there are the defaults.
    #[command(
        after_help = "Example: echo '{\"event_type\": \"after_tool\", \"tool_name\": \"WriteFile\", \"tool_input\": {\"path\": \"a.rs\"}}' | anyhook guard format-on-write"
    )]
    FormatOnWrite,
    /// Check a file that was written (pack `lint-on-write`)
    ///
    /// Options are in `metadata.options` of the hook's HOOK.md; by hand, there are the defaults.
    #[command(
        after_help = "Example: echo '{\"event_type\": \"after_tool\", \"tool_name\": \"WriteFile\", \"tool_input\": {\"path\": \"a.py\"}}' | anyhook guard lint-on-write"
    )]
    LintOnWrite,
    /// Limit the calls per minute, session and day (pack `rate-limit`)
    ///
    /// Options are in `metadata.options` of the hook's HOOK.md; by hand, there are the defaults.
    #[command(
        after_help = "Example: echo '{\"event_type\": \"before_tool\", \"tool_name\": \"Shell\"}' | anyhook guard rate-limit"
    )]
    RateLimit,
    /// Limit calls, time, tokens and cost (pack `budget`)
    ///
    /// Options are in `metadata.options` of the hook's HOOK.md; by hand, there are the defaults.
    #[command(
        after_help = "Example: echo '{\"event_type\": \"before_tool\", \"tool_name\": \"Shell\"}' | anyhook guard budget"
    )]
    Budget,
    /// Tell a new session about branch, changes and tasks (pack `context-on-start`)
    ///
    /// Options are in `metadata.options` of the hook's HOOK.md; by hand, there are the defaults.
    #[command(
        after_help = "Example: echo '{\"event_type\": \"session_start\"}' | anyhook guard context-on-start"
    )]
    ContextOnStart,
    /// Tell a person that an agent waits (pack `notify-when-waiting`)
    ///
    /// Options are in `metadata.options` of the hook's HOOK.md; by hand, there are the defaults.
    #[command(
        after_help = "Example: echo '{\"event_type\": \"notification\", \"message\": \"done\"}' | anyhook guard notify-when-waiting"
    )]
    NotifyWhenWaiting,
    /// Write a line for each prompt, tool call and stop (pack `session-log`)
    ///
    /// Options are in `metadata.options` of the hook's HOOK.md; by hand, there are the defaults.
    #[command(
        after_help = "Example: echo '{\"event_type\": \"before_agent\", \"prompt\": \"hello\"}' | anyhook guard session-log"
    )]
    SessionLog,
    /// Find personal data in writes, commands, prompts and outputs (pack `pii`)
    ///
    /// Options are in `metadata.options` of the hook's HOOK.md; by hand, there are the defaults.
    #[command(
        after_help = "Example: echo '{\"event_type\": \"before_agent\", \"prompt\": \"hello\"}' | anyhook guard pii"
    )]
    Pii,
    /// Run an imported hook: its agent's command, and what the agent makes of the answer
    ///
    /// The scripts that `anyhook import` writes call it, with the agent's own payload on standard
    /// input.
    #[command(after_help = "Example: anyhook import claude-code --dry-run")]
    Native,
}

impl GuardCommand {
    /// Returns the guard of a pack.
    fn of_pack(&self) -> Option<Guard> {
        Some(match self {
            Self::Mcp | Self::Native | Self::Workflow { .. } => return None,
            Self::Secrets => Guard::Secrets,
            Self::Checkpoint => Guard::Checkpoint,
            Self::TestsBeforeStop => Guard::TestsBeforeStop,
            Self::FormatOnWrite => Guard::FormatOnWrite,
            Self::LintOnWrite => Guard::LintOnWrite,
            Self::RateLimit => Guard::RateLimit,
            Self::Budget => Guard::Budget,
            Self::ContextOnStart => Guard::ContextOnStart,
            Self::NotifyWhenWaiting => Guard::NotifyWhenWaiting,
            Self::SessionLog => Guard::SessionLog,
            Self::Pii => Guard::Pii,
        })
    }
}

pub fn run(arguments: &GuardArgs, environment: &Environment) -> CommandResult {
    match (&arguments.command, arguments.command.of_pack()) {
        (GuardCommand::Workflow { wait }, _) => workflow::run(*wait, environment),
        (GuardCommand::Native, _) => native::run(),
        (_, Some(guard)) => pack::run(guard, environment),
        (_, None) => Ok(mcp::run()),
    }
}

/// Reads the event on standard input.
fn read_event() -> Result<Value, String> {
    say_that_we_read("the event");
    let mut event = Vec::new();
    io::stdin()
        .lock()
        .take(EVENT_LIMIT + 1)
        .read_to_end(&mut event)
        .map_err(|error| format!("the event cannot be read: {error}"))?;
    if event.len() as u64 > EVENT_LIMIT {
        return Err(format!("the event is larger than {} MB", EVENT_LIMIT / 1024 / 1024));
    }
    if event.trim_ascii().is_empty() {
        return Err("there is no event on standard input".to_owned());
    }
    serde_json::from_slice(&event)
        .map_err(|error| format!("the event cannot be read as JSON: {error}"))
}

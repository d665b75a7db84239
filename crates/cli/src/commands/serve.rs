//! `anyhook serve --stdio`: one process for many events, for programs in any language.

use anyhook_model::exit_code;
use clap::Args;

use super::CommandResult;
use crate::environment::Environment;
use crate::progress::say_that_we_read;

/// Decide many events in one process: JSON lines in, verdicts as JSON lines out
///
/// For programs in any language: no process is started per event, only for hooks that run. Many
/// requests may be in flight; answers arrive as they are ready, each with its request's id. Exits
/// at the end of standard input, once everything is answered.
#[derive(Args)]
#[command(
    after_help = "Example: echo '{\"id\": 1, \"event\": {\"event_type\": \"before_tool\", \"tool_name\": \"Shell\", \"tool_input\": {\"command\": \"ls\"}}}' | anyhook serve"
)]
pub struct ServeArgs {
    /// Speak through standard input and output; there is no other way, so it need not be given
    #[arg(long)]
    stdio: bool,
    /// How many events to decide at once; default: 4 per processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

pub fn run(arguments: &ServeArgs, environment: &Environment) -> CommandResult {
    if !arguments.stdio {
        say_that_we_read("requests, a line of JSON each,");
    }
    anyhook_serve::serve_stdio(arguments.jobs, environment)?;
    Ok(exit_code::OK)
}

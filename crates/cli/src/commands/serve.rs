//! `anyhook serve --stdio`: one process for many events, for programs in any language.

use anyhook_model::exit_code;
use clap::Args;

use super::Ended;
use crate::environment::Environment;
use crate::progress::say_that_we_read;

/// Decide many events in one process: JSON lines in, verdicts as JSON lines out
///
/// For programs in any language: no process is started for an event, only for hooks that run. Many
/// requests may be in flight; answers come as they are ready, each with its request's id. The end
/// of standard input ends it, when all is answered.
#[derive(Args)]
#[command(
    after_help = "Example: echo '{\"id\": 1, \"event\": {\"event_type\": \"before_tool\", \"tool_name\": \"Shell\", \"tool_input\": {\"command\": \"ls\"}}}' | anyhook serve"
)]
pub struct ServeArgs {
    /// Speak through standard input and output; there is no other way, so it need not be given
    #[arg(long)]
    stdio: bool,
    /// So many events are decided at once; 4 for each processor if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

pub fn run(arguments: &ServeArgs, environment: &Environment) -> Ended {
    if !arguments.stdio {
        say_that_we_read("requests, a line of JSON each,");
    }
    anyhook_serve::serve_stdio(arguments.jobs, environment)?;
    Ok(exit_code::OK)
}

//! `anyhook top`: shows all agents live.

use std::io;

use anstream::{AutoStream, ColorChoice};
use anyhook_engine::now;
use anyhook_model::exit_code;
use anyhook_top::Top;
use clap::Args;

use super::CommandResult;
use crate::daemon::folder;
use crate::environment::{Environment, shown, user_name};
use crate::error::CommandError;
use crate::time_arg::TimeArg;

/// Watch all agents live: sessions, verdicts, slow and failing hooks
///
/// If the daemon is running, it also shows pipelines and the decisions waiting for you, which you
/// can answer here; press `?` for the keys.
#[derive(Args)]
#[command(after_help = "Example: anyhook top --since 8h")]
pub struct TopArgs {
    /// Start with records since: how long ago (30m, 8h, 7d), or a time
    #[arg(long, value_name = "WHEN", default_value = "1h")]
    since: TimeArg,
}

pub fn run(arguments: &TopArgs, environment: &Environment) -> CommandResult {
    let journal = environment.journal().ok_or_else(CommandError::no_journal)?;
    let top = Top {
        shown_path: shown(journal.folder(), &environment.places),
        journal,
        since: arguments.since.moment(now()),
        daemon: folder(&environment.places)?,
        person: user_name(),
        places: environment.places.clone(),
        colours: AutoStream::choice(&io::stdout()) != ColorChoice::Never,
    };
    top.run().map_err(|error| {
        CommandError::usage(format!("`anyhook top` needs a terminal: {error}"))
            .hint("anyhook log -f")
    })?;
    Ok(exit_code::OK)
}

//! `anyhook top`: shows all agents live.

use std::io;

use anstream::{AutoStream, ColorChoice};
use anyhook_engine::journal::Journal;
use anyhook_engine::{Places, now};
use anyhook_model::pipeline::PipelineView;
use anyhook_model::{ApprovalRequest, Record, exit_code};
use anyhook_top::{Pages, Top};
use clap::Args;

use super::CommandResult;
use super::log::trace::{self, Trace};
use super::pipeline::page;
use crate::daemon::folder;
use crate::environment::{Environment, shown, user_name};
use crate::error::CommandError;
use crate::time_arg::TimeArg;
use crate::ui::StyledLine;

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
        journal: journal.clone(),
        shown_path: shown(journal.folder(), &environment.places),
        since: arguments.since.moment(now()),
        daemon: folder(&environment.places)?,
        person: user_name(),
        colours: AutoStream::choice(&io::stdout()) != ColorChoice::Never,
    };
    let pages = CommandPages { journal: &journal, places: &environment.places };
    top.run(&pages).map_err(|error| {
        CommandError::usage(format!("`anyhook top` needs a terminal: {error}"))
            .hint("anyhook log -f")
    })?;
    Ok(exit_code::OK)
}

/// The pages that `log show` and `pipeline show` print.
struct CommandPages<'given> {
    journal: &'given Journal,
    places: &'given Places,
}

impl Pages for CommandPages<'_> {
    fn record(&self, record: Record, family: Vec<Record>) -> Vec<StyledLine> {
        trace::lines(&Trace::new(self.journal, record, family))
    }

    fn pipeline(&self, pipeline: &PipelineView, asks: Option<&ApprovalRequest>) -> Vec<StyledLine> {
        page::lines(pipeline, asks, now(), self.places)
    }
}

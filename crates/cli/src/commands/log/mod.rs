//! `anyhook log`: reads the journal.

pub mod filter;
pub mod last;
pub mod show;

use std::io;
use std::time::Duration;

use anyhook_engine::journal::{Follower, Journal};
use anyhook_engine::now;
use anyhook_model::json::to_spaced;
use anyhook_model::{Record, exit_code};
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;

use self::filter::RecordFilter;
use self::last::LastRecords;
use super::CommandResult;
use crate::environment::{Environment, line_width};
use crate::error::CommandError;
use crate::pages;
use crate::paging::PagerArgs;
use crate::ui::zone::{self};
use crate::ui::{Out, Tone, counted};

/// How often `-f` checks for new records.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Read the journal: what happened, which hook decided, why, and how long it took
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example: anyhook log --verdict deny --since 7d\n         anyhook log show 7k2m9x4q\n         anyhook log -f --json --resume shipper | …"
)]
pub struct LogArgs {
    #[command(subcommand)]
    command: Option<LogCommand>,
    #[command(flatten)]
    filter: RecordFilter,
    /// Follow: keep showing new records
    #[arg(short, long)]
    follow: bool,
    /// Show the last N records; 0 shows all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,
    /// Resume where the reader with this name stopped; unread records are never dropped
    #[arg(long, value_name = "NAME", conflicts_with_all = ["lines"])]
    resume: Option<String>,
    /// Show times in UTC, not by the local clock
    #[arg(long)]
    utc: bool,
    /// Print records as JSON lines; long texts are cut (`log show ID --json` has them in full)
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pager: PagerArgs,
}

#[derive(Subcommand)]
enum LogCommand {
    /// Show everything about one dispatch
    Show {
        /// The record's id, or the start of it
        id: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(arguments: &LogArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let journal = environment.journal().ok_or_else(CommandError::no_journal)?;
    if arguments.utc {
        zone::set(TimeZone::UTC);
    }
    if !arguments.follow {
        arguments.pager.start(out);
    }
    if let Some(LogCommand::Show { id, json }) = &arguments.command {
        return show::run(environment, &journal, id, *json, out);
    }
    let at_fault = |error: io::Error| CommandError::at(journal.folder(), error);
    let follower = match &arguments.resume {
        Some(name) => {
            if name.is_empty() || name.contains(['/', '\0']) || name.starts_with('.') {
                return Err(CommandError::usage(format!("`{name}` is not a valid reader name"))
                    .hint("use letters, digits and dashes"));
            }
            Some(Follower::named(&journal, name).map_err(at_fault)?)
        }
        None => {
            // Before reading, so that records written meanwhile are not missed. At worst they are
            // shown twice.
            let follower = arguments.follow.then(|| at_the_end(&journal)).transpose();
            show_last(&journal, arguments, out)?;
            follower.map_err(at_fault)?
        }
    };
    if let Some(follower) = follower {
        follow(follower, &journal, arguments, out)?;
    }
    Ok(exit_code::OK)
}

/// Shows the last matching records.
fn show_last(journal: &Journal, arguments: &LogArgs, out: &mut Out) -> Result<(), CommandError> {
    let most = if arguments.lines == 0 { usize::MAX } else { arguments.lines };
    let last = LastRecords::read(journal, &arguments.filter, most, None, &|| true)
        .map_err(|error| CommandError::at(journal.folder(), error))?;
    print(&last.records, arguments.json, out)?;
    if last.damaged > 0 {
        let lines = counted(last.damaged, "damaged line");
        let text = format!("{lines} in the journal skipped (run anyhook verify)");
        Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, &text)])?;
    }
    if last.records.is_empty() && !arguments.follow && !arguments.json {
        out.text("no records")?;
        arguments.filter.hint(out)?;
    }
    Ok(())
}

/// Returns a follower that starts at the end of the journal.
fn at_the_end(journal: &Journal) -> io::Result<Follower> {
    Follower::of_this_process(journal, journal.reader_at_end()?)
}

/// Shows new records until the person stops it.
fn follow(
    mut follower: Follower,
    journal: &Journal,
    arguments: &LogArgs,
    out: &mut Out,
) -> io::Result<()> {
    loop {
        let (mut new, now) = (Vec::new(), now());
        follower.read_on(&mut |record| {
            if arguments.filter.takes(&record, now, journal) {
                new.push(record);
            }
        })?;
        print(&new, arguments.json, out)?;
        // Flushed first, then marked as read: what was not shown is shown again.
        out.flush()?;
        follower.remember()?;
        if !arguments.follow {
            return Ok(());
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn print(records: &[Record], json: bool, out: &mut Out) -> io::Result<()> {
    if json {
        return records.iter().try_for_each(|record| out.text(&to_spaced(record)));
    }
    pages::records::print(records, line_width(), out)
}

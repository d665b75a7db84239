//! `anyhook log`: reads the journal.

mod filter;
mod show;
pub mod trace;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::Duration;

use anyhook_engine::journal::{Follower, Journal};
use anyhook_engine::now;
use anyhook_model::event::input_headline;
use anyhook_model::json::to_spaced;
use anyhook_model::{Alarm, AlarmKind, Record, exit_code};
use anyhook_terminal::states::verdict_word;
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;

use self::filter::RecordFilter;
use super::CommandResult;
use crate::environment::{Environment, line_width};
use crate::error::CommandError;
use crate::event_messages;
use crate::format::{self, milliseconds};
use crate::paging::PagerArgs;
use crate::ui::zone::{self, local};
use crate::ui::{Column, Out, Page, Tone, counted, first_line};

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
    let (last, damaged) = last_records(journal, arguments)
        .map_err(|error| CommandError::at(journal.folder(), error))?;
    print(&last, arguments.json, out)?;
    if damaged > 0 {
        let lines = counted(damaged, "damaged line");
        let text = format!("{lines} in the journal skipped (run anyhook verify)");
        Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, &text)])?;
    }
    if last.is_empty() && !arguments.follow && !arguments.json {
        out.text("no records")?;
        arguments.filter.hint(out)?;
    }
    Ok(())
}

/// Returns the last matching records, oldest first, and how many lines were not records.
///
/// Segments are read backwards from the newest, only as many as are needed.
fn last_records(journal: &Journal, arguments: &LogArgs) -> io::Result<(Vec<Record>, usize)> {
    let (now, mut damaged) = (now(), 0);
    let most = if arguments.lines == 0 { usize::MAX } else { arguments.lines };
    let first = match arguments.filter.since {
        Some(since) => journal.reader_since(since.moment(now))?.position().cloned(),
        None => None,
    };
    let mut found: VecDeque<Record> = VecDeque::new();
    for segment in journal.segments()?.into_iter().rev() {
        let is_before = first.as_ref().is_some_and(|first| segment < first.segment);
        if is_before || found.len() >= most {
            break;
        }
        let mut of_segment = VecDeque::new();
        damaged += journal.read_segment(&segment, &mut |record| {
            if arguments.filter.takes(&record, now, journal) {
                of_segment.push_back(record);
                if of_segment.len() > most {
                    of_segment.pop_front();
                }
            }
        })?;
        while found.len() < most {
            let Some(record) = of_segment.pop_back() else { break };
            found.push_front(record);
        }
    }
    Ok((found.into(), damaged))
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
    print_table(records, out)
}

/// Prints a line for each record, at most as wide as the terminal.
pub fn print_table(records: &[Record], out: &mut Out) -> io::Result<()> {
    let width = line_width();
    let today = local(now()).date();
    let is_of_today = |record: &Record| local(record.at).date() == today;
    // On a terminal the date would take space from the command, and today's is known.
    let time = if width < usize::MAX && records.iter().all(is_of_today) {
        format::time_of_day
    } else {
        format::second
    };
    let column = |cell: &dyn Fn(&Record) -> (Tone, String)| {
        Column::new("", records.iter().map(cell).collect::<Vec<_>>().into_iter())
    };
    Page::new(out, width).table(
        0,
        vec![
            column(&|record| (Tone::Dim, time(record.at))),
            column(&|record| (Tone::Plain, record.id.to_string())),
            column(&|record| (Tone::Dim, record.host.clone())).least(6).weight(5),
            column(&|record| (Tone::Dim, project(record))).least(6).weight(2),
            column(&|record| (Tone::Plain, first_line(&record.event.to_string(), 40)))
                .least(11)
                .weight(4),
            column(&|record| {
                let (tone, verdict) = verdict(record);
                (tone, verdict.to_owned())
            }),
            column(&|record| (Tone::Plain, who(record))).least(6).weight(3),
            column(&|record| (Tone::Dim, milliseconds(record.took_us))).weight(1),
            column(&|record| (Tone::Plain, first_line(&about(record), usize::MAX))).firm(20),
        ],
    )
}

/// Returns whether something bypassed a guard, or changed one.
fn is_alarming(alarms: &[Alarm]) -> bool {
    alarms.iter().any(|alarm| alarm.kind != AlarmKind::HooksOff)
}

/// Returns the verdict in a word; if no hook decided, what else was done.
fn verdict(record: &Record) -> (Tone, &'static str) {
    match record {
        Record { denied_by: Some(_), .. } => (Tone::Bad, "ALARM"),
        Record { alarms, .. } if is_alarming(alarms) && !record.verdict.is_block() => {
            (Tone::Bad, "ALARM")
        }
        Record { of: Some(_), .. } => (Tone::Dim, "async"),
        record => verdict_word(&record.verdict),
    }
}

/// Returns the name of the project's folder.
fn project(record: &Record) -> String {
    let folder = record.project_dir.as_deref().map(Path::new);
    let name = folder.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_default()
}

/// Returns the hook that decided, or those that ran.
fn who(record: &Record) -> String {
    let failed = record.runs.iter().filter(|run| run.failure.is_some()).count();
    let who = match (&record.verdict.by, record.runs.len()) {
        (Some(by), _) => by.clone(),
        (None, 0) => "–".to_owned(),
        (None, 1) => record.runs[0].hook.clone(),
        (None, many) => format!("{many} hooks"),
    };
    if failed > 0 { format!("{who} ({failed} failed)") } else { who }
}

/// Returns what the event was about: for a call that hooks changed, the changed call.
fn about(record: &Record) -> String {
    if let Some(event) = event_messages::from_record(record) {
        return event_messages::line(&event);
    }
    let changed = record.verdict.input.as_ref().filter(|_| !record.denies());
    let changed = changed.and_then(input_headline).map(Cow::into_owned);
    let about = changed.or_else(|| record.about.clone());
    [record.tool.clone(), about].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

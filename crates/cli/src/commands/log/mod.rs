//! `anyhook log`: read the journal.

mod filter;
mod show;
pub mod trace;

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use anyhook_engine::journal::{Follower, Journal};
use anyhook_engine::now;
use anyhook_model::json::to_spaced;
use anyhook_model::{Alarm, AlarmKind, Record, exit_code};
use clap::{Args, Subcommand};

use self::filter::Filter;
use super::Ended;
use crate::environment::Environment;
use crate::error::Trouble;
use crate::event_words;
use crate::figures::{milliseconds, second};
use crate::ui::{Cell, Out, Tone, counted, first_line};

/// How often `-f` looks for new records.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Read the journal: what came in, who decided, why, how long it took
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example: anyhook log --verdict deny --since 7d\n         anyhook log show 7k2m9x4q\n         anyhook log -f --json --resume shipper | …"
)]
pub struct LogArgs {
    #[command(subcommand)]
    command: Option<LogCommand>,
    #[command(flatten)]
    filter: Filter,
    /// Follow: keep showing what comes
    #[arg(short, long)]
    follow: bool,
    /// Show the last N records; all with 0
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,
    /// Go on where the reader of this name has stopped; nothing it has not read is dropped
    #[arg(long, value_name = "NAME", conflicts_with_all = ["lines"])]
    resume: Option<String>,
    /// Print records as JSON lines; of long texts the beginning (`log show ID --json` has them)
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum LogCommand {
    /// Show all that is known of one dispatch
    Show {
        /// The record's id, or the beginning of it
        id: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(arguments: &LogArgs, environment: &Environment, out: &mut Out) -> Ended {
    let journal = environment.journal().ok_or_else(Trouble::no_journal)?;
    if let Some(LogCommand::Show { id, json }) = &arguments.command {
        return show::run(environment, &journal, id, *json, out);
    }
    let at_fault = |error: io::Error| Trouble::at(journal.folder(), error);
    let follower = match &arguments.resume {
        Some(name) => {
            if name.is_empty() || name.contains(['/', '\0']) || name.starts_with('.') {
                return Err(Trouble::usage(format!("`{name}` cannot be a reader's name"))
                    .hint("letters, digits and dashes will do"));
            }
            Some(Follower::named(&journal, name).map_err(at_fault)?)
        }
        None => {
            // Before reading: what comes meanwhile is not missed. At worst it is shown twice.
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

/// Shows the last records that fit.
fn show_last(journal: &Journal, arguments: &LogArgs, out: &mut Out) -> Result<(), Trouble> {
    let (last, damaged) =
        last_records(journal, arguments).map_err(|error| Trouble::at(journal.folder(), error))?;
    print(&last, arguments.json, out)?;
    if damaged > 0 {
        let lines = counted(damaged, "damaged line");
        let text = format!("{lines} of the journal passed over (anyhook verify)");
        Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, &text)])?;
    }
    if last.is_empty() && !arguments.follow && !arguments.json {
        out.text("no records")?;
        arguments.filter.hint(out)?;
    }
    Ok(())
}

/// Returns the last records that fit, oldest first, and how many lines were no records.
///
/// Segments are read from the newest back, only as many as are needed.
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

/// Returns a follower that has read all there is.
fn at_the_end(journal: &Journal) -> io::Result<Follower> {
    Follower::of_this_process(journal, journal.reader_at_end()?)
}

/// Shows what comes, until the person has seen enough.
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
        // First out, then remembered: what was not seen comes again.
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

/// Prints a line for each record.
pub fn print_table(records: &[Record], out: &mut Out) -> io::Result<()> {
    let rows: Vec<Vec<Cell>> = records.iter().map(row).collect();
    out.table(&rows)
}

/// Tells whether something went past a guard, or changed one.
fn is_alarming(alarms: &[Alarm]) -> bool {
    alarms.iter().any(|alarm| alarm.kind != AlarmKind::HooksOff)
}

fn row(record: &Record) -> Vec<Cell> {
    let tone = match record.verdict.word() {
        "deny" => Tone::Bad,
        "ask" | "capped" => Tone::Warn,
        "allow" => Tone::Good,
        _ => Tone::Dim,
    };
    let (tone, verdict) = match record {
        Record { denied_by: Some(_), .. } => (Tone::Bad, "ALARM"),
        Record { alarms, .. } if is_alarming(alarms) && !record.verdict.is_block() => {
            (Tone::Bad, "ALARM")
        }
        Record { of: Some(_), .. } => (Tone::Dim, "aside"),
        _ => (tone, record.verdict.word()),
    };
    let failed = record.runs.iter().filter(|run| run.failure.is_some()).count();
    let who = match (&record.verdict.by, record.runs.len()) {
        (Some(by), _) => by.clone(),
        (None, 0) => "–".to_owned(),
        (None, 1) => record.runs[0].hook.clone(),
        (None, many) => format!("{many} hooks"),
    };
    let who = if failed > 0 { format!("{who} ({failed} failed)") } else { who };
    let about = match event_words::of_record(record) {
        Some(event) => event_words::line(&event),
        None => [record.tool.as_deref(), record.about.as_deref()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
    };
    vec![
        Cell::new(Tone::Dim, second(record.at)),
        Cell::new(Tone::Plain, record.id.as_str()),
        Cell::new(Tone::Plain, first_line(&record.event.to_string(), 40)),
        Cell::new(tone, verdict),
        Cell::new(Tone::Plain, who),
        Cell::new(Tone::Dim, milliseconds(record.took_us)),
        Cell::new(Tone::Plain, first_line(&about, 60)),
    ]
}

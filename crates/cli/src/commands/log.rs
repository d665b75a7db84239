//! `anyhook log`: read the journal.

use std::time::Duration;

use anyhook_engine::journal::{Journal, JournalReader};
use anyhook_engine::problem::nearest;
use anyhook_model::json::to_spaced;
use anyhook_model::{EventKind, Record, exit_code};
use clap::{Args, Subcommand};

use super::Ended;
use super::run::{milliseconds, said, show_verdict};
use crate::environment::Environment;
use crate::error::Trouble;
use crate::ui::{Cell, Out, Tone, counted, first_line};

/// How often `-f` looks for new records.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Read the journal: what came in, who decided, why, how long it took
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example: anyhook log --verdict deny\n         anyhook log show 7k2m9x4q"
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
    /// Print records as JSON lines
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

/// Which records are shown.
#[derive(Args)]
struct Filter {
    /// Records in which this hook had a turn
    #[arg(long, value_name = "NAME")]
    hook: Option<String>,
    /// Records of this event, in either spelling
    #[arg(long, value_name = "E")]
    event: Option<String>,
    /// Records of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Records with this verdict: deny, ask, allow, none, capped, or failed for a failed hook
    #[arg(long, value_name = "WORD")]
    verdict: Option<Verdicts>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Verdicts {
    #[value(alias = "block")]
    Deny,
    Ask,
    Allow,
    None,
    Capped,
    Failed,
}

impl Filter {
    /// Says so if an event was asked for that no agent is likely to send.
    fn hint(&self, out: &mut Out) -> std::io::Result<()> {
        let Some(event) = self.event.as_deref().filter(|name| EventKind::known(name).is_none())
        else {
            return Ok(());
        };
        match nearest(event, EventKind::all_names()) {
            Some(near) => {
                let text = format!("did you mean `--event {near}`?");
                out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, &text)])
            }
            None => Ok(()),
        }
    }

    fn takes(&self, record: &Record) -> bool {
        let verdict = |word: &Verdicts| match word {
            Verdicts::Deny => record.verdict.word() == "deny",
            Verdicts::Ask => record.verdict.word() == "ask",
            Verdicts::Allow => record.verdict.word() == "allow",
            Verdicts::None => record.verdict.word() == "none",
            Verdicts::Capped => record.verdict.capped,
            Verdicts::Failed => record.runs.iter().any(|run| run.failure.is_some()),
        };
        self.hook.as_ref().is_none_or(|hook| record.runs.iter().any(|run| run.hook == *hook))
            && self.event.as_ref().is_none_or(|event| record.event == EventKind::from_name(event))
            && self.session.as_ref().is_none_or(|session| record.session.as_ref() == Some(session))
            && self.verdict.as_ref().is_none_or(verdict)
    }
}

pub fn run(arguments: &LogArgs, environment: &Environment, out: &mut Out) -> Ended {
    let Some(state) = &environment.places.state else {
        return Err(Trouble::problem("there is no state folder, so no journal").hint("set HOME"));
    };
    let journal = Journal::new(state);
    if let Some(LogCommand::Show { id, json }) = &arguments.command {
        return show(&journal, id, *json, out);
    }
    let mut reader = journal.reader();
    let mut last = std::collections::VecDeque::new();
    reader
        .read_on(&mut |record| {
            if arguments.filter.takes(&record) {
                if arguments.lines > 0 && last.len() == arguments.lines {
                    last.pop_front();
                }
                last.push_back(record);
            }
        })
        .map_err(|error| Trouble::at(&state.join("journal"), error))?;
    print(last.make_contiguous(), arguments.json, out)?;
    if reader.damaged() > 0 {
        let lines = counted(reader.damaged(), "damaged line");
        let text = format!("{lines} of the journal passed over");
        Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, &text)])?;
    }
    if last.is_empty() && !arguments.follow && !arguments.json {
        out.text("no records")?;
        arguments.filter.hint(out)?;
    }
    if arguments.follow {
        follow(&mut reader, arguments, out)?;
    }
    Ok(exit_code::OK)
}

/// Shows what comes, until the person has seen enough.
fn follow(reader: &mut JournalReader, arguments: &LogArgs, out: &mut Out) -> std::io::Result<()> {
    loop {
        out.flush()?;
        std::thread::sleep(LOOK_EVERY);
        let mut new = Vec::new();
        reader.read_on(&mut |record| new.push(record))?;
        new.retain(|record| arguments.filter.takes(record));
        print(&new, arguments.json, out)?;
    }
}

fn print(records: &[Record], json: bool, out: &mut Out) -> std::io::Result<()> {
    if json {
        return records.iter().try_for_each(|record| out.text(&to_spaced(record)));
    }
    print_table(records, out)
}

/// Prints a line for each record.
pub fn print_table(records: &[Record], out: &mut Out) -> std::io::Result<()> {
    let rows: Vec<Vec<Cell>> = records.iter().map(row).collect();
    out.table(&rows)
}

fn row(record: &Record) -> Vec<Cell> {
    let tone = match record.verdict.word() {
        "deny" => Tone::Bad,
        "ask" | "capped" => Tone::Warn,
        "allow" => Tone::Good,
        _ => Tone::Dim,
    };
    let verdict = if record.of.is_some() { "aside" } else { record.verdict.word() };
    let failed = record.runs.iter().filter(|run| run.failure.is_some()).count();
    let who = match (&record.verdict.by, record.runs.len()) {
        (Some(by), _) => by.clone(),
        (None, 0) => "–".to_owned(),
        (None, 1) => record.runs[0].hook.clone(),
        (None, many) => format!("{many} hooks"),
    };
    let who = if failed > 0 { format!("{who} ({failed} failed)") } else { who };
    let about = [record.tool.as_deref(), record.about.as_deref()]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ");
    let time = record.at.to_string();
    vec![
        Cell::new(Tone::Dim, time.get(..19).unwrap_or(&time).replace('T', " ")),
        Cell::new(Tone::Plain, record.id.as_str()),
        Cell::new(Tone::Plain, first_line(&record.event.to_string(), 40)),
        Cell::new(tone, verdict),
        Cell::new(Tone::Plain, who),
        Cell::new(Tone::Dim, milliseconds(record.took_us)),
        Cell::new(Tone::Plain, first_line(&about, 60)),
    ]
}

fn show(journal: &Journal, id: &str, json: bool, out: &mut Out) -> Ended {
    let mut found: Vec<Record> = Vec::new();
    journal.reader().read_on(&mut |record| {
        let is_it = |of: &anyhook_model::RecordId| of.as_str().starts_with(id);
        if is_it(&record.id) || record.of.as_ref().is_some_and(is_it) {
            found.push(record);
        }
    })?;
    let named: Vec<&Record> =
        found.iter().filter(|record| record.id.as_str().starts_with(id)).collect();
    let record = match named[..] {
        [] => {
            return Err(
                Trouble::input(format!("no record `{id}`")).hint("`anyhook log` shows the ids")
            );
        }
        [record] => record,
        _ => {
            return Err(Trouble::input(format!("`{id}` begins {} ids", named.len()))
                .hint("give more letters"));
        }
    };
    if json {
        out.json(record)?;
        return Ok(exit_code::OK);
    }
    let later = found.iter().filter(|later| later.of.as_ref() == Some(&record.id));
    show_record(record, out)?;
    for later in later {
        let time = later.at.to_string();
        out.gap()?;
        out.line(&[(Tone::Strong, "later "), (Tone::Dim, &time)])?;
        show_turns(later, out)?;
    }
    Ok(exit_code::OK)
}

fn show_record(record: &Record, out: &mut Out) -> std::io::Result<()> {
    let mut field = |name: &str, value: &str| {
        out.line(&[(Tone::Hint, &format!("{name:<9}")), (Tone::Plain, value)])
    };
    field("record", record.id.as_str())?;
    if let Some(of) = &record.of {
        field("of", of.as_str())?;
    }
    field("at", &record.at.to_string())?;
    field("event", &record.event.to_string())?;
    field("host", &record.host)?;
    field("session", record.session.as_deref().unwrap_or("–"))?;
    field("work dir", &record.work_dir)?;
    field("project", record.project_dir.as_deref().unwrap_or("–"))?;
    if let Some(tool) = &record.tool {
        field("tool", tool)?;
    }
    if let Some(about) = &record.about {
        field("about", about)?;
    }
    field("took", &milliseconds(record.took_us))?;
    out.gap()?;
    show_turns(record, out)?;
    for skipped in &record.skipped {
        out.line(&[
            (Tone::Dim, "  – "),
            (Tone::Plain, &skipped.hook),
            (Tone::Dim, ": "),
            (Tone::Dim, &skipped.why.to_string()),
        ])?;
    }
    if record.other_events > 0 {
        out.line(&[(
            Tone::Dim,
            &format!("  – {} of other events", counted(record.other_events, "hook")),
        )])?;
    }
    for lost in &record.lost {
        out.line(&[
            (Tone::Warn, "  lost "),
            (Tone::Plain, &lost.what),
            (Tone::Dim, "; said instead: "),
            (Tone::Plain, &lost.instead),
        ])?;
    }
    if record.of.is_none() {
        out.gap()?;
        show_verdict(&anyhook_model::Verdict { id: None, ..record.verdict.clone() }, "", out)?;
    }
    Ok(())
}

fn show_turns(record: &Record, out: &mut Out) -> std::io::Result<()> {
    for (index, run) in record.runs.iter().enumerate() {
        let (tone, words) = said(run);
        let shadow = if run.shadow { " (shadow)" } else { "" };
        out.line(&[
            (Tone::Dim, &format!("  {}. ", index + 1)),
            (Tone::Strong, &run.hook),
            (Tone::Dim, shadow),
            (Tone::Plain, "  "),
            (tone, &words),
        ])?;
        let outcome = run
            .outcome
            .as_ref()
            .map_or_else(|| "did not come to run".to_owned(), ToString::to_string);
        out.line(&[(
            Tone::Dim,
            &format!("     {outcome}, {} · {}", milliseconds(run.took_us), run.folder),
        )])?;
        let mut detail = |name: &str, text: &str| {
            text.trim_end().lines().try_for_each(|line| {
                out.line(&[(Tone::Dim, &format!("     {name:<8}│ ")), (Tone::Plain, line)])
            })
        };
        detail("stdout", &run.stdout)?;
        detail("stderr", &run.stderr)?;
        if let Some(log) = &run.decision.log {
            detail("log", log)?;
        }
        if let Some(input) = &run.decision.modified_input {
            detail("input", &to_spaced(input))?;
        }
        if let Some(context) = &run.decision.additional_context {
            detail("context", context)?;
        }
        for note in &run.notes {
            detail("note", note)?;
        }
    }
    Ok(())
}

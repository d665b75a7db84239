//! `anyhook verify`: checks whether the journal is intact, whether every denial was heeded, and
//! whether the indexes match the hooks.

use anyhook_engine::alarms;
use anyhook_engine::index;
use anyhook_engine::journal::Journal;
use anyhook_model::exit_code;
use anyhook_model::report::{BrokenPlace, VerifyReport};
use clap::Args;

use super::CommandResult;
use crate::environment::{Environment, terminal_width};
use crate::error::CommandError;
use crate::progress::ProgressBar;
use crate::ui::{Out, Tone, counted};

/// At most this many items are named; `--json` has all.
const NAMED: usize = 10;

/// Verify the journal, that no denied call ran, and the hook indexes; exit 1 on problems
#[derive(Args)]
#[command(after_help = "Example: anyhook verify")]
pub struct VerifyArgs {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &VerifyArgs, environment: &Environment, out: &mut Out) -> CommandResult {
    let journal = environment.journal().ok_or_else(CommandError::no_journal)?;
    let mut report = verify(&journal)?;
    let disagreements = index::disagreements(&environment.places);
    report.indexes =
        disagreements.iter().map(|found| found.file.to_string_lossy().into_owned()).collect();
    if arguments.json {
        out.json(&report)?;
    } else {
        show(&report, out)?;
    }
    let is_good = report.whole && report.denied_but_ran.is_empty() && report.indexes.is_empty();
    Ok(if is_good { exit_code::OK } else { exit_code::PROBLEM })
}

fn verify(journal: &Journal) -> Result<VerifyReport, CommandError> {
    let at_fault = |error| CommandError::at(journal.folder(), error);
    let size = journal.size().map_err(at_fault)?;
    let mut progress = ProgressBar::new("verifying", size, terminal_width);
    journal.verify(&mut |done| progress.at(done)).map_err(at_fault)
}

fn show(report: &VerifyReport, out: &mut Out) -> std::io::Result<()> {
    let records = counted(usize::try_from(report.records).unwrap_or(usize::MAX), "record");
    let segments = counted(report.segments, "segment");
    let summary = format!("{records}, {segments}, {} sealed", report.sealed);
    match report.broken.first() {
        None => out.line(&[(Tone::Good, "journal intact: "), (Tone::Plain, &summary)])?,
        Some(first) => {
            out.line(&[(Tone::Bad, "broken: "), (Tone::Plain, &words(first))])?;
            for other in report.broken.iter().skip(1).take(NAMED) {
                out.line(&[(Tone::Dim, "  also: "), (Tone::Plain, &words(other))])?;
            }
            if report.broken.len() > NAMED + 1 {
                let rest = format!("  … and {} more (--json)", report.broken.len() - NAMED - 1);
                out.line(&[(Tone::Dim, &rest)])?;
            }
            out.line(&[(Tone::Plain, &summary)])?;
        }
    }
    let dropped = report.dropped as u64;
    for (count, one, many, more) in [
        (
            report.torn,
            "line ends",
            "lines end",
            "early: a writer was stopped, no complete record is lost",
        ),
        (report.unchecked, "record is", "records are", "in format 1, which has no checksums"),
        (report.redacted, "record", "records", "had secrets redacted"),
        (dropped, "segment was", "segments were", "dropped by age or to save space"),
    ] {
        if count > 0 {
            let words = if count == 1 { one } else { many };
            out.line(&[(Tone::Dim, &format!("  · {count} {words} {more}"))])?;
        }
    }
    for file in report.indexes.iter().take(NAMED) {
        let words = format!(
            "the index `{file}` does not match the hooks on disk: it was tampered with, or this is a bug (anyhook doctor removes it)"
        );
        out.line(&[(Tone::Bad, "ALARM "), (Tone::Plain, &words)])?;
    }
    for alarm in report.denied_but_ran.iter().rev().take(NAMED) {
        out.line(&[(Tone::Bad, "ALARM "), (Tone::Plain, &alarms::ran_anyway(alarm).text)])?;
    }
    if report.denied_but_ran.len() > NAMED {
        let rest = format!("  … and {} more (--json)", report.denied_but_ran.len() - NAMED);
        out.line(&[(Tone::Dim, &rest)])?;
    }
    if !report.denied_but_ran.is_empty() {
        let hint =
            "the agent ignored the denial: run anyhook doctor, and check the agent's version";
        out.line(&[(Tone::Hint, "hint: "), (Tone::Plain, hint)])?;
    }
    Ok(())
}

fn words(broken: &BrokenPlace) -> String {
    let line = broken.line.map_or_else(String::new, |line| format!(":{line}"));
    let offset = broken.offset.map_or_else(String::new, |offset| format!(" (byte {offset})"));
    format!("{}{line}{offset}: {}", broken.file, broken.why)
}

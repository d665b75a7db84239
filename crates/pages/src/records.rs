//! Records of the journal: a line for each.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use anyhook_engine::now;
use anyhook_model::event::input_headline;
use anyhook_model::{Alarm, AlarmKind, Record};
use anyhook_terminal::format::{self, milliseconds};
use anyhook_terminal::states::verdict_word;
use anyhook_terminal::zone::local;
use anyhook_terminal::{Column, Out, Page, Tone, first_line};

use crate::events;

/// Prints a line for each record, at most `width` wide.
pub fn print(records: &[Record], width: usize, out: &mut Out) -> io::Result<()> {
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
pub fn verdict(record: &Record) -> (Tone, &'static str) {
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
pub fn project(record: &Record) -> String {
    let folder = record.project_dir.as_deref().map(Path::new);
    let name = folder.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_default()
}

/// Returns the hook that decided, or those that ran.
pub fn who(record: &Record) -> String {
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
pub fn about(record: &Record) -> String {
    if let Some(event) = events::from_record(record) {
        return events::line(&event);
    }
    let changed = record.verdict.input.as_ref().filter(|_| !record.denies());
    let changed = changed.and_then(input_headline).map(Cow::into_owned);
    let about = changed.or_else(|| record.about.clone());
    let canary = record.is_canary().then(|| "(canary)".to_owned());
    [canary, record.tool.clone(), about].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

//! The content of the rows of each pane.

use anyhook_model::{EventKind, Record};
use jiff::{SignedDuration, Timestamp};

use crate::columns::{Column, number, words};
use crate::filter::short;
use crate::hooks::HookRow;
use crate::sessions::{Activity, SessionKey, SessionRow};
use anyhook_terminal::format::{brief, milliseconds, time_of_day};
use anyhook_terminal::states::verdict_word;
use anyhook_terminal::tidy;
use anyhook_terminal::{OwnedStyledText as Piece, StyledLine as Row};
use anyhook_terminal::{Tone, first_line};

/// A hook that takes longer, in microseconds, is slow.
const SLOW: u64 = 1_000_000;

/// The columns of the sessions.
pub const SESSIONS: [Column; 8] = [
    words("HOST", 10, 12, 7),
    words("SESSION", 12, 13, 4),
    words("PROJECT", 7, 20, 5),
    words("STATE", 13, 24, 9),
    words("LAST EVENT", 10, 18, 2),
    number("AGE", 4, 6),
    number("EVENTS", 6, 1),
    number("DENIED", 6, 3),
];

const TIME: Column = words("TIME", 8, 8, 7);
const EVENT: Column = words("EVENT", 11, 18, 6);
const VERDICT: Column = words("VERDICT", 7, 7, 9);
const WHO: Column = words("HOOK", 8, 24, 5);
const TOOK: Column = number("TOOK", 7, 3);
const ABOUT: Column = words("ABOUT", 10, usize::MAX, 8);

/// The columns of the records.
pub const STREAM: [Column; 6] = [TIME, EVENT, VERDICT, WHO, TOOK, ABOUT];

/// The columns of the records on wide screens.
pub const STREAM_WIDE: [Column; 8] =
    [TIME, words("HOST", 11, 12, 2), words("SESSION", 13, 13, 1), EVENT, VERDICT, WHO, TOOK, ABOUT];

/// The columns of the hooks.
pub const HOOKS: [Column; 6] = [
    words("HOOK", 10, 28, 9),
    number("RUNS", 6, 4),
    number("FAILED", 6, 8),
    number("TIMEOUTS", 8, 6),
    number("P95", 7, 7),
    words("LAST FAILURE", 12, usize::MAX, 5),
];

/// Returns the rows of a session: its own, and one for each subagent.
pub fn session(key: &SessionKey, session: &SessionRow, now: Timestamp) -> Vec<Row> {
    let id = key.id.as_deref().map_or_else(|| "–".to_owned(), |id| tidy(&short(id)));
    let last = session.project.rsplit('/').find(|part| !part.is_empty());
    let project = last.unwrap_or(if session.project.is_empty() { "–" } else { "/" });
    let denied = if session.denials > 0 { Tone::Bad } else { Tone::Dim };
    let mut main =
        vec![(Tone::Strong, tidy(&key.host)), (Tone::Plain, id), (Tone::Plain, tidy(project))];
    let silent = now.duration_since(session.last_at());
    main.extend(activity(session.doing().words(silent), session.main.event.as_ref(), silent));
    main.push((Tone::Plain, session.events.to_string()));
    main.push((denied, session.denials.to_string()));
    let subagent = |(id, agent): &(String, Activity)| {
        let mut row = vec![
            (Tone::Dim, "└ subagent".to_owned()),
            (Tone::Dim, tidy(&short(id))),
            (Tone::Plain, String::new()),
        ];
        let silent = now.duration_since(agent.at);
        let done = || (Tone::Dim, "stopped".to_owned());
        let words = if agent.is_done { done() } else { agent.doing.words(silent) };
        row.extend(activity(words, agent.event.as_ref(), silent));
        row
    };
    std::iter::once(main).chain(session.agents.iter().map(subagent)).collect()
}

fn activity((tone, state): Piece, last: Option<&EventKind>, silent: SignedDuration) -> Row {
    let last = last.map_or_else(|| "–".to_owned(), event);
    vec![(tone, tidy(&state)), (Tone::Plain, last), (Tone::Dim, age(silent))]
}

/// Returns the row of a record, as in `anyhook log`.
pub fn record(record: &Record, is_wide: bool) -> Row {
    let failed = record.runs.iter().filter(|run| run.failure.is_some()).count();
    let who = match (&record.verdict.by, &record.runs[..]) {
        (Some(by), _) => by.clone(),
        (None, []) => "–".to_owned(),
        (None, [run]) => run.hook.clone(),
        (None, runs) => format!("{} hooks", runs.len()),
    };
    let who = if failed > 0 { format!("{who} ({failed} failed)") } else { who };
    let about = [record.tool.as_deref(), record.about.as_deref()];
    let about = about.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let session = record.session.as_deref().map(short).unwrap_or_default();
    let mut row = vec![(Tone::Dim, time_of_day(record.at))];
    if is_wide {
        row.extend([(Tone::Dim, tidy(&record.host)), (Tone::Dim, tidy(&session))]);
    }
    row.extend([
        (Tone::Plain, event(&record.event)),
        verdict(record),
        (if failed > 0 { Tone::Warn } else { Tone::Plain }, tidy(&who)),
        (Tone::Dim, milliseconds(record.took_us)),
        (Tone::Plain, tidy(&first_line(&about, 400))),
    ]);
    row
}

fn verdict(record: &Record) -> (Tone, String) {
    let (tone, word) = match record {
        Record { denied_by: Some(_), .. } => (Tone::Bad, "ran"),
        Record { of: Some(_), .. } => (Tone::Dim, "async"),
        record => verdict_word(&record.verdict),
    };
    (tone, word.to_owned())
}

/// Returns the row of a hook.
pub fn hook(name: &str, hook: &HookRow, now: Timestamp) -> Row {
    let bad = |number: usize| if number > 0 { Tone::Bad } else { Tone::Dim };
    let slow = if hook.percentile_95() >= SLOW { Tone::Warn } else { Tone::Plain };
    let last = hook.last_failure.as_ref().map_or_else(String::new, |(at, why)| {
        format!("{}: {}", ago(now.duration_since(*at)), tidy(&first_line(why, 400)))
    });
    vec![
        (Tone::Strong, tidy(name)),
        (Tone::Plain, hook.runs.to_string()),
        (bad(hook.failures), hook.failures.to_string()),
        (bad(hook.timeouts), hook.timeouts.to_string()),
        (slow, milliseconds(hook.percentile_95())),
        (Tone::Plain, last),
    ]
}

fn event(event: &EventKind) -> String {
    tidy(&first_line(&event.to_string(), 40))
}

/// Returns how long ago something was, in at most four characters.
pub fn age(long: SignedDuration) -> String {
    // The clock may be behind.
    if long.as_secs() < 1 { "now".to_owned() } else { brief(long) }
}

/// Returns the same in a sentence.
pub fn ago(long: SignedDuration) -> String {
    match age(long) {
        now if long.as_secs() < 1 => now,
        age => format!("{age} ago"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages() {
        for (seconds, expected) in [
            (-5, "now"),
            (0, "now"),
            (59, "59s"),
            (119, "119s"),
            (120, "2m"),
            (7_199, "119m"),
            (7_200, "2h"),
            (900_000, "10d"),
        ] {
            assert_eq!(age(SignedDuration::from_secs(seconds)), expected);
        }
    }
}

//! Downtimes of the daemon, described for a person who looks at states.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhook_engine::now;
use anyhook_model::daemon::{DownCause, Downtime, StartedBy};
use jiff::SignedDuration;

use crate::daemon::folder;
use crate::environment::Environment;
use crate::format::{brief, second};
use crate::ui::{Out, Tone};

/// A shorter downtime is not worth a line in every list: the journal has been read since.
const SHORT: SignedDuration = SignedDuration::from_secs(10);
/// Neither is one that ended longer ago than this.
const LONG_AGO: SignedDuration = SignedDuration::from_hours(24);

/// Whether this command has started the daemon.
static STARTED: AtomicBool = AtomicBool::new(false);

/// Remembers that this command starts the daemon.
pub fn note_start() {
    STARTED.store(true, Ordering::Relaxed);
}

/// Returns the last downtime of the daemon, if it matters to a person who looks at states: the
/// daemon was killed, and was gone for a while unless this command started it again; or it was
/// stopped, was gone for a while, and this command started it again.
pub fn news(environment: &Environment) -> Option<Downtime> {
    news_and_words(environment).map(|(down, _)| down)
}

/// Reports it on standard error.
pub fn tell(environment: &Environment) {
    if let Some((_, words)) = news_and_words(environment) {
        note(&words);
    }
}

fn news_and_words(environment: &Environment) -> Option<(Downtime, String)> {
    let (life, _) = folder(&environment.places).ok()?.read_life()?;
    let down = life.down?;
    let is_long = is_long(&down);
    let was_killed = down.cause == DownCause::Killed;
    if STARTED.load(Ordering::Relaxed) {
        let words = sentence(&down, "this command");
        return is_unexpected(&down).then_some((down, words));
    }
    let is_news = was_killed && is_long && now().duration_since(down.to) < LONG_AGO;
    is_news.then(|| {
        let words = sentence(&down, who(life.started_by));
        (down, words)
    })
}

fn is_long(down: &Downtime) -> bool {
    down.to.duration_since(down.from) >= SHORT
}

/// Returns whether a downtime is more than a stop that someone asked for, and a start soon after.
pub fn is_unexpected(down: &Downtime) -> bool {
    down.cause == DownCause::Killed || is_long(down)
}

fn sentence(down: &Downtime, who: &str) -> String {
    let (from, to) = (second(down.from), second(down.to));
    let long = down.to.duration_since(down.from);
    let long = if long.as_secs() < 1 { "a moment".to_owned() } else { brief(long) };
    let cause = match down.cause {
        DownCause::Killed => "was killed or crashed",
        DownCause::Stopped => "was stopped",
        DownCause::Ended => "exited cleanly",
    };
    format!(
        "the daemon was down for {long}, from {from} to {to}: it {cause}, and {who} restarted it"
    )
}

/// Returns a downtime as a value in a table.
pub fn words(down: &Downtime, by: StartedBy) -> String {
    let sentence = sentence(down, who(by));
    sentence.trim_start_matches("the daemon was down ").to_owned()
}

fn who(by: StartedBy) -> &'static str {
    match by {
        StartedBy::Command => "a command",
        StartedBy::Hook => "an agent's event",
        StartedBy::Keeper => "the end of a pipeline's command or agent",
        StartedBy::Service => "the service manager",
    }
}

/// Returns since when the daemon has not been running, in words; `None` if it has never run. For a
/// daemon that does not run.
pub fn down_since(environment: &Environment) -> Option<String> {
    let folder = folder(&environment.places).ok()?;
    let (life, seen) = folder.read_life()?;
    let since = life.ended.unwrap_or(seen);
    let how = match life.ended {
        None => "it was killed or crashed, and was last seen",
        Some(_) if folder.is_stopped() => "it was stopped",
        Some(_) => "it exited cleanly",
    };
    let long = brief(now().duration_since(since));
    Some(format!("{how} at {}, {long} ago", second(since)))
}

/// Reports on standard error since when the daemon has not been running.
pub fn tell_down_since(environment: &Environment) {
    if let Some(words) = down_since(environment) {
        note(&words);
    }
}

fn note(words: &str) {
    let _ = Out::stderr().line(&[(Tone::Hint, "note: "), (Tone::Plain, words)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences() {
        let down = |cause| Downtime {
            from: "2026-11-17T10:00:00.5Z".parse().unwrap(),
            to: "2026-11-17T10:05:00Z".parse().unwrap(),
            cause,
        };
        assert_eq!(
            sentence(&down(DownCause::Killed), "this command"),
            "the daemon was down for 4m, from 2026-11-17 10:00:00 to 2026-11-17 10:05:00: it was killed or crashed, and this command restarted it"
        );
        assert_eq!(
            words(&down(DownCause::Stopped), StartedBy::Service),
            "for 4m, from 2026-11-17 10:00:00 to 2026-11-17 10:05:00: it was stopped, and the service manager restarted it"
        );
    }
}

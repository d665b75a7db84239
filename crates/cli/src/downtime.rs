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

/// Returns the last downtime of the daemon, if it matters to a person who looks at states: this
/// command ended it, or the daemon was killed and was gone for a while.
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
    if STARTED.load(Ordering::Relaxed) {
        let words = sentence(&down, "this command");
        return Some((down, words));
    }
    let is_news = down.cause == DownCause::Killed
        && down.to.duration_since(down.from) >= SHORT
        && now().duration_since(down.to) < LONG_AGO;
    is_news.then(|| {
        let words = sentence(&down, who(life.started_by));
        (down, words)
    })
}

fn sentence(down: &Downtime, who: &str) -> String {
    let (from, to) = (second(down.from), second(down.to));
    let long = brief(down.to.duration_since(down.from));
    let cause = match down.cause {
        DownCause::Killed => "killed or crashed",
        DownCause::Stopped => "stopped",
        DownCause::Ended => "exited cleanly",
    };
    format!("the daemon was down from {from} to {to} ({long}; {cause}): restarted by {who}")
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
    let cause = match life.ended {
        None => "it was killed or crashed",
        Some(_) if folder.is_stopped() => "it was stopped",
        Some(_) => "it exited cleanly",
    };
    let long = brief(now().duration_since(since));
    Some(format!("it has been down since {} ({long}): {cause}", second(since)))
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
            "the daemon was down from 2026-11-17 10:00:00 to 2026-11-17 10:05:00 (4m; killed or crashed): restarted by this command"
        );
        assert_eq!(
            words(&down(DownCause::Stopped), StartedBy::Service),
            "from 2026-11-17 10:00:00 to 2026-11-17 10:05:00 (4m; stopped): restarted by the service manager"
        );
    }
}

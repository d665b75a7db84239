//! Downtimes of the daemon, described for a person who looks at states.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhook_engine::now;
use anyhook_model::daemon::{DownCause, Downtime};
use anyhook_pages::downtime;
use jiff::SignedDuration;

use crate::daemon::folder;
use crate::environment::Environment;
use crate::format::{brief, second};
use crate::ui::{Out, Tone};

/// A downtime that ended longer ago than this is no news.
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
    let is_long = downtime::is_long(&down);
    let was_killed = down.cause == DownCause::Killed;
    if STARTED.load(Ordering::Relaxed) {
        let words = downtime::sentence(&down, "this command");
        return downtime::is_unexpected(&down).then_some((down, words));
    }
    let is_news = was_killed && is_long && now().duration_since(down.to) < LONG_AGO;
    is_news.then(|| {
        let words = downtime::sentence(&down, downtime::who(life.started_by));
        (down, words)
    })
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

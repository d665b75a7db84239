//! Downtimes of the daemon in words.

use anyhook_model::daemon::{DownCause, Downtime, StartedBy};
use anyhook_terminal::format::{brief, second};
use jiff::SignedDuration;

/// A shorter downtime is not worth a line in every list.
const SHORT: SignedDuration = SignedDuration::from_secs(10);

/// Returns whether a downtime is worth a line: the journal has been read since a shorter one.
pub fn is_long(down: &Downtime) -> bool {
    down.to.duration_since(down.from) >= SHORT
}

/// Returns whether a downtime is more than a stop that someone asked for, and a start soon after.
pub fn is_unexpected(down: &Downtime) -> bool {
    down.cause == DownCause::Killed || is_long(down)
}

/// Returns a downtime as a sentence.
pub fn sentence(down: &Downtime, who: &str) -> String {
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

/// Returns what has started the daemon.
pub fn who(by: StartedBy) -> &'static str {
    match by {
        StartedBy::Command => "a command",
        StartedBy::Hook => "an agent's event",
        StartedBy::Keeper => "the end of a pipeline's command or agent",
        StartedBy::Service => "the service manager",
    }
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

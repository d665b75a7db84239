//! Times on the command line: how long ago (`2h`, `7d`), a day (`2026-01-31`), or a moment.

use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};

use crate::zone;

/// A moment, or how long ago it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeArg {
    /// This long ago.
    Ago(SignedDuration),
    /// At this time.
    At(Timestamp),
    /// A time in the person's time zone.
    Clock(DateTime),
}

impl TimeArg {
    /// Returns the point in time.
    pub fn moment(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(long) => now.checked_sub(long).unwrap_or(Timestamp::MIN),
            Self::At(moment) => moment,
            Self::Clock(clock) => zone::moment(clock).unwrap_or(Timestamp::MIN),
        }
    }
}

impl FromStr for TimeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(moment) = text.parse() {
            return Ok(Self::At(moment));
        }
        // A day stands for its start.
        if let Ok(clock) = text.parse() {
            return Ok(Self::Clock(clock));
        }
        let long = text
            .parse::<Span>()
            .and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()))
            .ok()
            .filter(|long| !long.is_negative());
        long.map(Self::Ago).ok_or_else(|| {
            "expected a duration (30m, 2h, 7d) or a time (2026-01-31, 2026-01-31T09:00:00Z)"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_say_it() {
        let now: Timestamp = "2026-01-31T12:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("30m", "2026-01-31T11:30:00Z"),
            ("2h", "2026-01-31T10:00:00Z"),
            ("7d", "2026-01-24T12:00:00Z"),
            ("1w", "2026-01-24T12:00:00Z"),
            ("1h 30m", "2026-01-31T10:30:00Z"),
            ("2026-01-02", "2026-01-02T00:00:00Z"),
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05+01:00", "2026-01-02T02:04:05Z"),
            ("2026-01-02T03:04", "2026-01-02T03:04:00Z"),
        ] {
            let moment = text.parse::<TimeArg>().unwrap().moment(now);
            assert_eq!(moment.to_string(), expected, "{text}");
        }
        for text in ["", "yesterday", "-2h", "2", "2026-13-01"] {
            assert!(text.parse::<TimeArg>().is_err(), "{text}");
        }
        let long_ago = "90000d".parse::<TimeArg>();
        assert!(long_ago.is_err() || long_ago.unwrap().moment(now) < now);
    }
}

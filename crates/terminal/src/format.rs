//! Formats numbers, durations and times for people.

use jiff::{SignedDuration, Timestamp};

use crate::zone::local;

/// Returns a number with thousands separators: `12,345`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number with its noun: `1 run`, `2,310 runs`.
pub fn many(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", thousands(number))
}

/// Returns a duration in the unit that suits it: `512 µs`, `1.2 ms`, `3.4 s`, `2.5 min`.
#[expect(clippy::cast_precision_loss, reason = "shown with one digit after the point")]
pub fn span(microseconds: u64) -> String {
    let in_units = |unit: f64| microseconds as f64 / unit;
    match microseconds {
        0..1_000 => format!("{microseconds} µs"),
        1_000..10_000 => format!("{:.1} ms", in_units(1e3)),
        10_000..1_000_000 => format!("{} ms", microseconds / 1_000),
        1_000_000..60_000_000 => format!("{:.1} s", in_units(1e6)),
        60_000_000..3_600_000_000 => format!("{:.1} min", in_units(6e7)),
        _ => format!("{:.1} h", in_units(3.6e9)),
    }
}

/// Returns how long ago something was: `5s`, `3m`, `2h`, `4d`.
pub fn age(since: Timestamp, now: Timestamp) -> String {
    brief(now.duration_since(since))
}

/// Returns a duration in milliseconds, or in seconds from one second on; empty for zero.
#[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
pub fn milliseconds(microseconds: u64) -> String {
    match microseconds {
        0 => String::new(),
        1..10_000 => format!("{:.1} ms", microseconds as f64 / 1e3),
        10_000..1_000_000 => format!("{} ms", microseconds / 1000),
        _ => format!("{:.1} s", microseconds as f64 / 1e6),
    }
}

/// Returns a duration in one unit, as short as possible: `5s`, `3m`, `2h`, `4d`.
pub fn brief(long: SignedDuration) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    // A unit is used from two of it on: "1m" would be anything from 60 to 119 seconds.
    match long.as_secs().max(0) {
        seconds if seconds < 2 * MINUTE => format!("{seconds}s"),
        seconds if seconds < 2 * HOUR => format!("{}m", seconds / MINUTE),
        seconds if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        seconds => format!("{}d", seconds / DAY),
    }
}

/// Returns the value that `percent` of the sorted values do not exceed; 0 if there are none.
pub fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

/// Returns a time to the second, in the person's time zone.
pub fn second(at: Timestamp) -> String {
    local(at).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Returns a time to the minute, in the person's time zone.
pub fn minute(at: Timestamp) -> String {
    local(at).strftime("%Y-%m-%d %H:%M").to_string()
}

/// Returns the time of day, in the person's time zone.
pub fn time_of_day(at: Timestamp) -> String {
    local(at).strftime("%H:%M:%S").to_string()
}

/// Returns how far apart two times are: `7 days`, `1.5 days`, `3 hours`, `5 s`.
#[expect(clippy::cast_precision_loss, reason = "shown with one digit after the point")]
pub fn apart(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.duration_since(from).as_secs().max(0);
    let (number, unit) = match seconds {
        0..60 => return format!("{seconds} s"),
        60..3_600 => (seconds as f64 / 60.0, "minute"),
        3_600..172_800 => (seconds as f64 / 3_600.0, "hour"),
        _ => (seconds as f64 / 86_400.0, "day"),
    };
    let number = format!("{number:.1}");
    let number = number.strip_suffix(".0").unwrap_or(&number);
    format!("{number} {unit}{}", if number == "1" { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (123_456, "123,456"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(thousands(number), expected);
        }
        assert_eq!((many(1, "run"), many(2_310, "run")), ("1 run".into(), "2,310 runs".into()));
    }

    #[test]
    fn durations() {
        for (microseconds, expected) in [
            (0, "0 µs"),
            (999, "999 µs"),
            (1_250, "1.2 ms"),
            (12_345, "12 ms"),
            (999_999, "999 ms"),
            (1_500_000, "1.5 s"),
            (90_000_000, "1.5 min"),
            (5_400_000_000, "1.5 h"),
        ] {
            assert_eq!(span(microseconds), expected);
        }
    }

    #[test]
    fn times() {
        let from: Timestamp = "2026-03-01T08:09:10.5Z".parse().unwrap();
        assert_eq!(second(from), "2026-03-01 08:09:10");
        assert_eq!(minute(from), "2026-03-01 08:09");
        for (hours, expected) in
            [(0, "0 s"), (1, "1 hour"), (36, "36 hours"), (60, "2.5 days"), (168, "7 days")]
        {
            let to = from + SignedDuration::from_hours(hours);
            assert_eq!(apart(from, to), expected);
        }
        for (seconds, expected) in [(5, "5 s"), (59, "59 s"), (60, "1 minute"), (90, "1.5 minutes")]
        {
            assert_eq!(apart(from, from + SignedDuration::from_secs(seconds)), expected);
        }
    }
}

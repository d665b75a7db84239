//! Retries: when to send a request again, and after which pause.

use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::RETRY_AFTER;
use jiff::Timestamp;

/// The pause before the first retry; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest pause, whatever a server asks for.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Returns whether a server that answers with this status may recover soon.
pub(super) fn is_passing(status: u16) -> bool {
    status == 429 || (500..600).contains(&status)
}

/// Returns how long to wait before the next attempt, after `tries` have failed.
pub(super) fn pause(tries: u32, asked_for: Option<Duration>) -> Duration {
    let doubling = 2_u32.saturating_pow(tries.saturating_sub(1));
    asked_for.unwrap_or(FIRST_PAUSE.saturating_mul(doubling)).min(LONGEST_PAUSE)
}

/// Reads how long a server asks to wait: seconds, or a date.
pub(super) fn asked_for(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    Some(date.duration_since(now).try_into().unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &str) -> HeaderMap {
        [(RETRY_AFTER, value.parse().unwrap())].into_iter().collect()
    }

    #[test]
    fn pauses_grow_and_are_bounded() {
        let milliseconds = |tries| pause(tries, None).as_millis();
        assert_eq!([1, 2, 3].map(milliseconds), [250, 500, 1000]);
        assert_eq!(pause(u32::MAX, None), LONGEST_PAUSE);
        assert_eq!(pause(1, Some(Duration::from_secs(3))), Duration::from_secs(3));
        assert_eq!(pause(1, Some(Duration::from_secs(3600))), LONGEST_PAUSE);
    }

    #[test]
    fn a_server_may_ask_for_a_pause() {
        let now: Timestamp = "2015-10-21T07:27:48Z".parse().unwrap();
        let asked = |value| asked_for(&headers(value), now);
        assert_eq!(asked("7"), Some(Duration::from_secs(7)));
        assert_eq!(asked("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::from_secs(12)));
        assert_eq!(asked("Wed, 21 Oct 2015 07:27:00 GMT"), Some(Duration::ZERO));
        assert_eq!(asked("soon"), None);
        assert_eq!(asked_for(&HeaderMap::new(), now), None);
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        assert_eq!([429, 500, 503, 599].map(is_passing), [true; 4]);
        assert_eq!([200, 307, 400, 401, 404, 600].map(is_passing), [false; 6]);
    }
}

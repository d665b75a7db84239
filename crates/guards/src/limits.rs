//! Limits: how many calls per minute, session and day (`rate-limit`), and what a session and a day
//! may cost (`budget`).
//!
//! Counting and deciding happen under one lock, so the figures are exact however many processes ask
//! at once. A denied call is not counted; one that a person is asked about is.

pub mod budget;
pub mod rate;

use crate::Place;
use crate::answer::Answer;
use crate::options::Action;

/// A warning comes when this share of a limit is used.
const WARN_AT: (u64, u64) = (4, 5);
/// At most this many sessions of a project are remembered.
const SESSIONS: usize = 500;

/// Returns the current day, in UTC.
fn day(place: &Place) -> String {
    place.now.strftime("%Y-%m-%d").to_string()
}

/// Returns the number at which a warning is due.
fn warning_at(limit: u64) -> u64 {
    (limit.saturating_mul(WARN_AT.0)).div_ceil(WARN_AT.1)
}

/// Refuses, or has a person decide.
fn refuse(action: Action, reason: String) -> Answer {
    match action {
        Action::Deny => Answer::deny(reason),
        Action::Ask => Answer::ask(reason),
    }
}

//! The time zone in which times are shown and read: UTC, unless the program has set another one.

use std::sync::{PoisonError, RwLock};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// One for the whole process: a person has one clock.
static ZONE: RwLock<TimeZone> = RwLock::new(TimeZone::UTC);

/// Shows and reads times in this zone from now on.
pub fn set(zone: TimeZone) {
    *ZONE.write().unwrap_or_else(PoisonError::into_inner) = zone;
}

fn zone() -> TimeZone {
    ZONE.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns a time in the zone.
pub fn local(at: Timestamp) -> Zoned {
    at.to_zoned(zone())
}

/// Returns the moment of a local time in the zone; a time that is skipped is the moment after the
/// gap.
pub fn moment(clock: DateTime) -> Option<Timestamp> {
    Some(clock.to_zoned(zone()).ok()?.timestamp())
}

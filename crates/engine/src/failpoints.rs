//! Failpoints: points at which a test may end the process as `kill -9` would.
//!
//! `ANYHOOK_FAULT=store.append.written` ends it the first time it reaches that point,
//! `ANYHOOK_FAULT=store.append.written:3` the third time. Only builds with debug assertions or the
//! feature `faults` read the variable: release builds have no such points. A crate that has points
//! lists them, and one of its tests compares the list with its sources.

/// Ends the process here if `ANYHOOK_FAULT` says so.
#[inline]
pub fn point(name: &str) {
    if is_due(name) {
        end();
    }
}

/// Returns whether the process is to end at this point, and counts the pass.
///
/// For a point in the middle of a system call: the caller does half of it and calls [`end`].
#[cfg(any(debug_assertions, feature = "faults"))]
pub fn is_due(name: &str) -> bool {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static FAULT: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSES: AtomicU64 = AtomicU64::new(0);

    let fault = FAULT.get_or_init(|| parse(&std::env::var("ANYHOOK_FAULT").ok()?));
    let Some((due, pass)) = fault else { return false };
    due == name && PASSES.fetch_add(1, Ordering::Relaxed) + 1 == *pass
}

/// Release builds have no failpoints.
#[cfg(not(any(debug_assertions, feature = "faults")))]
#[inline]
pub fn is_due(_name: &str) -> bool {
    false
}

/// Ends the process as `kill -9` would: no destructor runs, nothing is flushed.
pub fn end() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

/// Reads `NAME` or `NAME:PASS`.
#[cfg(any(debug_assertions, feature = "faults"))]
fn parse(text: &str) -> Option<(String, u64)> {
    match text.split_once(':') {
        Some((name, pass)) => Some((name.to_owned(), pass.parse().ok()?)),
        None => Some((text.to_owned(), 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_may_have_a_pass() {
        assert_eq!(parse("a.b"), Some(("a.b".to_owned(), 1)));
        assert_eq!(parse("a.b:3"), Some(("a.b".to_owned(), 3)));
        assert_eq!(parse("a.b:x"), None);
    }
}

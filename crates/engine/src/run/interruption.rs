//! Handles signals sent to us while a hook runs: INT, TERM and HUP end the hook first.
//!
//! A hook is in a process group of its own, so a signal to us does not reach it. Listening begins
//! with the first hook that is run: before that a signal has its default effect.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

/// The signals that ask a process to end.
const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Returns whether this process ignores a signal: a process started by `nohup` must not end with
/// its terminal.
pub type IsIgnored = fn(i32) -> bool;

/// Listens for signals that ask us to end.
#[derive(Debug)]
pub struct Interruption {
    /// The signal received, or 0.
    signal: Arc<AtomicUsize>,
    /// Becomes permanently readable once a signal is received.
    wake: UnixStream,
}

impl Interruption {
    /// Starts listening; `None` where the system does not allow it.
    pub fn listen(is_ignored: IsIgnored) -> Option<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        let heeded = heeded_signals(is_ignored);
        for number in &heeded {
            // The number first: the reader that is woken must find it.
            let value = usize::try_from(*number).unwrap_or_default();
            flag::register_usize(*number, Arc::clone(&signal), value).ok()?;
        }
        Some(Self { signal, wake: wake_on(&heeded)? })
    }

    /// Returns the signal received, if any.
    pub fn signal(&self) -> Option<i32> {
        i32::try_from(self.signal.load(Ordering::SeqCst)).ok().filter(|signal| *signal != 0)
    }
}

impl AsFd for Interruption {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// Returns a stream that becomes readable when a signal asks us to end.
pub fn wake_on_signals(is_ignored: IsIgnored) -> Option<UnixStream> {
    wake_on(&heeded_signals(is_ignored))
}

fn wake_on(signals: &[i32]) -> Option<UnixStream> {
    let (wake, signalled) = UnixStream::pair().ok()?;
    for number in signals {
        pipe::register(*number, signalled.try_clone().ok()?).ok()?;
    }
    Some(wake)
}

/// Returns the signals that are not ignored.
fn heeded_signals(is_ignored: IsIgnored) -> Vec<i32> {
    SIGNALS.into_iter().filter(|number| !is_ignored(*number)).collect()
}

/// Returns whether this process ignores a signal, according to the system's files. A program that
/// can ask the system directly does so, which is faster.
pub fn is_ignored(signal: i32) -> bool {
    let read = || -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    };
    read().is_some_and(|ignored| ignored & (1 << (signal - 1)) != 0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_of_ignored_signals_is_read() {
        // Rust programs ignore SIGPIPE, and none of these.
        assert!(is_ignored(signal_hook::consts::SIGPIPE));
        assert_eq!(heeded_signals(is_ignored), SIGNALS);
    }
}

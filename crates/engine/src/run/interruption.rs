//! Signals that are meant for us while a hook runs: INT, TERM and HUP end the hook first.
//!
//! A hook is in a process group of its own, so a signal to us does not reach it. Listening begins
//! with the first hook that is run: before that a signal does what it always does.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

/// The signals that ask a process to end.
const SIGNALS: [i32; 3] = [SIGHUP, SIGINT, SIGTERM];

/// Tells whether this process ignores a signal: what was started by `nohup` is not to end with its
/// terminal.
pub type IsIgnored = fn(i32) -> bool;

/// An ear for signals that ask us to end.
#[derive(Debug)]
pub struct Interruption {
    /// The signal that came, or 0.
    signal: Arc<AtomicUsize>,
    /// Readable, for good, once one came.
    wake: UnixStream,
}

impl Interruption {
    /// Begins to listen; nothing where the system does not let us.
    pub fn listen(is_ignored: IsIgnored) -> Option<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        let heeded = heeded_signals(is_ignored);
        for number in &heeded {
            // First the number: the reader that is woken finds it.
            let value = usize::try_from(*number).unwrap_or_default();
            flag::register_usize(*number, Arc::clone(&signal), value).ok()?;
        }
        Some(Self { signal, wake: wake_on(&heeded)? })
    }

    /// Returns the signal that came, if one did.
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

/// Tells whether this process ignores a signal, as far as the system's files tell. A program that
/// may ask the system itself does so: it is quicker.
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

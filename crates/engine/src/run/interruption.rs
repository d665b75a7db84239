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
    pub fn listen() -> Option<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        let heeded = heeded_signals();
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
pub fn wake_on_signals() -> Option<UnixStream> {
    wake_on(&heeded_signals())
}

fn wake_on(signals: &[i32]) -> Option<UnixStream> {
    let (wake, signalled) = UnixStream::pair().ok()?;
    for number in signals {
        pipe::register(*number, signalled.try_clone().ok()?).ok()?;
    }
    Some(wake)
}

/// Returns the signals that are not ignored: what was started by `nohup` is not to end with its
/// terminal.
fn heeded_signals() -> Vec<i32> {
    let ignored = ignored_signals().unwrap_or_default();
    SIGNALS.into_iter().filter(|number| ignored & (1 << (number - 1)) == 0).collect()
}

/// Returns the set of signals that the caller has us ignore, where the system tells.
fn ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_of_ignored_signals_is_read() {
        // Rust programs ignore SIGPIPE, and none of these.
        let ignored = ignored_signals().unwrap();
        assert_eq!(ignored & (1 << (signal_hook::consts::SIGPIPE - 1)), 1 << 12);
        assert_eq!(heeded_signals(), SIGNALS);
    }
}

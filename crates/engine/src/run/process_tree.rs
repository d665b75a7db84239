//! Ends a process with everything it has started: SIGTERM first, then SIGKILL.
//!
//! For processes that we can wait for as long as it takes. A hook's run is ended within its time
//! limit instead: see [`process`](super::process).

use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::Signal;
#[cfg(not(target_os = "linux"))]
use rustix::process::{Pid, kill_process};

use super::descendants::{RunFamily, signal_marked};
use crate::wait::poll_until;

/// How long processes have to end.
#[derive(Clone, Copy, Debug)]
pub struct ShutdownGrace {
    /// The time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// The time after that: by then a killed process is gone, or waits for the disk.
    pub insist: Duration,
    /// The polling interval for the remaining processes.
    pub look_every: Duration,
}

/// Ends a child and its family. `meanwhile` is called while they end. Returns how the child ended,
/// if it did.
///
/// Orphans need not be adopted by us, but are identified by their mark.
pub fn end_child(
    child: &mut Child,
    family: &RunFamily,
    patience: ShutdownGrace,
    mut meanwhile: impl FnMut(),
) -> Option<ExitStatus> {
    let mut status = None;
    end_family(family, patience, || {
        status = child.try_wait().ok().flatten();
        meanwhile();
        status.is_some()
    });
    status
}

/// Ends a family whose first member another thread waits for: `is_reaped` returns whether that is
/// done.
pub fn end_family(
    family: &RunFamily,
    patience: ShutdownGrace,
    mut is_reaped: impl FnMut() -> bool,
) {
    let signal = |signal| signal_family(family, signal);
    end(patience, signal, |anybody| is_reaped() && !anybody);
}

/// Ends all processes that carry a mark, with their descendants; nothing waits for them. Returns
/// whether all are gone.
pub fn end_marked(mark: &str, patience: ShutdownGrace) -> bool {
    // A process that is just being started may get its mark between two checks.
    let mut is_seen_empty = false;
    end(
        patience,
        |signal| signal_marked(mark, signal),
        |anybody| {
            let is_empty = !anybody && is_seen_empty;
            is_seen_empty = !anybody;
            is_empty
        },
    )
}

/// Sends `SIGTERM`, then `SIGKILL`, until `is_over` returns `true` or the time is up; returns
/// which. `signal` sends a signal to all and returns whether any process is left.
fn end(
    patience: ShutdownGrace,
    mut signal: impl FnMut(Signal) -> bool,
    mut is_over: impl FnMut(bool) -> bool,
) -> bool {
    let insist_from = Instant::now() + patience.grace;
    signal(Signal::TERM);
    let over = poll_until(insist_from + patience.insist, patience.look_every, || {
        let insists = Instant::now() >= insist_from;
        // A stopped process would not receive SIGTERM.
        let anybody = signal(if insists { Signal::KILL } else { Signal::CONT });
        is_over(anybody).then_some(())
    });
    over.is_some()
}

/// Sends a signal to a family; its first member need not lead a group. Returns whether any process
/// is left.
fn signal_family(family: &RunFamily, signal: Signal) -> bool {
    let anybody = family.signal(signal);
    #[cfg(not(target_os = "linux"))]
    if family.leader != Pid::INIT {
        return kill_process(family.leader, signal).is_ok() || anybody;
    }
    anybody
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHUTDOWN_GRACE: ShutdownGrace = ShutdownGrace {
        grace: Duration::from_millis(20),
        insist: Duration::from_millis(20),
        look_every: Duration::from_millis(1),
    };

    #[test]
    fn who_heeds_the_first_signal_is_not_killed() {
        let mut sent = Vec::new();
        let is_over = end(
            SHUTDOWN_GRACE,
            |signal| {
                sent.push(signal);
                sent.len() < 2
            },
            |anybody| !anybody,
        );
        assert!(is_over);
        assert_eq!(sent, [Signal::TERM, Signal::CONT]);
    }

    #[test]
    fn who_does_not_is_killed_and_not_waited_for_without_end() {
        let mut last = None;
        let is_over = end(
            SHUTDOWN_GRACE,
            |signal| {
                last = Some(signal);
                true
            },
            |anybody| !anybody,
        );
        assert!(!is_over);
        assert_eq!(last, Some(Signal::KILL));
    }
}

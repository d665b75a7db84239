//! Ending a command with all it has started.

use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use anyhook_engine::run::descendants::{Family, signal_marked};
use rustix::process::{Pid, Signal, kill_process};

/// Between asking and insisting.
const GRACE: Duration = Duration::from_secs(5);
/// Who is insisted on is gone after this, or waits for the disk.
const INSIST: Duration = Duration::from_secs(5);
/// We look so often who is left.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Ends a child and its family. `meanwhile` is done while they end. Returns how the child ended, if
/// it did.
///
/// Orphans do not come to us, but are known by their mark: a daemon that was started by an agent
/// must not end with it.
pub(super) fn end(
    child: &mut Child,
    family: &Family,
    mut meanwhile: impl FnMut(),
) -> Option<ExitStatus> {
    let ask = Instant::now();
    tell(family, Signal::TERM);
    loop {
        let status = child.try_wait().ok().flatten();
        let waited = ask.elapsed();
        let anybody = if waited >= GRACE {
            tell(family, Signal::KILL)
        } else {
            // One that is stopped would not hear us.
            tell(family, Signal::CONT)
        };
        if (status.is_some() && !anybody) || waited >= GRACE + INSIST {
            return status;
        }
        meanwhile();
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Ends all who carry a mark, with what they have started, when nobody waits for them. Tells whether
/// all are gone.
pub(super) fn end_marked(mark: &str) -> bool {
    let ask = Instant::now();
    signal_marked(mark, Signal::TERM);
    let mut is_seen_empty = false;
    loop {
        let waited = ask.elapsed();
        // One that is stopped would not hear us.
        let signal = if waited >= GRACE { Signal::KILL } else { Signal::CONT };
        let anybody = signal_marked(mark, signal);
        // One that was just being started gets its mark between two looks.
        if !anybody && is_seen_empty {
            return true;
        }
        if waited >= GRACE + INSIST {
            return false;
        }
        is_seen_empty = !anybody;
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Sends a signal to a family; its first member need not lead a group. Tells whether anybody is
/// left.
fn tell(family: &Family, signal: Signal) -> bool {
    let anybody = family.signal(signal);
    if !cfg!(target_os = "linux") && family.leader != Pid::INIT {
        return kill_process(family.leader, signal).is_ok() || anybody;
    }
    anybody
}

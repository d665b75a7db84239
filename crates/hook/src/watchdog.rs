//! The watchdog: an answer at the deadline, whatever else hangs.
//!
//! The engine keeps the deadline itself as long as it runs. It cannot do so if an event never ends,
//! a disk does not respond, or it loops endlessly: a host then treats our silence as approval. So a
//! system timer interrupts us, which costs nothing in the normal case, where a second thread would
//! cost a tenth of a whole call:
//!
//! ```text
//! start ───────────── deadline ── margin ── hard end ── margin ── last resort
//!                     1st alarm             2nd alarm            3rd alarm
//!                     blocking calls are     refused here,        the refusal itself
//!                     interrupted            in the handler       hung: exit
//! ```
//!
//! Timers are not inherited, and handlers are reset when another program is executed: hooks are not
//! affected. A process that the system does not schedule at all (suspended, or in an
//! uninterruptible wait for a disk) cannot be helped from inside.

#![expect(unsafe_code, reason = "a signal handler is C's")]

use std::ffi::{CString, c_char, c_int};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, Ordering};
use std::time::Duration;

use anyhook_engine::guard_marker;
use anyhook_model::{EventKind, LateRefusal, exit_code};

/// Without a deadline an event must have arrived by then: a little before the longest default limit
/// of any agent (ten minutes).
const EVENT_LIMIT: Duration = Duration::from_secs(540);
/// After the deadline a hook still has to be terminated and the answer journaled.
const LEAST_MARGIN: Duration = Duration::from_millis(400);
/// Entries are given nine tenths of their host's limit: a tenth of it is for us.
const MOST_MARGIN: Duration = Duration::from_secs(2);

/// The event is being read.
const READING: u8 = 0;
/// Hooks are running.
const DECIDING: u8 = 1;
/// The reply is being written.
const ANSWERING: u8 = 2;

static PHASE: AtomicU8 = AtomicU8::new(READING);
static ALARMS: AtomicU32 = AtomicU32::new(0);
/// Whether the deadline covers the whole call, or only reading the event.
static COVERS_ALL: AtomicBool = AtomicBool::new(false);
/// Whether a missing answer may have to be a block; an event that is not known yet may be a tool
/// call.
static MAY_BLOCK: AtomicBool = AtomicBool::new(true);
/// The exit code if the reply cannot be written.
static EXIT_CODE: AtomicI32 = AtomicI32::new(0);
/// The path of the marker file that says that a guard is installed; null without a state folder.
static MARKER: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());
/// The refusal that blocks at this host.
static REFUSAL: AtomicPtr<LateRefusal> = AtomicPtr::new(ptr::null_mut());

const REFUSED: &str = "anyhook: no decision within the deadline; a hook with on_failure: block is installed, so this call is refused\n\
    hint: run `anyhook doctor` to find out what keeps anyhook from answering\n";
const PASSED: &str = "anyhook: no decision within the deadline, so this event proceeds without one\n\
    hint: run `anyhook doctor` to find out what keeps anyhook from answering\n";

/// Makes sure that the process ends in time, from now on.
///
/// `left` is the time left until the deadline of the whole call; if `None`, only the event has to
/// arrive in time.
pub fn arm(left: Option<Duration>, state: Option<&Path>, refusal: &'static LateRefusal) {
    let marker = state
        .and_then(|state| CString::new(guard_marker::path(state).into_os_string().as_bytes()).ok());
    MARKER.store(marker.map_or(ptr::null_mut(), CString::into_raw), Ordering::Relaxed);
    REFUSAL.store(ptr::from_ref(refusal).cast_mut(), Ordering::Relaxed);
    COVERS_ALL.store(left.is_some(), Ordering::Relaxed);
    let left = left.unwrap_or(EVENT_LIMIT);
    let timer = libc::itimerval {
        it_value: time(left.max(Duration::from_millis(1))),
        it_interval: time((left / 10).clamp(LEAST_MARGIN, MOST_MARGIN)),
    };
    // If one of them cannot be set, everything else works as before.
    handle(libc::SIGALRM, on_alarm);
    // A file that exceeds the size limit is an error of that file, and must not kill us.
    handle(libc::SIGXFSZ, ignore);
    // SAFETY: the timer is a valid value, and the old one is not requested.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, ptr::null_mut()) };
}

/// Returns whether the deadline has passed.
pub fn has_expired() -> bool {
    ALARMS.load(Ordering::Relaxed) > 0
}

/// Records that the event has arrived and is being decided.
pub fn deciding() {
    PHASE.store(DECIDING, Ordering::Relaxed);
}

/// Records whether a missing answer may have to be a block.
pub fn may_block(may: bool) {
    MAY_BLOCK.store(may, Ordering::Relaxed);
}

/// Records the kind of the event.
pub fn decided_about(kind: &EventKind) {
    may_block(matches!(kind, EventKind::BeforeTool | EventKind::PermissionRequest));
}

/// Records that the reply is being written, and the exit code if nobody reads it.
pub fn answering(exit_code: u8) {
    EXIT_CODE.store(c_int::from(exit_code), Ordering::Relaxed);
    PHASE.store(ANSWERING, Ordering::Relaxed);
}

/// Returns whether this process ignores a signal.
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: a zeroed `sigaction` is valid, and the query changes nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

fn time(duration: Duration) -> libc::timeval {
    libc::timeval {
        tv_sec: duration.as_secs().try_into().unwrap_or(0x7fff_ffff),
        tv_usec: duration.subsec_micros().into(),
    }
}

fn handle(signal: c_int, handler: extern "C" fn(c_int)) {
    // SAFETY: a zeroed `sigaction` is valid: no flags, no signal blocked.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as libc::sighandler_t;
    // Not SA_RESTART: blocking calls must return to check the clock. NODEFER: a handler that hangs
    // is interrupted by the next alarm.
    action.sa_flags = libc::SA_NODEFER;
    // SAFETY: the handlers only do what is async-signal-safe (see there), and the old action is not
    // requested.
    unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
}

extern "C" fn ignore(_: c_int) {}

/// Only calls async-signal-safe functions: `access`, `write`, `_exit`. It does not return once it
/// has called one, so `errno` is preserved.
extern "C" fn on_alarm(_: c_int) {
    let alarms = ALARMS.fetch_add(1, Ordering::Relaxed);
    let phase = PHASE.load(Ordering::Relaxed);
    if alarms == 0 || phase == DECIDING && !COVERS_ALL.load(Ordering::Relaxed) {
        return;
    }
    if phase == ANSWERING {
        end(EXIT_CODE.load(Ordering::Relaxed));
    }
    let may_block = MAY_BLOCK.load(Ordering::Relaxed);
    if alarms > 1 {
        // Not even the refusal got through: the exit code is all that is left.
        end(c_int::from(if may_block { exit_code::BLOCKED } else { exit_code::OK }));
    }
    // SAFETY: null, or what `arm` was given, which lives as long as the process.
    let refusal = unsafe { REFUSAL.load(Ordering::Relaxed).as_ref() };
    match refusal {
        Some(refusal) if may_block && is_guarded() => {
            say(libc::STDERR_FILENO, REFUSED);
            say(libc::STDOUT_FILENO, refusal.stdout);
            end(c_int::from(refusal.exit_code));
        }
        _ => {
            say(libc::STDERR_FILENO, PASSED);
            end(c_int::from(exit_code::OK));
        }
    }
}

/// Returns whether a guard is installed whose failure blocks; `true` if that cannot be determined.
fn is_guarded() -> bool {
    let marker = MARKER.load(Ordering::Relaxed);
    if marker.is_null() {
        return false;
    }
    // SAFETY: `arm` stored a C string that lives as long as the process.
    let found = unsafe { libc::access(marker, libc::F_OK) } == 0;
    found
        || !matches!(io::Error::last_os_error().raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR))
}

fn say(stream: c_int, text: &str) {
    // SAFETY: the bytes are valid for their length. It does not matter whether anyone reads them.
    unsafe { libc::write(stream, text.as_ptr().cast(), text.len()) };
}

fn end(code: c_int) -> ! {
    // SAFETY: nothing of ours has to run at process exit.
    unsafe { libc::_exit(code) }
}

//! Waiting for an MCP server: shows a line on standard error, and a signal stops the server first.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use anyhook_mcp::StopHandle;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;

use crate::environment::terminal_width;
use crate::progress::WaitNotice;

/// How often signals and the clock are checked.
const EVERY: Duration = Duration::from_millis(50);

/// No server may take longer than this.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Reads how long a server may take.
pub fn limit(text: &str) -> Result<Duration, String> {
    let long = crate::commands::pipeline::wait::limit(text)?;
    if long > LONGEST { Err("must be at most 1h".to_owned()) } else { Ok(long) }
}

/// Runs something that `stop` can stop, and returns its result.
///
/// On a signal we stop the work, and then end by the same signal.
pub fn wait<T: Send>(what: &str, stop: &StopHandle, work: impl FnOnce() -> T + Send) -> T {
    EAR.nobody_waits.store(false, Ordering::Relaxed);
    let (working, ended) = mpsc::channel::<()>();
    let value = thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let value = work();
            // Dropped on a panic, too.
            drop(working);
            value
        });
        let mut waiting = WaitNotice::new(terminal_width);
        while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
            if told() == 0 {
                waiting.say(what);
            } else {
                stop.now();
            }
        }
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))
    });
    EAR.nobody_waits.store(true, Ordering::Relaxed);
    if told() != 0 {
        // The parent process is to see that it was the signal.
        let _ = emulate_default_handler(told());
    }
    value
}

/// Receives signals during a wait; otherwise they have their default effect.
#[derive(Default)]
struct SignalListener {
    told: Arc<AtomicUsize>,
    nobody_waits: Arc<AtomicBool>,
}

/// One for the whole process: a registered signal handler stays.
static EAR: LazyLock<SignalListener> = LazyLock::new(|| {
    let ear = SignalListener::default();
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        let number = usize::try_from(signal).unwrap_or(0);
        // If it cannot be registered, the signal keeps its default effect.
        let _ = flag::register_conditional_default(signal, ear.nobody_waits.clone());
        let _ = flag::register_usize(signal, ear.told.clone(), number);
    }
    ear
});

/// Returns the signal that came, or 0.
fn told() -> i32 {
    i32::try_from(EAR.told.load(Ordering::Relaxed)).unwrap_or(0)
}

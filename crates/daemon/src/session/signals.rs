//! The signals that count while a person sits at a session.

use std::io;
use std::os::unix::net::UnixStream;

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::low_level::{pipe, unregister};

/// Hears signals as long as it lives.
#[derive(Debug)]
pub(super) struct SessionSignals {
    /// A byte in it says that the person's terminal has another size.
    pub(super) resized: UnixStream,
    /// A byte in it says that we are to end.
    pub(super) stopped: UnixStream,
    registered: Vec<SigId>,
}

impl SessionSignals {
    /// Begins to hear them.
    pub(super) fn heed() -> io::Result<Self> {
        let (resized, tell_resized) = UnixStream::pair()?;
        let (stopped, tell_stopped) = UnixStream::pair()?;
        resized.set_nonblocking(true)?;
        let mut signals = Self { resized, stopped, registered: Vec::new() };
        signals.registered.push(pipe::register(SIGWINCH, tell_resized)?);
        for signal in [SIGTERM, SIGHUP, SIGINT] {
            signals.registered.push(pipe::register(signal, tell_stopped.try_clone()?)?);
        }
        Ok(signals)
    }
}

impl Drop for SessionSignals {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
    }
}

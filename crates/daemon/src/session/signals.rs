//! The signals that are handled while a person is attached to a session.

use std::io;
use std::os::unix::net::UnixStream;

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::low_level::{pipe, unregister};

/// Handles signals until it is dropped.
#[derive(Debug)]
pub(super) struct SessionSignals {
    /// Readable when the person's terminal has a new size.
    pub(super) resized: UnixStream,
    /// Readable when we are told to exit.
    pub(super) stopped: UnixStream,
    registered: Vec<SigId>,
}

impl SessionSignals {
    /// Installs the handlers.
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

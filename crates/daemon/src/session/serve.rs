//! Serves the clients of a terminal process: shows them the screen and takes their input.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhook_socket::frame::{self, FrameError};
use anyhook_socket::peer;
use rustix::termios::{Winsize, tcsetwinsize};

use super::display::{Display, TerminalView};
use super::key_queue::KeyQueue;
use super::protocol::{
    ClientInput, ClientOutput, RequestFrame, SessionReply, SessionRequest, TERMINAL_VERSION,
    TerminalSize,
};
use super::{COLUMNS, ROWS};

/// How long a client may take to send its request and to read the reply.
const LIMIT: Duration = Duration::from_secs(5);
/// How many connections are served at once; others are rejected.
const CONNECTIONS: usize = 64;
/// The shortest interval between two updates of a person's terminal.
const FRAME: Duration = Duration::from_millis(10);
/// The size when no one is attached.
pub(super) const SIZE: TerminalSize = TerminalSize { rows: ROWS, columns: COLUMNS };

/// A terminal and its clients.
#[derive(Debug)]
pub(super) struct SessionServer {
    state: Mutex<SessionServerState>,
    changed: Condvar,
    typed: KeyQueue,
    master: OwnedFd,
}

#[derive(Debug)]
struct SessionServerState {
    display: Display,
    /// The number of changes to the display.
    changes: u64,
    is_over: bool,
    size: TerminalSize,
    /// The sizes of the attached clients' terminals, by connection number.
    seats: BTreeMap<u64, TerminalSize>,
    connections: usize,
    /// The number of connections so far.
    counted: u64,
}

impl SessionServer {
    /// Creates the server of a terminal.
    pub(super) fn new(master: OwnedFd, typed: KeyQueue) -> Self {
        let state = SessionServerState {
            display: Display::new(SIZE),
            changes: 0,
            is_over: false,
            size: SIZE,
            seats: BTreeMap::new(),
            connections: 0,
            counted: 0,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), typed, master }
    }

    fn state(&self) -> MutexGuard<'_, SessionServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Processes the program's output, and replies to its queries.
    pub(super) fn print(&self, bytes: &[u8]) {
        let mut state = self.state();
        let answer = state.display.print(bytes);
        state.changes += 1;
        drop(state);
        self.changed.notify_all();
        self.typed.aside(answer);
    }

    /// Returns the text on the screen and the scrollback.
    pub(super) fn history(&self) -> String {
        self.state().display.history()
    }

    /// Tells all attached clients that the session is over, and waits a while for them to detach.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_over = true;
        self.changed.notify_all();
        while !state.seats.is_empty() {
            let waited = self.changed.wait_timeout(state, Duration::from_secs(1));
            let (left, limit) = waited.unwrap_or_else(PoisonError::into_inner);
            if limit.timed_out() {
                return;
            }
            state = left;
        }
    }

    /// A client attaches, resizes or detaches: the size of the smallest terminal is used.
    fn seat(&self, number: u64, size: Option<TerminalSize>) {
        let mut state = self.state();
        match size {
            Some(size) => state.seats.insert(number, size),
            None => state.seats.remove(&number),
        };
        let least = |side: fn(&TerminalSize) -> u16, alone| {
            state.seats.values().map(side).min().unwrap_or(alone)
        };
        let wanted = TerminalSize {
            rows: least(|size| size.rows, ROWS),
            columns: least(|size| size.columns, COLUMNS),
        };
        if wanted != state.size {
            state.size = wanted;
            let TerminalSize { rows, columns } = state.display.resize(wanted);
            state.changes += 1;
            let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
            // The program is notified by a signal.
            let _ = tcsetwinsize(&self.master, size);
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// Creates the socket, accessible only to the current user. An old one is removed: we own the task.
pub(super) fn listen(socket: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(socket)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Serves clients as long as the process lives.
pub(super) fn serve(listener: &UnixListener, desk: &Arc<SessionServer>) {
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // Most likely out of file descriptors: some will become free.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let number = {
            let mut state = desk.state();
            if !peer::is_ours(&stream) || state.connections >= CONNECTIONS {
                continue;
            }
            state.connections += 1;
            state.counted += 1;
            state.counted
        };
        let desk = Arc::clone(desk);
        thread::spawn(move || {
            // An error on a connection only ends that connection.
            let _ = talk(stream, &desk, number);
            desk.state().connections -= 1;
        });
    }
}

fn talk(mut stream: UnixStream, desk: &Arc<SessionServer>, number: u64) -> Result<(), FrameError> {
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    let asked: RequestFrame = match frame::read(&mut stream) {
        Ok(asked) => asked,
        Err(FrameError::NotJson(error)) => {
            return frame::write(&mut stream, &SessionReply::Refused(error.to_string()));
        }
        Err(error) => return Err(error),
    };
    let answer = if asked.v == TERMINAL_VERSION {
        match asked.what {
            SessionRequest::Screen => SessionReply::Text(desk.state().display.text()),
            SessionRequest::Cursor => SessionReply::Text(desk.state().display.cursor()),
            SessionRequest::Coloured => SessionReply::Text(desk.state().display.coloured()),
            SessionRequest::History => SessionReply::Text(desk.state().display.history()),
            SessionRequest::Paste(text) => {
                let bytes = desk.state().display.paste(&text);
                typed(desk, bytes)
            }
            SessionRequest::Press(key) => {
                let bytes = desk.state().display.key(key);
                bytes.map_or_else(
                    |error| SessionReply::Refused(error.to_string()),
                    |it| typed(desk, it),
                )
            }
            SessionRequest::Attach(size) => {
                frame::write(&mut stream, &SessionReply::Done)?;
                desk.seat(number, Some(size));
                let ended = sit(&stream, desk, number);
                desk.seat(number, None);
                return ended;
            }
        }
    } else {
        SessionReply::Refused(format!("it has a different version ({TERMINAL_VERSION})"))
    };
    frame::write(&mut stream, &answer)
}

fn typed(desk: &SessionServer, bytes: Vec<u8>) -> SessionReply {
    if desk.typed.whole(bytes) {
        return SessionReply::Done;
    }
    SessionReply::Refused("the program does not read its input".to_owned())
}

/// Serves an attached client: another thread takes its input, this one sends the screen.
fn sit(stream: &UnixStream, desk: &Arc<SessionServer>, number: u64) -> Result<(), FrameError> {
    let mut from = stream.try_clone()?;
    from.set_read_timeout(None)?;
    let theirs = Arc::clone(desk);
    let hands = thread::spawn(move || take(&mut from, &theirs, number));
    let shown = show(stream, desk, number);
    // This ends the other thread as well.
    let _ = stream.shutdown(std::net::Shutdown::Both);
    let _ = hands.join();
    shown
}

fn take(from: &mut UnixStream, desk: &SessionServer, number: u64) {
    while let Ok(what) = frame::read::<ClientInput>(from) {
        match what {
            ClientInput::Typed(bytes) => desk.typed.aside(bytes),
            ClientInput::Resized(size) => desk.seat(number, Some(size)),
        }
    }
    // The client has disconnected.
    desk.seat(number, None);
}

fn show(mut to: &UnixStream, desk: &SessionServer, number: u64) -> Result<(), FrameError> {
    let mut shown = TerminalView::default();
    let mut seen = None;
    loop {
        let mut state = desk.state();
        while seen == Some(state.changes) && !state.is_over && state.seats.contains_key(&number) {
            state = desk.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.seats.contains_key(&number) {
            return Ok(());
        }
        seen = Some(state.changes);
        let (text, is_over) = (state.display.show(&mut shown), state.is_over);
        drop(state);
        if !text.is_empty() {
            frame::write(&mut to, &ClientOutput::Shown(text))?;
        }
        if is_over {
            return frame::write(&mut to, &ClientOutput::Over);
        }
        thread::sleep(FRAME);
    }
}

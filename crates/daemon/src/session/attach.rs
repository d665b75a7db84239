//! Attaches a person's own terminal to a session.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use anyhook_socket::frame;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};

use super::client::{ask_on, broken, connect};
use super::detach_keys::DetachKeys;
use super::display::NO_MODES;
use super::protocol::{ClientInput, ClientOutput, SessionRequest, TerminalSize};
use super::signals::SessionSignals;
use super::{Session, SessionError};

/// The hint that says how to detach.
const KEYS: &str = "Ctrl-b d to detach";

/// Shows a session until the person detaches, it is over, or we are told to exit.
pub(super) fn attach(session: &Session) -> Result<(), SessionError> {
    if !isatty(io::stdin()) || !isatty(io::stdout()) {
        return Err(SessionError::NoTerminal);
    }
    let failed = |error: io::Error| SessionError::Failed {
        what: "this terminal cannot be used".to_owned(),
        why: error.to_string(),
    };
    let mut stream = connect(session)?;
    let signals = SessionSignals::heed().map_err(failed)?;
    ask_on(&mut stream, session, SessionRequest::Attach(size().map_err(failed)?))?;
    let raw = Raw::enter().map_err(failed)?;
    let seen = watch(session, &mut stream, &signals);
    drop(raw);
    let last = match seen? {
        AttachEnd::Left => {
            format!("[detached from session `{}`, which keeps running]", session.name)
        }
        AttachEnd::Over => format!("[session `{}` ended]", session.name),
    };
    // If the terminal is gone, nobody reads the message.
    let _ = writeln!(io::stdout(), "{last}");
    Ok(())
}

/// Why an attachment ended.
enum AttachEnd {
    Left,
    Over,
}

fn watch(
    session: &Session,
    stream: &mut UnixStream,
    signals: &SessionSignals,
) -> Result<AttachEnd, SessionError> {
    let mut leaving = DetachKeys::default();
    let mut stdin = File::from(
        io::stdin().as_fd().try_clone_to_owned().map_err(|error| broken(session, &error.into()))?,
    );
    loop {
        let mut waited = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(&*stream, PollFlags::IN),
            PollFd::new(&signals.resized, PollFlags::IN),
            PollFd::new(&signals.stopped, PollFlags::IN),
        ];
        let _ = poll(&mut waited, None);
        let [is_typed, is_shown, is_resized, is_stopped] =
            waited.map(|it| !it.revents().is_empty());
        if is_stopped {
            return Ok(AttachEnd::Left);
        }
        if is_resized {
            let mut bytes = [0; 64];
            let _ = (&signals.resized).read(&mut bytes);
            if let Ok(size) = size() {
                say(session, stream, &ClientInput::Resized(size))?;
            }
        }
        if is_shown {
            match frame::read(stream) {
                Ok(ClientOutput::Shown(text)) => show(session, &text),
                Ok(ClientOutput::Over) => return Ok(AttachEnd::Over),
                Err(error) => {
                    return match broken(session, &error) {
                        SessionError::NotThere(_) => Ok(AttachEnd::Over),
                        error => Err(error),
                    };
                }
            }
        }
        if is_typed {
            let mut bytes = [0; 4096];
            let Ok(length @ 1..) = stdin.read(&mut bytes) else { return Ok(AttachEnd::Left) };
            let (passed, leaves) = leaving.take(&bytes[..length]);
            if !passed.is_empty() {
                say(session, stream, &ClientInput::Typed(passed))?;
            }
            if leaves {
                return Ok(AttachEnd::Left);
            }
        }
    }
}

fn say(session: &Session, stream: &mut UnixStream, what: &ClientInput) -> Result<(), SessionError> {
    match frame::write(stream, what).map_err(|error| broken(session, &error)) {
        // That it is over is read next.
        Ok(()) | Err(SessionError::NotThere(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Shows the session's screen, and below it how to detach.
fn show(session: &Session, text: &str) {
    let mut all = text.to_owned();
    if let Ok(TerminalSize { rows, columns }) = whole_size() {
        let line: String =
            format!(" {} · {KEYS} ", session.name).chars().take(usize::from(columns)).collect();
        all.push_str(&format!("\x1b7\x1b[{rows};1H\x1b[m\x1b[2K\x1b[7m{line}\x1b[m\x1b8"));
    }
    let mut stdout = io::stdout();
    let _ = stdout.write_all(all.as_bytes()).and_then(|()| stdout.flush());
}

/// Returns the size of this terminal.
fn whole_size() -> io::Result<TerminalSize> {
    let size = tcgetwinsize(io::stdout())?;
    Ok(TerminalSize { rows: size.ws_row.max(2), columns: size.ws_col.max(2) })
}

/// Returns the size that is left for the session: the last row says how to detach.
fn size() -> io::Result<TerminalSize> {
    let size = whole_size()?;
    Ok(TerminalSize { rows: size.rows - 1, ..size })
}

/// The person's terminal in raw mode; restored on drop.
struct Raw {
    before: Termios,
}

impl Raw {
    fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        let entered = Self { before };
        let mut stdout = io::stdout();
        stdout.write_all(b"\x1b[?1049h\x1b[2J")?;
        stdout.flush()?;
        Ok(entered)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let mut stdout = io::stdout();
        let _ = write!(stdout, "{NO_MODES}\x1b[m\x1b[?25h\x1b[?1049l");
        let _ = stdout.flush();
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

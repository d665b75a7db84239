//! Connects to the terminal process of a session, and starts it.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhook_engine::run::descendants::{ASIDE, MARK};
use anyhook_engine::run::detached;
use anyhook_socket::frame::{self, FrameError};
use anyhook_socket::peer;

use super::protocol::{RequestFrame, SessionReply, SessionRequest, TERMINAL_VERSION};
use super::runtime::{short_hash, sockets};
use super::{ARGUMENT, Session, SessionError};
use crate::task;

/// The terminal process answers within this time, or something is wrong with it.
pub(super) const LIMIT: Duration = Duration::from_secs(5);

/// Returns the path of a session's socket. Does not create it.
fn socket(session: &Session) -> Result<PathBuf, SessionError> {
    Ok(sockets(&session.runtime)?.join(short_hash(session.name.as_bytes())))
}

/// Starts the terminal process, and returns when a supervisor has claimed the task.
pub(super) fn start_terminal(session: &Session) -> Result<(), SessionError> {
    let not_started = |why: String| SessionError::NotStarted { name: session.name.clone(), why };
    let (answer, tell) = io::pipe().map_err(|error| not_started(error.to_string()))?;
    // It calls `setsid` itself, which would fail for the leader of a process group.
    let process = Command::new(&session.binary)
        .arg(ARGUMENT)
        .args([&session.folder, &socket(session)?])
        .stdin(Stdio::null())
        .stdout(tell)
        .stderr(Stdio::null())
        .env_remove("TMUX")
        .env_remove("TMUX_PANE")
        .env(MARK, ASIDE)
        .current_dir("/")
        .spawn()
        .map_err(|error| not_started(format!("`{}`: {error}", session.binary.display())))?;
    detached::remember_detached(process);
    let said = task::first_words(answer);
    if task::is_begun(&session.folder) {
        return Ok(());
    }
    Err(not_started(match said {
        Ok(words) if words.is_empty() => "its supervisor exited".to_owned(),
        Ok(words) => words,
        Err(error) => format!("its supervisor does not answer: {error}"),
    }))
}

/// Connects to the terminal process.
pub(super) fn connect(session: &Session) -> Result<UnixStream, SessionError> {
    let path = socket(session)?;
    let stream = match UnixStream::connect(&path) {
        Ok(stream) => stream,
        Err(error) => {
            return Err(match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    SessionError::NotThere(session.name.clone())
                }
                _ => SessionError::File { path, error },
            });
        }
    };
    if !peer::is_ours(&stream) {
        return Err(SessionError::Stranger(session.name.clone()));
    }
    stream
        .set_read_timeout(Some(LIMIT))
        .and_then(|()| stream.set_write_timeout(Some(LIMIT)))
        .map_err(|error| SessionError::File { path, error })?;
    Ok(stream)
}

/// Sends a request on a connection and returns the reply.
pub(super) fn ask_on(
    stream: &mut UnixStream,
    session: &Session,
    what: SessionRequest,
) -> Result<SessionReply, SessionError> {
    let failed = |error: FrameError| broken(session, &error);
    frame::write(stream, &RequestFrame { v: TERMINAL_VERSION, what }).map_err(failed)?;
    match frame::read(stream).map_err(failed)? {
        SessionReply::Refused(why) => {
            Err(SessionError::Failed { what: format!("the terminal of `{}`", session.name), why })
        }
        answer => Ok(answer),
    }
}

pub(super) fn ask(session: &Session, what: SessionRequest) -> Result<SessionReply, SessionError> {
    ask_on(&mut connect(session)?, session, what)
}

pub(super) fn text(session: &Session, what: SessionRequest) -> Result<String, SessionError> {
    match ask(session, what)? {
        SessionReply::Text(text) => Ok(text),
        other => Err(SessionError::Failed {
            what: format!("the terminal of `{}`", session.name),
            why: format!("it answered {other:?}"),
        }),
    }
}

/// Maps a broken connection to an error: if it breaks in the middle of an answer, the session is
/// over.
pub(super) fn broken(session: &Session, error: &FrameError) -> SessionError {
    let kind = match error {
        FrameError::Io(error) => Some(error.kind()),
        _ => None,
    };
    match kind {
        Some(io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            SessionError::Slow(format!("the terminal of `{}`", session.name))
        }
        Some(_) => SessionError::NotThere(session.name.clone()),
        None => SessionError::Failed {
            what: format!("the terminal of `{}`", session.name),
            why: error.to_string(),
        },
    }
}

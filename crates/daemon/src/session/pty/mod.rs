//! Sessions on a terminal of our own.
//!
//! ```text
//!  attach, screen, paste, press ──socket──▶ `__terminal FOLDER SOCKET` ──pty──▶ keeper ──▶ command
//!                                           keeps the screen, answers
//!                                           what programs ask a terminal
//! ```
//!
//! The process that keeps the terminal outlives the daemon and ends with the keeper; what was on
//! the screen last is in the file `screen` then.

mod attach;
mod display;
mod leave;
mod serve;
mod talk;
mod terminal;
mod typed;

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhook_engine::run::descendants::{ASIDE, MARK};
use anyhook_engine::run::detached;
use anyhook_model::pipeline::SessionKind;

use super::end::{LOOK_EVERY, end_task, kept_screen};
use super::runtime::{short_hash, sockets};
use super::{Key, Place, SessionError, Sessions, check_paste, control};
use crate::frame::{self, FrameError};
use crate::peer;
use crate::task::{self, Stand};
use talk::{Answer, Asked, Request, TERMINAL_VERSION};

pub use terminal::main;

/// The argument that makes the program keep a terminal.
pub const ARGUMENT: &str = "__terminal";

/// The process that keeps a terminal answers at once, or something is wrong with it.
const LIMIT: Duration = Duration::from_secs(5);

/// Keeps sessions on terminals of our own.
#[derive(Clone, Copy, Debug)]
pub struct Pty;

impl Sessions for Pty {
    fn kind(&self) -> SessionKind {
        SessionKind::Pty
    }

    fn check(&self) -> Result<(), SessionError> {
        terminal::open().map(drop).map_err(|error| SessionError::Failed {
            what: "no terminal can be made".to_owned(),
            why: error.to_string(),
        })
    }

    fn start(&self, place: &Place) -> Result<(), SessionError> {
        if !task::is_begun(&place.folder) {
            start_terminal(place)?;
        }
        // Whoever else has begun it may not listen yet.
        let until = Instant::now() + LIMIT;
        while Instant::now() < until
            && matches!(task::stand(&place.folder)?, Stand::Running(_))
            && !self.is_there(place)?
        {
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn is_there(&self, place: &Place) -> Result<bool, SessionError> {
        match connect(place) {
            Ok(_) => Ok(true),
            Err(SessionError::NotThere(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn screen(&self, place: &Place) -> Result<String, SessionError> {
        text(place, Request::Screen)
    }

    fn cursor(&self, place: &Place) -> Result<(u16, u16), SessionError> {
        let told = text(place, Request::Cursor)?;
        let mut numbers = told.split_whitespace().map_while(|number| number.parse().ok());
        Ok((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)))
    }

    fn coloured(&self, place: &Place) -> Result<String, SessionError> {
        text(place, Request::Coloured)
    }

    fn history(&self, place: &Place) -> Result<String, SessionError> {
        match text(place, Request::History) {
            Err(SessionError::NotThere(_)) => kept_screen(place),
            answered => answered,
        }
    }

    fn paste(&self, place: &Place, text: &str) -> Result<(), SessionError> {
        check_paste(text)?;
        ask(place, Request::Paste(text.to_owned())).map(drop)
    }

    fn press(&self, place: &Place, key: Key) -> Result<(), SessionError> {
        if let Key::Control(character) = key {
            control(character)?;
        }
        ask(place, Request::Press(key)).map(drop)
    }

    fn end(&self, place: &Place) -> Result<(), SessionError> {
        end_task(&place.folder)?;
        // It writes down what was seen last, and then stops to listen.
        let until = Instant::now() + LIMIT;
        while self.is_there(place)? {
            if Instant::now() > until {
                return Err(SessionError::Slow(format!("the terminal of `{}`", place.name)));
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn attach(&self, place: &Place) -> Result<(), SessionError> {
        attach::attach(place)
    }
}

/// Returns a session's socket. Nothing is there yet.
fn socket(place: &Place) -> Result<PathBuf, SessionError> {
    Ok(sockets(&place.runtime)?.join(short_hash(place.name.as_bytes())))
}

/// Starts the process that keeps the terminal, and returns when a keeper has the task.
fn start_terminal(place: &Place) -> Result<(), SessionError> {
    let not_started = |why: String| SessionError::NotStarted { name: place.name.clone(), why };
    let (answer, tell) = io::pipe().map_err(|error| not_started(error.to_string()))?;
    // It begins a session of its own, which the leader of a process group could not.
    let process = Command::new(&place.binary)
        .arg(ARGUMENT)
        .args([&place.folder, &socket(place)?])
        .stdin(Stdio::null())
        .stdout(tell)
        .stderr(Stdio::null())
        .env_remove("TMUX")
        .env_remove("TMUX_PANE")
        .env(MARK, ASIDE)
        .current_dir("/")
        .spawn()
        .map_err(|error| not_started(format!("`{}`: {error}", place.binary.display())))?;
    detached::take_leave_of(process);
    let said = task::first_words(answer);
    if task::is_begun(&place.folder) {
        return Ok(());
    }
    Err(not_started(match said {
        Ok(words) if words.is_empty() => "its keeper ended".to_owned(),
        Ok(words) => words,
        Err(error) => format!("its keeper does not answer: {error}"),
    }))
}

/// Connects to the process that keeps the terminal.
fn connect(place: &Place) -> Result<UnixStream, SessionError> {
    let path = socket(place)?;
    let stream = match UnixStream::connect(&path) {
        Ok(stream) => stream,
        Err(error) => {
            return Err(match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    SessionError::NotThere(place.name.clone())
                }
                _ => SessionError::File { path, error },
            });
        }
    };
    if !peer::is_ours(&stream) {
        return Err(SessionError::Stranger(place.name.clone()));
    }
    stream
        .set_read_timeout(Some(LIMIT))
        .and_then(|()| stream.set_write_timeout(Some(LIMIT)))
        .map_err(|error| SessionError::File { path, error })?;
    Ok(stream)
}

/// Asks on a connection.
fn ask_on(stream: &mut UnixStream, place: &Place, what: Request) -> Result<Answer, SessionError> {
    let failed = |error: FrameError| broken(place, &error);
    frame::write(stream, &Asked { v: TERMINAL_VERSION, what }).map_err(failed)?;
    match frame::read(stream).map_err(failed)? {
        Answer::Refused(why) => {
            Err(SessionError::Failed { what: format!("the terminal of `{}`", place.name), why })
        }
        answer => Ok(answer),
    }
}

fn ask(place: &Place, what: Request) -> Result<Answer, SessionError> {
    ask_on(&mut connect(place)?, place, what)
}

fn text(place: &Place, what: Request) -> Result<String, SessionError> {
    match ask(place, what)? {
        Answer::Text(text) => Ok(text),
        other => Err(SessionError::Failed {
            what: format!("the terminal of `{}`", place.name),
            why: format!("it answered {other:?}"),
        }),
    }
}

/// Says what a connection that broke means: in the middle of an answer, a session is over.
fn broken(place: &Place, error: &FrameError) -> SessionError {
    let kind = match error {
        FrameError::Io(error) => Some(error.kind()),
        _ => None,
    };
    match kind {
        Some(io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            SessionError::Slow(format!("the terminal of `{}`", place.name))
        }
        Some(_) => SessionError::NotThere(place.name.clone()),
        None => SessionError::Failed {
            what: format!("the terminal of `{}`", place.name),
            why: error.to_string(),
        },
    }
}

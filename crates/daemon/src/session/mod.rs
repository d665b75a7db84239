//! Agents' sessions: a task on a terminal that a person can look at, type into and attach to.
//!
//! ```text
//!  attach, screen, paste, press ──socket──▶ `__terminal FOLDER SOCKET` ──pty──▶ keeper ──▶ command
//!                                           keeps the screen, answers
//!                                           what programs ask a terminal
//! ```
//!
//! Terminals are our own, not those of `tmux`: a pipeline then needs no other program, and a
//! private
//! `tmux` server would not have the person's settings anyway.
//!
//! The process that keeps the terminal outlives the daemon and ends with the keeper of the
//! `task`, so that a session ends with a result; what was on the screen last is in the
//! file `screen` then.

mod attach;
mod client;
mod detach_keys;
mod display;
mod end;
mod error;
mod key_queue;
mod protocol;
mod runtime;
mod send_keys;
mod serve;
mod signals;
mod terminal;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhook_engine::wait::try_poll_until;
pub use anyhook_model::Key;

use crate::task::{self, TaskStatus};
use client::{LIMIT, ask, connect, start_terminal, text};
use end::{LOOK_EVERY, end_task, kept_screen};
use protocol::SessionRequest;

pub use error::SessionError;
pub use terminal::main;

/// The argument that makes the program keep a terminal.
pub const ARGUMENT: &str = "__terminal";
/// How wide a terminal is to which no person is attached.
pub const COLUMNS: u16 = 160;
/// How high it is.
pub const ROWS: u16 = 50;
/// So many lines that scrolled away are kept.
pub const SCROLLED: usize = 2000;
/// What ends a paste for a program that can tell.
const PASTE_END: &str = "\x1b[201~";

/// A session, found by any process that knows this.
///
/// No call but [`attach`](Session::attach) and [`end`](Session::end) takes longer than a few
/// seconds, whatever the program in the session does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The folder of its task, which is prepared and has a terminal. An absolute path, as all here.
    pub folder: PathBuf,
    /// Its name, unique in the runtime folder.
    pub name: String,
    /// This program.
    pub binary: PathBuf,
    /// The folder for sockets, for us alone.
    pub runtime: PathBuf,
}

impl Session {
    /// Returns the folder for the sockets of all sessions.
    pub fn runtime_folder(state: &Path) -> PathBuf {
        anyhook_model::StateDir::new(state).run()
    }

    /// Says why there can be no session on this system, if so.
    pub fn check() -> Result<(), SessionError> {
        terminal::open().map(drop).map_err(|error| SessionError::Failed {
            what: "cannot create a terminal".to_owned(),
            why: error.to_string(),
        })
    }

    /// Begins the task in the folder on a terminal, and returns when a keeper has it. One that was
    /// begun before is left alone.
    pub fn start(&self) -> Result<(), SessionError> {
        if !task::is_begun(&self.folder) {
            start_terminal(self)?;
        }
        // Another process that has begun it may not listen yet.
        try_poll_until(Instant::now() + LIMIT, LOOK_EVERY, || {
            let runs = matches!(task::status(&self.folder)?, TaskStatus::Running(_));
            Ok((!runs || self.is_there()?).then_some(()))
        })
        .map(drop)
    }

    /// Tells whether the session is there.
    pub fn is_there(&self) -> Result<bool, SessionError> {
        match connect(self) {
            Ok(_) => Ok(true),
            Err(SessionError::NotThere(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns what is on the screen, as plain text.
    pub fn screen(&self) -> Result<String, SessionError> {
        text(self, SessionRequest::Screen)
    }

    /// Returns where the cursor is: its column and its row.
    pub fn cursor(&self) -> Result<(u16, u16), SessionError> {
        let told = text(self, SessionRequest::Cursor)?;
        let mut numbers = told.split_whitespace().map_while(|number| number.parse().ok());
        Ok((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)))
    }

    /// Returns what is on the screen, with the sequences that colour it.
    pub fn coloured(&self) -> Result<String, SessionError> {
        text(self, SessionRequest::Coloured)
    }

    /// Returns what is on the screen and what scrolled away, as plain text; of a session that is
    /// over, what was seen last, from the file `screen` in the task's folder.
    pub fn history(&self) -> Result<String, SessionError> {
        match text(self, SessionRequest::History) {
            Err(SessionError::NotThere(_)) => kept_screen(self),
            answered => answered,
        }
    }

    /// Gives the program a text as if it were pasted, to the byte; as one piece, if the program
    /// can tell a paste from what is typed. Enter is not pressed.
    pub fn paste(&self, text: &str) -> Result<(), SessionError> {
        check_paste(text)?;
        ask(self, SessionRequest::Paste(text.to_owned())).map(drop)
    }

    /// Presses a key.
    pub fn press(&self, key: Key) -> Result<(), SessionError> {
        if let Key::Control(character) = key {
            control(character)?;
        }
        ask(self, SessionRequest::Press(key)).map(drop)
    }

    /// Ends the task with all it has started, and the session. What was seen last is in the file
    /// `screen` then. A session that is over is left alone.
    pub fn end(&self) -> Result<(), SessionError> {
        end_task(&self.folder)?;
        // It writes down what was seen last, and then stops to listen.
        let over = try_poll_until(Instant::now() + LIMIT, LOOK_EVERY, || {
            Ok::<_, SessionError>((!self.is_there()?).then_some(()))
        })?;
        over.ok_or_else(|| SessionError::Slow(format!("the terminal of `{}`", self.name)))
    }

    /// Shows the session in this process's terminal, until the person leaves it or it is over.
    pub fn attach(&self) -> Result<(), SessionError> {
        attach::attach(self)
    }
}

/// Returns the byte that the control key makes of a character.
fn control(character: char) -> Result<u8, SessionError> {
    Key::control(character).ok_or(SessionError::NoKey(character))
}

/// Refuses a text that would not stay a paste.
fn check_paste(text: &str) -> Result<(), SessionError> {
    if text.contains(PASTE_END) { Err(SessionError::Unpastable) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_key_makes_a_byte_of_a_letter() {
        let bytes = ['c', 'C', '@', '[', '\\', '_'].map(|letter| control(letter).unwrap());
        assert_eq!(bytes, [3, 3, 0, 27, 28, 31]);
        for other in ['ä', '1', ' ', '\u{1}'] {
            assert!(matches!(control(other), Err(SessionError::NoKey(_))), "{other:?}");
        }
    }

    #[test]
    fn a_text_cannot_end_its_own_paste() {
        check_paste("a\x1b[200~b\n").unwrap();
        assert!(matches!(check_paste("a\x1b[201~\r"), Err(SessionError::Unpastable)));
    }
}

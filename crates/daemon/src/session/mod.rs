//! Agents' sessions: a task on a terminal that a person can look at, type into and attach to.
//!
//! ```text
//!  attach, screen, paste, press ─socket─▶ `__terminal FOLDER SOCKET` ─pty─▶ supervisor ─▶ command
//!                                         keeps the screen, answers
//!                                         programs' terminal queries
//! ```
//!
//! The terminals are our own, not those of `tmux`: a pipeline then needs no other program, and a
//! private `tmux` server would not have the person's settings anyway.
//!
//! The terminal process outlives the daemon and ends with the supervisor of the `task`, so that a
//! session ends with a result; the last screen is then in the file `screen`.

mod attach;
mod client;
mod detach_keys;
mod display;
mod end;
mod error;
mod key_queue;
mod protocol;
mod runtime;
mod serve;
mod signals;
mod terminal;
mod type_line;

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

/// The argument that makes the program a terminal process.
pub const ARGUMENT: &str = "__terminal";
/// The number of columns of a terminal to which no person is attached.
pub const COLUMNS: u16 = 160;
/// Its number of rows.
pub const ROWS: u16 = 50;
/// The number of lines of scrollback.
pub const SCROLLED: usize = 2000;
/// The sequence that ends a bracketed paste.
const PASTE_END: &str = "\x1b[201~";

/// A session; every process that knows these values can use it.
///
/// No call but [`attach`](Session::attach) and [`end`](Session::end) takes longer than a few
/// seconds, whatever the program in the session does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The folder of its task, which is prepared and uses a terminal. An absolute path, like all
    /// others here.
    pub folder: PathBuf,
    /// Its name, unique in the runtime folder.
    pub name: String,
    /// The path of this program.
    pub binary: PathBuf,
    /// The folder for sockets, accessible only to the current user.
    pub runtime: PathBuf,
}

impl Session {
    /// Returns the folder for the sockets of all sessions.
    pub fn runtime_folder(state: &Path) -> PathBuf {
        anyhook_model::StateDir::new(state).run()
    }

    /// Fails if this system does not support sessions.
    pub fn check() -> Result<(), SessionError> {
        terminal::open().map(drop).map_err(|error| SessionError::Failed {
            what: "cannot create a terminal".to_owned(),
            why: error.to_string(),
        })
    }

    /// Starts the task in the folder on a terminal, and returns when a supervisor has claimed it.
    /// Does nothing if it was already started.
    pub fn start(&self) -> Result<(), SessionError> {
        if !task::is_begun(&self.folder) {
            start_terminal(self)?;
        }
        // If another process has started it, it may not be listening yet.
        try_poll_until(Instant::now() + LIMIT, LOOK_EVERY, || {
            let runs = matches!(task::status(&self.folder)?, TaskStatus::Running(_));
            Ok((!runs || self.is_there()?).then_some(()))
        })
        .map(drop)
    }

    /// Returns whether the session exists.
    pub fn is_there(&self) -> Result<bool, SessionError> {
        match connect(self) {
            Ok(_) => Ok(true),
            Err(SessionError::NotThere(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the text on the screen.
    pub fn screen(&self) -> Result<String, SessionError> {
        text(self, SessionRequest::Screen)
    }

    /// Returns the position of the cursor: its column and its row.
    pub fn cursor(&self) -> Result<(u16, u16), SessionError> {
        let told = text(self, SessionRequest::Cursor)?;
        let mut numbers = told.split_whitespace().map_while(|number| number.parse().ok());
        Ok((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)))
    }

    /// Returns the text on the screen, with escape sequences for colours.
    pub fn coloured(&self) -> Result<String, SessionError> {
        text(self, SessionRequest::Coloured)
    }

    /// Returns the text on the screen and the scrollback; for a session that is over, its last
    /// screen, from the file `screen` in the task's folder.
    pub fn history(&self) -> Result<String, SessionError> {
        match text(self, SessionRequest::History) {
            Err(SessionError::NotThere(_)) => kept_screen(self),
            answered => answered,
        }
    }

    /// Pastes a text to the program, byte for byte; as one piece, if the program supports bracketed
    /// paste. Does not press Enter.
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

    /// Ends the session and its task with all processes it has started. The last screen is then in
    /// the file `screen`. Does nothing if the session is over.
    pub fn end(&self) -> Result<(), SessionError> {
        end_task(&self.folder)?;
        // The terminal process saves the last screen, and then stops listening.
        let over = try_poll_until(Instant::now() + LIMIT, LOOK_EVERY, || {
            Ok::<_, SessionError>((!self.is_there()?).then_some(()))
        })?;
        over.ok_or_else(|| SessionError::Slow(format!("the terminal of `{}`", self.name)))
    }

    /// Shows the session in this process's terminal, until the person detaches or it is over.
    pub fn attach(&self) -> Result<(), SessionError> {
        attach::attach(self)
    }
}

/// Returns the byte that the control key makes of a character.
fn control(character: char) -> Result<u8, SessionError> {
    Key::control(character).ok_or(SessionError::NoKey(character))
}

/// Rejects a text that would end its own paste.
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

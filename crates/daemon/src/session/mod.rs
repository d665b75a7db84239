//! Agents' sessions: a task on a terminal that a person can look at, type into and sit down at.
//!
//! | kind | file |
//! |---|---|
//! | in `tmux`, on a server of our own | [`tmux`] |
//! | on a terminal of our own, kept by another process of ours | [`pty`] |
//!
//! Both run the keeper of a [task](crate::task) on their terminal, so that a session ends with a
//! result, and both are found again by whoever knows its [`Place`].

mod end;
pub mod pty;
mod runtime;
mod signals;
pub mod tmux;
mod typing;

use std::fmt::Debug;
use std::io;
use std::path::PathBuf;

pub use anyhook_model::Key;
use anyhook_model::pipeline::SessionKind;

use crate::task::TaskError;

pub use typing::type_line_if;

/// How wide a terminal is that nobody sits at.
pub const COLUMNS: u16 = 160;
/// How high it is.
pub const ROWS: u16 = 50;
/// So many lines that scrolled away are kept.
pub const SCROLLED: usize = 2000;

/// Where a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The folder of its task, which is prepared and has a terminal. An absolute path, as all here.
    pub folder: PathBuf,
    /// Its name, of which there is one in the runtime folder.
    pub name: String,
    /// This program.
    pub binary: PathBuf,
    /// The folder for sockets, for us alone.
    pub runtime: PathBuf,
}

/// Returns the byte that the control key makes of a character.
fn control(character: char) -> Result<u8, SessionError> {
    Key::control(character).ok_or(SessionError::NoKey(character))
}

/// How sessions are kept.
///
/// No call but [`attach`](Sessions::attach) and [`end`](Sessions::end) takes longer than a few
/// seconds, whatever the program in the session does.
pub trait Sessions: Debug + Send + Sync {
    /// Returns which kind it is.
    fn kind(&self) -> SessionKind;

    /// Says why there can be no such session, if so.
    fn check(&self) -> Result<(), SessionError>;

    /// Begins the task in the place's folder on a terminal, and returns when a keeper has it. One
    /// that was begun before is left alone.
    fn start(&self, place: &Place) -> Result<(), SessionError>;

    /// Tells whether the session is there.
    fn is_there(&self, place: &Place) -> Result<bool, SessionError>;

    /// Returns what is on the screen, as plain text.
    fn screen(&self, place: &Place) -> Result<String, SessionError>;

    /// Returns where the cursor is: its column and its row.
    fn cursor(&self, place: &Place) -> Result<(u16, u16), SessionError>;

    /// Returns what is on the screen, with the sequences that colour it.
    fn coloured(&self, place: &Place) -> Result<String, SessionError>;

    /// Returns what is on the screen and what scrolled away, as plain text; of a session that is
    /// over, what was seen last, from the file `screen` in the task's folder. A terminal of our own
    /// writes it when it ends. `tmux` does not, so there every look that shows something else is
    /// kept: look now and then.
    fn history(&self, place: &Place) -> Result<String, SessionError>;

    /// Gives the program a text as if it were pasted, to the byte; as one piece, if the program
    /// can tell a paste from what is typed. Enter is not pressed.
    fn paste(&self, place: &Place, text: &str) -> Result<(), SessionError>;

    /// Presses a key.
    fn press(&self, place: &Place, key: Key) -> Result<(), SessionError>;

    /// Ends the task with all it has started, and the session. What was seen last is in the file
    /// `screen` then. A session that is over is left alone.
    fn end(&self, place: &Place) -> Result<(), SessionError>;

    /// Shows the session in this process's terminal, until the person leaves it or it is over.
    fn attach(&self, place: &Place) -> Result<(), SessionError>;
}

/// Returns how sessions of a kind are kept.
pub fn of_kind(kind: SessionKind) -> &'static dyn Sessions {
    match kind {
        SessionKind::Tmux => &tmux::Tmux,
        SessionKind::Pty => &pty::Pty,
    }
}

/// Returns the best kind that can be had here.
pub fn best() -> SessionKind {
    if tmux::Tmux.check().is_ok() { SessionKind::Tmux } else { SessionKind::Pty }
}

/// Why a session cannot be dealt with.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is no `tmux` that would do.
    #[error("tmux cannot be used: {0}")]
    NoTmux(String),
    /// There is no such session, or not any more.
    #[error("there is no session `{0}`")]
    NotThere(String),
    /// Its task cannot be dealt with.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Its task could not be begun.
    #[error("the session `{name}` could not be started: {why}")]
    NotStarted {
        /// The session.
        name: String,
        /// Why.
        why: String,
    },
    /// A folder or file cannot be used.
    #[error("`{}` cannot be used: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A folder is open to others.
    #[error("`{}` belongs to somebody else", .0.display())]
    NotOurs(PathBuf),
    /// Whoever answers is somebody else.
    #[error("the socket of the session `{0}` belongs to another user's process")]
    Stranger(String),
    /// What was asked for could not be done.
    #[error("{what}: {why}")]
    Failed {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
    /// It does not answer in time.
    #[error("{0} does not answer")]
    Slow(String),
    /// The text would end its own paste, and the rest would be typed.
    #[error("the text holds the sequence of bytes that ends a paste")]
    Unpastable,
    /// There is no such key.
    #[error("there is no key for {0:?} with the control key")]
    NoKey(char),
    /// What was typed did not appear.
    #[error("the session `{0}` does not show what was typed")]
    NotShown(String),
    /// A session can only be shown in a terminal.
    #[error("this is no terminal")]
    NoTerminal,
}

impl SessionError {
    /// Returns the next step.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoTmux(_) => "install tmux 3.0 or later, or say session = \"pty\"",
            Self::NotThere(_) => "anyhook agent list",
            Self::Task(error) => error.hint(),
            Self::NotStarted { .. } | Self::Failed { .. } => "anyhook daemon logs",
            Self::File { .. } | Self::NotOurs(_) | Self::Stranger(_) => {
                "look at who owns the folder, and its rights"
            }
            Self::Slow(_) => "try again; if that does not help, end the session",
            Self::Unpastable => "leave control characters out",
            Self::NoKey(_) => "use a letter",
            Self::NotShown(_) => "attach to the session and look at what it waits for",
            Self::NoTerminal => "run it in a terminal",
        }
    }
}

/// What ends a paste for a program that can tell.
const PASTE_END: &str = "\x1b[201~";

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
    fn every_kind_is_kept() {
        for kind in [SessionKind::Tmux, SessionKind::Pty] {
            assert_eq!(of_kind(kind).kind(), kind);
        }
    }

    #[test]
    fn a_text_cannot_end_its_own_paste() {
        check_paste("a\x1b[200~b\n").unwrap();
        assert!(matches!(check_paste("a\x1b[201~\r"), Err(SessionError::Unpastable)));
    }
}

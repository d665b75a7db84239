//! What is said to the process that keeps a terminal. It may be older than we are.

use serde::{Deserialize, Serialize};

use super::Key;

/// The version of what is said.
///
/// - 1: the first.
pub(super) const TERMINAL_VERSION: u32 = 1;

/// A question.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RequestFrame {
    /// [`TERMINAL_VERSION`].
    pub(super) v: u32,
    /// What is asked.
    pub(super) what: SessionRequest,
}

/// What may be asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SessionRequest {
    /// What is on the screen.
    Screen,
    /// Where the cursor is: its column and its row.
    Cursor,
    /// What is on the screen, with colours.
    Coloured,
    /// With what scrolled away.
    History,
    /// To give the program a text.
    Paste(String),
    /// To press a key.
    Press(Key),
    /// To see all that happens, and to type. After the answer, [`ClientOutput`] goes one way and
    /// [`ClientInput`] the other.
    Attach(TerminalSize),
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SessionReply {
    /// It is done.
    Done,
    /// The text that was asked for.
    Text(String),
    /// It was not done, and why.
    Refused(String),
}

/// How large a terminal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TerminalSize {
    /// Its rows.
    pub(super) rows: u16,
    /// Its columns.
    pub(super) columns: u16,
}

/// What a person at a terminal does.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientInput {
    /// Types.
    Typed(Vec<u8>),
    /// Has another size of terminal.
    Resized(TerminalSize),
}

/// What a person sees.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientOutput {
    /// What makes the person's terminal look like this one.
    Shown(String),
    /// The session is over.
    Over,
}

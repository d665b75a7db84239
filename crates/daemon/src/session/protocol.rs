//! The protocol of the terminal process, which may be older than this program.

use serde::{Deserialize, Serialize};

use super::Key;

/// The version of the protocol.
///
/// - 1: the first.
pub(super) const TERMINAL_VERSION: u32 = 1;

/// A request.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RequestFrame {
    /// [`TERMINAL_VERSION`].
    pub(super) v: u32,
    /// The request itself.
    pub(super) what: SessionRequest,
}

/// The requests.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SessionRequest {
    /// The text on the screen.
    Screen,
    /// The position of the cursor: its column and its row.
    Cursor,
    /// The text on the screen, with colours.
    Coloured,
    /// The text on the screen, with the scrollback.
    History,
    /// Pastes a text to the program.
    Paste(String),
    /// Presses a key.
    Press(Key),
    /// Attaches: shows the screen and accepts input. After the reply, [`ClientOutput`] goes one way
    /// and [`ClientInput`] the other.
    Attach(TerminalSize),
}

/// A reply.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SessionReply {
    /// It is done.
    Done,
    /// The requested text.
    Text(String),
    /// It was not done; the reason.
    Refused(String),
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TerminalSize {
    /// Its rows.
    pub(super) rows: u16,
    /// Its columns.
    pub(super) columns: u16,
}

/// Input from an attached person.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientInput {
    /// Keys that were typed.
    Typed(Vec<u8>),
    /// The person's terminal has a new size.
    Resized(TerminalSize),
}

/// Output to an attached person.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientOutput {
    /// The bytes that make the person's terminal look like this one.
    Shown(String),
    /// The session is over.
    Over,
}

//! Emulates a terminal's screen from the bytes a program prints. No I/O.

use std::fmt::Write;
use std::num::NonZeroU16;

use vt100::{Callbacks, Color, Parser, Screen};

use super::end::trimmed;
use super::protocol::TerminalSize;
use super::{Key, SCROLLED, SessionError, control};

/// The minimum and maximum number of rows or columns; no real terminal has more.
const SIDE: (u16, u16) = (2, 1000);
/// Resets the modes that a program may have set, before those that are active are set.
pub(super) const NO_MODES: &str = "\x1b[?1l\x1b>\x1b[?2004l\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[ q";

fn background(colour: Color) -> String {
    match colour {
        Color::Default => "\x1b[49m".to_owned(),
        Color::Idx(index) => format!("\x1b[48;5;{index}m"),
        Color::Rgb(red, green, blue) => format!("\x1b[48;2;{red};{green};{blue}m"),
    }
}

/// A terminal without a physical screen.
pub(super) struct Display {
    parser: Parser<TerminalReplies>,
}

/// What a person's terminal currently shows.
#[derive(Debug, Default)]
pub(super) struct TerminalView {
    size: Option<(NonZeroU16, NonZeroU16)>,
    rows: Vec<String>,
    modes: String,
    cursor: String,
}

impl Display {
    /// Creates an empty display.
    pub(super) fn new(size: TerminalSize) -> Self {
        let (rows, columns) = sides(size);
        Self {
            parser: Parser::new_with_callbacks(rows, columns, SCROLLED, TerminalReplies::default()),
        }
    }

    /// Processes the program's output. Returns the terminal's replies to it.
    pub(super) fn print(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.parser.process(bytes);
        std::mem::take(&mut self.parser.callbacks_mut().said)
    }

    /// Resizes the display, and returns the resulting size.
    pub(super) fn resize(&mut self, size: TerminalSize) -> TerminalSize {
        let (rows, columns) = sides(size);
        self.parser.set_size(rows, columns);
        TerminalSize { rows: rows.get(), columns: columns.get() }
    }

    /// Returns the text on it.
    pub(super) fn text(&self) -> String {
        let (_, columns) = self.parser.screen().size();
        let rows: Vec<String> = self.parser.screen().rows(0, columns.get()).collect();
        trimmed(&rows.join("\n"))
    }

    /// Returns the position of the cursor: its column and its row.
    pub(super) fn cursor(&self) -> String {
        let (row, column) = self.parser.screen().cursor_position();
        format!("{column} {row}")
    }

    /// Returns the text on it, with colours and attributes.
    pub(super) fn coloured(&self) -> String {
        let screen = self.parser.screen();
        let (rows, columns) = screen.size();
        let mut text = String::new();
        for row in 0..rows.get() {
            let mut behind = Color::Default;
            for cell in (0..columns.get()).filter_map(|column| screen.cell(row, column)) {
                if cell.is_wide_continuation() {
                    continue;
                }
                if cell.bgcolor() != behind {
                    behind = cell.bgcolor();
                    text.push_str(&background(behind));
                }
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
            }
            text.push_str("\x1b[0m\n");
        }
        text
    }

    /// Returns the text on it and the scrollback; lines that were wrapped are joined.
    pub(super) fn history(&mut self) -> String {
        let screen = self.parser.screen_mut();
        let (rows, columns) = screen.size();
        screen.set_scrollback(usize::MAX);
        let mut text = String::new();
        loop {
            let left = screen.scrollback();
            let wanted = if left == 0 { usize::from(rows.get()) } else { left };
            let lines: Vec<String> = screen.rows(0, columns.get()).take(wanted).collect();
            for (row, line) in (0..).zip(lines) {
                text.push_str(&line);
                if !screen.row_wrapped(row) {
                    text.push('\n');
                }
            }
            if left == 0 {
                return trimmed(&text);
            }
            screen.set_scrollback(left.saturating_sub(usize::from(rows.get())));
        }
    }

    /// Returns the bytes of a paste, as the program expects them.
    pub(super) fn paste(&self, text: &str) -> Vec<u8> {
        if self.parser.screen().bracketed_paste() {
            format!("\x1b[200~{text}\x1b[201~").into_bytes()
        } else {
            text.as_bytes().to_vec()
        }
    }

    /// Returns the bytes of a key, as the program expects them.
    pub(super) fn key(&self, key: Key) -> Result<Vec<u8>, SessionError> {
        let is_application = self.parser.screen().application_cursor();
        let arrow = |letter: u8| vec![0x1b, if is_application { b'O' } else { b'[' }, letter];
        Ok(match key {
            Key::Enter => vec![b'\r'],
            Key::Escape => vec![0x1b],
            Key::Up => arrow(b'A'),
            Key::Down => arrow(b'B'),
            Key::Right => arrow(b'C'),
            Key::Left => arrow(b'D'),
            Key::Tab => vec![b'\t'],
            Key::Character(character) => character.to_string().into_bytes(),
            Key::Control(character) => vec![control(character)?],
        })
    }

    /// Returns the bytes that update a person's terminal from `shown` to this; they contain no
    /// terminal queries.
    pub(super) fn show(&self, shown: &mut TerminalView) -> String {
        let screen = self.parser.screen();
        let mut text = String::new();
        if shown.size != Some(screen.size()) {
            *shown = TerminalView { size: Some(screen.size()), ..TerminalView::default() };
            text.push_str("\x1b[m\x1b[2J");
        }
        let (_, columns) = screen.size();
        let rows: Vec<String> = screen.rows_formatted(0, columns.get()).collect();
        for (number, row) in rows.iter().enumerate() {
            if shown.rows.get(number) != Some(row) {
                let _ = write!(text, "\x1b[{};1H\x1b[m\x1b[2K{row}", number + 1);
            }
        }
        let (modes, cursor) = (screen.input_mode_formatted(), screen.cursor_state_formatted());
        if shown.modes != modes {
            text.push_str(NO_MODES);
            text.push_str(&modes);
        }
        if !text.is_empty() || shown.cursor != cursor {
            let _ = write!(text, "\x1b[m{cursor}");
        }
        *shown = TerminalView { size: Some(screen.size()), rows, modes, cursor };
        text
    }
}

impl std::fmt::Debug for Display {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Display").field("size", &self.parser.screen().size()).finish()
    }
}

fn sides(size: TerminalSize) -> (NonZeroU16, NonZeroU16) {
    let within = |length: u16| NonZeroU16::MIN.saturating_add(length.clamp(SIDE.0, SIDE.1) - 1);
    (within(size.rows), within(size.columns))
}

/// A terminal's replies, without which many programs wait forever.
#[derive(Debug, Default)]
struct TerminalReplies {
    said: Vec<u8>,
}

impl Callbacks for TerminalReplies {
    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        first: Option<u8>,
        second: Option<u8>,
        numbers: &[&[u16]],
        letter: char,
    ) {
        let number = numbers.first().and_then(|number| number.first()).copied().unwrap_or(0);
        let (row, column) = screen.cursor_position();
        let (row, column) = (row + 1, column + 1);
        let (rows, columns) = screen.size();
        let answer = match (first, second, number, letter) {
            // Device status.
            (None, None, 5, 'n') => "\x1b[0n".to_owned(),
            // Cursor position.
            (None, None, 6, 'n') => format!("\x1b[{row};{column}R"),
            (Some(b'?'), None, 6, 'n') => format!("\x1b[?{row};{column}R"),
            // Device attributes: a VT100 with advanced video, as many report.
            (None, None, 0, 'c') => "\x1b[?1;2c".to_owned(),
            (Some(b'>'), None, 0, 'c') => "\x1b[>0;10;0c".to_owned(),
            // Size of the text area.
            (None, None, 18, 't') => format!("\x1b[8;{rows};{columns}t"),
            _ => return,
        };
        self.said.extend_from_slice(answer.as_bytes());
    }
}

#[cfg(test)]
mod tests;

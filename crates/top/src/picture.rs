//! The picture: the content of the screen, row by row. Every pane is as wide as the terminal, so
//! rows are all there is to draw.

use std::fmt::Write;

use anstyle::Style;
use anyhook_terminal::{OwnedStyledText, StyledLine, Tone, first_line};
use unicode_width::UnicodeWidthStr;

/// Tones as styles: the terminal's own sixteen colours, or none.
#[derive(Clone, Copy, Debug)]
pub struct Palette {
    /// Whether there are colours.
    pub colours: bool,
}

impl Palette {
    /// Returns how a tone looks.
    pub fn style(self, tone: Tone) -> Style {
        if self.colours { tone.style() } else { tone.style().fg_color(None) }
    }
}

/// A row of the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScreenRow {
    /// Its content, at most as wide as the screen.
    pub pieces: StyledLine,
    /// Whether it is the selected one.
    pub is_selected: bool,
}

impl ScreenRow {
    /// Returns its text.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// The content of the screen.
#[derive(Debug)]
pub struct Picture {
    /// Its width.
    pub width: usize,
    /// Its rows so far, from the top.
    pub rows: Vec<ScreenRow>,
}

impl Picture {
    /// Starts a picture.
    pub fn new(width: usize) -> Self {
        Self { width, rows: Vec::new() }
    }

    /// Adds a row. What does not fit is visibly cut.
    pub fn row(&mut self, pieces: &[OwnedStyledText]) {
        self.add(pieces, false);
    }

    /// Adds a row that is marked as the selected one.
    pub fn selected_row(&mut self, pieces: &[OwnedStyledText]) {
        self.add(pieces, true);
    }

    fn add(&mut self, pieces: &[OwnedStyledText], is_selected: bool) {
        let mut row = ScreenRow { pieces: StyledLine::new(), is_selected };
        let mut left = self.width;
        for (tone, text) in pieces {
            let text: String = text.chars().filter(|letter| !is_unseen(*letter)).collect();
            let text = first_line(&text, left);
            left = left.saturating_sub(text.width());
            row.pieces.push((*tone, text));
        }
        self.rows.push(row);
    }

    /// Adds rows.
    pub fn rows(&mut self, rows: &[StyledLine]) {
        for pieces in rows {
            self.row(pieces);
        }
    }

    /// Makes it this many rows high: missing rows are empty, surplus rows are dropped.
    pub fn end_at(&mut self, height: usize) {
        self.rows.resize_with(height, ScreenRow::default);
    }

    /// Adds the line of keys; those that do not fit are left out.
    pub fn keys(&mut self, before: &[OwnedStyledText], keys: &[(&str, &str)]) {
        let mut pieces = before.to_vec();
        let mut used: usize = pieces.iter().map(|(_, text)| text.width()).sum();
        for (key, word) in keys {
            let between = if used == 0 { "" } else { "  " };
            used += between.width() + key.width() + 1 + word.width();
            if used > self.width {
                break;
            }
            pieces.push((Tone::Strong, format!("{between}{key}")));
            pieces.push((Tone::Dim, format!(" {word}")));
        }
        self.row(&pieces);
    }

    /// Adds a line with a title; a double one for the pane with the focus.
    pub fn title(&mut self, title: &[OwnedStyledText], has_focus: bool) {
        let (line, tone) = if has_focus { ("═", Tone::Hint) } else { ("─", Tone::Dim) };
        let mut pieces = vec![(tone, format!("{line}{line} "))];
        pieces.extend_from_slice(title);
        pieces.push((tone, " ".to_owned()));
        let used: usize = pieces.iter().map(|(_, text)| text.width()).sum();
        pieces.push((tone, line.repeat(self.width.saturating_sub(used))));
        self.row(&pieces);
    }

    /// Returns each row with escape sequences for the terminal.
    pub fn escaped(&self, palette: Palette) -> Vec<String> {
        let row = |row: &ScreenRow| {
            let mut text = String::new();
            let mut put = |tone: Tone, piece: &str| {
                let style = palette.style(tone);
                let style = if row.is_selected { style.invert() } else { style };
                // Writing to a string cannot fail.
                let _ = write!(text, "{style}{piece}{style:#}");
            };
            for (tone, piece) in &row.pieces {
                put(*tone, piece);
            }
            if row.is_selected {
                // The whole row is marked.
                put(Tone::Plain, &" ".repeat(self.width.saturating_sub(row.text().width())));
            }
            text
        };
        self.rows.iter().map(row).collect()
    }
}

/// Returns whether a character has no width of its own and affects its surroundings: direction
/// marks, joiners without effect.
fn is_unseen(letter: char) -> bool {
    matches!(letter,
        '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The rows in quotation marks, as wide as the screen.
#[cfg(test)]
impl std::fmt::Display for Picture {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for row in &self.rows {
            let text = row.text();
            let blanks = " ".repeat(self.width.saturating_sub(text.width()));
            writeln!(formatter, "\"{text}{blanks}\"")?;
        }
        Ok(())
    }
}

//! Where the view is drawn: rows of pieces, tones as styles.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use unicode_width::UnicodeWidthStr;

use super::table::cut;
use crate::ui::Tone;
use crate::ui::{Line as Row, OwnedPiece as Piece};

/// Tones as styles: the terminal's own sixteen colours, or none.
#[derive(Clone, Copy, Debug)]
pub struct Palette {
    /// Whether there are colours.
    pub colours: bool,
}

impl Palette {
    fn style(self, tone: Tone) -> Style {
        let colour = |colour: Color| {
            if self.colours { Style::new().fg(colour) } else { Style::new() }
        };
        match tone {
            Tone::Plain => Style::new(),
            Tone::Strong => Style::new().add_modifier(Modifier::BOLD),
            Tone::Good => colour(Color::Green),
            Tone::Bad => colour(Color::Red).add_modifier(Modifier::BOLD),
            Tone::Warn => colour(Color::Yellow),
            Tone::Dim => Style::new().add_modifier(Modifier::DIM),
            Tone::Hint => colour(Color::Cyan),
        }
    }
}

/// Where it is drawn.
#[derive(Debug)]
pub struct Canvas<'buffer> {
    /// What goes to the terminal.
    pub buffer: &'buffer mut Buffer,
    /// How tones look.
    pub palette: Palette,
}

impl Canvas<'_> {
    /// Draws pieces at the beginning of a row of an area. Returns the column after them.
    pub fn row(&mut self, area: Rect, row: u16, pieces: &[Piece]) -> u16 {
        let mut x = area.x;
        if row >= area.height {
            return x;
        }
        for (tone, text) in pieces {
            let left = usize::from(area.right().saturating_sub(x));
            // What does not fit is cut visibly.
            let text = cut(text, left);
            let style = self.palette.style(*tone);
            x = self.buffer.set_stringn(x, area.y + row, text, left, style).0;
        }
        x
    }

    /// Draws the line of keys; those that do not fit are left out.
    pub fn keys(&mut self, area: Rect, before: &[Piece], keys: &[(&str, &str)]) {
        let mut pieces = before.to_vec();
        let mut used: usize = pieces.iter().map(|(_, text)| text.width()).sum();
        for (key, word) in keys {
            let between = if used == 0 { "" } else { "  " };
            used += between.width() + key.width() + 1 + word.width();
            if used > usize::from(area.width) {
                break;
            }
            pieces.push((Tone::Strong, format!("{between}{key}")));
            pieces.push((Tone::Dim, format!(" {word}")));
        }
        self.row(area, 0, &pieces);
    }

    /// Draws a line with a title; a double one where the keys go.
    pub fn title(&mut self, area: Rect, title: &[Piece], has_focus: bool) {
        let (line, tone) = if has_focus { ("═", Tone::Hint) } else { ("─", Tone::Dim) };
        let mut pieces = vec![(tone, format!("{line}{line} "))];
        pieces.extend_from_slice(title);
        pieces.push((tone, " ".to_owned()));
        let end = self.row(area, 0, &pieces);
        let rest = Rect { x: end, width: area.right() - end, ..area };
        self.row(rest, 0, &[(tone, line.repeat(usize::from(rest.width)))]);
    }

    /// Draws rows from the top of an area on.
    pub fn rows(&mut self, area: Rect, rows: &[Row]) {
        for (row, pieces) in (0..).zip(rows) {
            self.row(area, row, pieces);
        }
    }

    /// Marks a row of an area as the selected one.
    pub fn select(&mut self, area: Rect, row: u16) {
        let whole = Rect { y: area.y + row, height: 1, ..area };
        self.buffer.set_style(whole, Style::new().add_modifier(Modifier::REVERSED));
    }
}

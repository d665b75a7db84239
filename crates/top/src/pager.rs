//! The pager: text that fills the screen and scrolls.

use unicode_width::UnicodeWidthChar;

use crate::cursor::CursorMove;
use anyhook_terminal::printable;
use anyhook_terminal::{OwnedStyledText as Piece, StyledLine as Row};

/// A tab advances to the next multiple of this.
const TAB: usize = 4;

/// A text with tones, wrapped to the screen's width.
#[derive(Debug)]
pub struct Pager {
    /// Its title.
    pub title: String,
    text: Vec<Row>,
    wrapped: Vec<Row>,
    width: usize,
    height: usize,
    offset: usize,
}

impl Pager {
    /// Opens a text.
    pub fn new(title: impl Into<String>, text: Vec<Row>) -> Self {
        Self { title: title.into(), text, wrapped: Vec::new(), width: 0, height: 1, offset: 0 }
    }

    /// Scrolls.
    pub fn go(&mut self, to: CursorMove) {
        // The end is only known when it is drawn, which may be after the next key.
        self.offset = to.from(self.offset, usize::MAX, self.height);
    }

    /// Returns the visible rows at this size.
    pub fn seen(&mut self, width: usize, height: usize) -> &[Row] {
        if width != self.width {
            self.wrapped = self.text.iter().flat_map(|row| wrap(row, width)).collect();
            self.width = width;
        }
        self.height = height;
        self.offset = self.offset.min(self.last_offset());
        let end = self.wrapped.len().min(self.offset + height);
        &self.wrapped[self.offset..end]
    }

    /// Returns how much of the text has been shown, in per cent.
    pub fn progress(&self) -> usize {
        let seen = self.wrapped.len().min(self.offset + self.height);
        (seen * 100).checked_div(self.wrapped.len()).unwrap_or(100)
    }

    fn last_offset(&self) -> usize {
        self.wrapped.len().saturating_sub(self.height)
    }
}

/// Wraps a row that is too wide. The result cannot control a terminal.
fn wrap(row: &[Piece], width: usize) -> Vec<Row> {
    let mut rows = vec![Row::new()];
    let mut column = 0;
    for (tone, text) in row {
        let mut part = String::new();
        for letter in printable(text).chars() {
            let (letter, wide, times) = match letter {
                '\t' => (' ', 1, TAB - column % TAB),
                '\n' => (' ', 1, 1),
                letter => (letter, letter.width().unwrap_or(0), 1),
            };
            for _ in 0..times {
                if column + wide > width && column > 0 {
                    if let Some(last) = rows.last_mut() {
                        last.push((*tone, std::mem::take(&mut part)));
                    }
                    rows.push(Row::new());
                    column = 0;
                }
                part.push(letter);
                column += wide;
            }
        }
        if let Some(last) = rows.last_mut() {
            last.push((*tone, part));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhook_terminal::Tone;

    fn plain(rows: &[Row]) -> Vec<String> {
        rows.iter().map(|row| row.iter().map(|(_, text)| text.as_str()).collect()).collect()
    }

    fn row(text: &str) -> Row {
        vec![(Tone::Plain, text.to_owned())]
    }

    #[test]
    fn long_lines_are_wrapped_and_nothing_steers_the_terminal() {
        let wrapped = wrap(&row("abc\u{1b}[2Jdef"), 4);
        assert_eq!(plain(&wrapped), ["abc\u{fffd}", "[2Jd", "ef"]);
        assert_eq!(plain(&wrap(&row("a\tb"), 9)), ["a   b"]);
        assert_eq!(plain(&wrap(&row("日本語"), 4)), ["日本", "語"]);
        assert_eq!(plain(&wrap(&row("日本"), 1)), ["日", "本"], "too narrow, but an end");
        assert_eq!(plain(&wrap(&[], 4)), [""]);
        let tones = [(Tone::Bad, "ab".to_owned()), (Tone::Good, "cd".to_owned())];
        assert_eq!(wrap(&tones, 3)[1], [(Tone::Good, "d".to_owned())]);
    }

    #[test]
    fn it_scrolls_from_end_to_end() {
        let mut pager = Pager::new("t", (0..10).map(|number| row(&number.to_string())).collect());
        assert_eq!(plain(pager.seen(10, 4)), ["0", "1", "2", "3"]);
        pager.go(CursorMove::Down);
        assert_eq!(plain(pager.seen(10, 4))[0], "1");
        pager.go(CursorMove::PageDown);
        assert_eq!(plain(pager.seen(10, 4))[0], "4");
        pager.go(CursorMove::Last);
        assert_eq!(plain(pager.seen(10, 4)), ["6", "7", "8", "9"]);
        assert_eq!(pager.progress(), 100);
        pager.go(CursorMove::Down);
        pager.go(CursorMove::Down);
        assert_eq!(plain(pager.seen(10, 4))[0], "6");
        pager.go(CursorMove::Up);
        assert_eq!(plain(pager.seen(10, 4))[0], "5");
        assert_eq!(plain(pager.seen(10, 20)).len(), 10, "a larger screen shows all");
        pager.go(CursorMove::First);
        assert_eq!(plain(pager.seen(10, 3)), ["0", "1", "2"]);
        assert_eq!(pager.progress(), 30);
        let mut pager = Pager::new("t", (0..10).map(|number| row(&number.to_string())).collect());
        pager.go(CursorMove::Last);
        assert_eq!(plain(pager.seen(10, 4))[3], "9", "a key before it was drawn");
    }
}

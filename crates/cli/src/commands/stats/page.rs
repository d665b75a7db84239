//! Lines and tables that are no wider than the terminal.

use std::io;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::ui::{Cell, Out, Piece, Tone};

/// What stands between two columns, as [`Out::table`] has it.
const GAP: usize = 2;

/// Where a view is written, and how wide it may be.
pub(crate) struct Page<'out> {
    out: &'out mut Out,
    /// How wide the terminal is.
    pub width: usize,
}

/// One column of a table. A column without any text is left out.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    title: String,
    is_right: bool,
    /// Which column goes first where there is no room for all: the one with the least; none stays.
    weight: Option<u8>,
    /// To which width its text may be cut.
    least: Option<usize>,
    cells: Vec<(Tone, String)>,
}

impl Column {
    /// Makes a column of texts.
    pub fn new(title: &str, cells: impl Iterator<Item = (Tone, String)>) -> Self {
        let is_right = false;
        let cells = cells.collect();
        Self { title: title.to_owned(), is_right, weight: None, least: None, cells }
    }

    /// Aligns it to the right, as numbers are.
    pub fn right(mut self) -> Self {
        self.is_right = true;
        self
    }

    /// Lets it be left out where there is no room.
    pub fn weight(mut self, weight: u8) -> Self {
        self.weight = Some(weight);
        self
    }

    /// Lets its text be cut to this width.
    pub fn least(mut self, least: usize) -> Self {
        self.least = Some(least);
        self
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(|(_, text)| text.is_empty())
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|(_, text)| text.width()).max().unwrap_or(0);
        cells.max(self.title.width())
    }

    fn least_width(&self) -> usize {
        self.least.map_or(usize::MAX, |least| least.max(self.title.width())).min(self.width())
    }
}

impl<'out> Page<'out> {
    /// Writes to `out`, no wider than `width`.
    pub fn new(out: &'out mut Out, width: usize) -> Self {
        Self { out, width }
    }

    /// Writes an empty line.
    pub fn gap(&mut self) -> io::Result<()> {
        self.out.gap()
    }

    /// Writes a heading after an empty line.
    pub fn heading(&mut self, text: &str) -> io::Result<()> {
        self.out.gap()?;
        self.line(&[(Tone::Strong, text)])
    }

    /// Writes a line, cut where the terminal ends.
    pub fn line(&mut self, pieces: &[Piece<'_>]) -> io::Result<()> {
        let mut left = self.width;
        for (tone, text) in pieces {
            if left == 0 {
                break;
            }
            let text = cut(text, left);
            left = left.saturating_sub(text.width());
            self.out.pieces(&[(*tone, &text)])?;
        }
        self.out.gap()
    }

    /// Writes a table, with titles unless all are empty.
    pub fn table(&mut self, indent: usize, columns: Vec<Column>) -> io::Result<()> {
        let columns = fit(columns, self.width.saturating_sub(indent));
        let rows = columns.iter().map(|(column, _)| column.cells.len()).max().unwrap_or(0);
        let blanks = |width: usize| " ".repeat(width.saturating_sub(GAP));
        let mut cells: Vec<Vec<Cell>> = Vec::with_capacity(rows + 1);
        let mut add = |cell_of: &dyn Fn(&Column) -> (Tone, String)| {
            let mut row = Vec::with_capacity(columns.len() + 1);
            if indent > 0 {
                row.push(Cell::new(Tone::Plain, blanks(indent)));
            }
            for (column, width) in &columns {
                let (tone, text) = cell_of(column);
                let text = cut(&text, *width);
                let before = if column.is_right && !text.is_empty() {
                    width.saturating_sub(text.width())
                } else {
                    0
                };
                row.push(Cell::new(tone, " ".repeat(before) + &text));
            }
            cells.push(row);
        };
        if columns.iter().any(|(column, _)| !column.title.is_empty()) {
            add(&|column| (Tone::Dim, column.title.clone()));
        }
        for row in 0..rows {
            add(&|column| column.cells.get(row).cloned().unwrap_or((Tone::Plain, String::new())));
        }
        self.out.table(&cells)
    }
}

/// Returns the first line of a text, no wider than `width`.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let mut lines = text.lines();
    // A tab is as wide as the terminal likes.
    let line = lines.next().unwrap_or("").replace('\t', " ");
    if line.width() <= width && lines.next().is_none() {
        return line;
    }
    let mut short = String::new();
    let mut left = width.saturating_sub(1);
    for letter in line.chars() {
        let letter_width = letter.width().unwrap_or(1);
        if letter_width > left {
            break;
        }
        left -= letter_width;
        short.push(letter);
    }
    if width > 0 {
        short.push('…');
    }
    short
}

/// Leaves out columns, then cuts others, until all fit. Returns each with its width.
fn fit(mut columns: Vec<Column>, width: usize) -> Vec<(Column, usize)> {
    columns.retain(|column| !column.is_empty());
    let gaps = |columns: &[Column]| columns.len().saturating_sub(1) * GAP;
    loop {
        let needed: usize = columns.iter().map(Column::least_width).sum();
        let lightest = columns
            .iter()
            .enumerate()
            .filter_map(|(index, column)| Some((column.weight?, index)))
            .min();
        match lightest {
            Some((_, index)) if needed + gaps(&columns) > width => drop(columns.remove(index)),
            _ => break,
        }
    }
    let fixed: usize =
        columns.iter().filter(|column| column.least.is_none()).map(Column::width).sum();
    let mut room = width.saturating_sub(fixed + gaps(&columns));
    // The narrow ones get what they need; what they leave is for the wide ones.
    let mut order: Vec<usize> =
        (0..columns.len()).filter(|index| columns[*index].least.is_some()).collect();
    order.sort_by_key(|index| columns[*index].width());
    let mut widths: Vec<usize> = columns.iter().map(Column::width).collect();
    for (place, index) in order.iter().enumerate() {
        widths[*index] = widths[*index].min(room / (order.len() - place)).max(1);
        room = room.saturating_sub(widths[*index]);
    }
    columns.into_iter().zip(widths).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(title: &str, text: &str) -> Column {
        Column::new(title, std::iter::once((Tone::Plain, text.to_owned())))
    }

    fn titles(width: usize) -> Vec<(String, usize)> {
        let columns = vec![
            column("name", "a-rather-long-name").least(8),
            column("runs", "1,000").right(),
            column("last", "2026-03-01").weight(1),
            column("p95", "12 ms").weight(2),
            column("empty", ""),
        ];
        fit(columns, width).into_iter().map(|(column, width)| (column.title, width)).collect()
    }

    fn expected(columns: &[(&str, usize)]) -> Vec<(String, usize)> {
        columns.iter().map(|(title, width)| ((*title).to_owned(), *width)).collect()
    }

    #[test]
    fn what_weighs_least_goes_first() {
        assert_eq!(titles(80), expected(&[("name", 18), ("runs", 5), ("last", 10), ("p95", 5)]));
        assert_eq!(titles(34), expected(&[("name", 8), ("runs", 5), ("last", 10), ("p95", 5)]));
        assert_eq!(titles(33), expected(&[("name", 18), ("runs", 5), ("p95", 5)]));
        assert_eq!(titles(14), expected(&[("name", 7), ("runs", 5)]));
    }

    #[test]
    fn a_cut_text_is_never_too_wide() {
        for (text, width, expected) in [
            ("plain", 5, "plain"),
            ("plain", 4, "pla…"),
            ("two\nlines", 10, "two…"),
            ("a\tb", 3, "a b"),
            ("漢字漢字", 5, "漢字…"),
            ("漢字漢字", 6, "漢字…"),
            ("x", 0, ""),
            ("", 3, ""),
        ] {
            assert_eq!(cut(text, width), expected, "{text:?}");
            assert!(cut(text, width).width() <= width, "{text:?}");
        }
    }

    #[test]
    fn wide_columns_share_what_narrow_ones_leave() {
        let columns = vec![
            column("", &"a".repeat(50)).least(5),
            column("", "bbbb").least(5),
            column("", &"c".repeat(50)).least(5),
        ];
        let widths: Vec<usize> = fit(columns, 48).into_iter().map(|(_, width)| width).collect();
        assert_eq!(widths, [20, 4, 20]);
    }
}

//! Lines and tables that are at most as wide as the terminal.

use std::io;

use unicode_width::UnicodeWidthStr;

use crate::out::Out;
use crate::table::{Cell, GAP, WidthNeed, fit};
use crate::text::first_line;
use crate::tone::{StyledText, Tone};

/// The output of a view, and its maximum width.
#[derive(Debug)]
pub struct Page<'out> {
    out: &'out mut Out,
    /// The width of the terminal.
    pub width: usize,
}

/// One column of a table. A column without any text is left out.
#[derive(Clone, Debug)]
pub struct Column {
    title: String,
    is_right: bool,
    /// Which column is dropped first if there is no room for all: the one with the lowest weight;
    /// one without a weight is kept.
    weight: Option<u8>,
    /// The width to which its text may be cut.
    least: Option<usize>,
    /// It is not cut below this to make another column wider.
    firm: usize,
    cells: Vec<(Tone, String)>,
}

impl Column {
    /// Makes a column of texts.
    pub fn new(title: &str, cells: impl Iterator<Item = (Tone, String)>) -> Self {
        let is_right = false;
        let cells = cells.collect();
        Self { title: title.to_owned(), is_right, weight: None, least: None, firm: 1, cells }
    }

    /// Aligns it to the right, as numbers are.
    pub fn right(mut self) -> Self {
        self.is_right = true;
        self
    }

    /// Allows it to be left out if there is no room.
    pub fn weight(mut self, weight: u8) -> Self {
        self.weight = Some(weight);
        self
    }

    /// Allows its text to be cut to this width.
    pub fn least(mut self, least: usize) -> Self {
        self.least = Some(least);
        self
    }

    /// Allows its text to be cut to this width, and not below it to make another column wider.
    pub fn firm(mut self, least: usize) -> Self {
        (self.least, self.firm) = (Some(least), least);
        self
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(|(_, text)| text.is_empty())
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|(_, text)| text.width()).max().unwrap_or(0);
        cells.max(self.title.width())
    }

    fn need(&self) -> WidthNeed {
        let least = self.least.map(|least| least.max(self.title.width()));
        WidthNeed {
            width: self.width(),
            least,
            firm: self.firm.min(self.width()),
            weight: self.weight,
        }
    }
}

impl<'out> Page<'out> {
    /// Writes to `out`, at most `width` wide.
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

    /// Writes a line, cut at the width of the terminal.
    pub fn line(&mut self, pieces: &[StyledText<'_>]) -> io::Result<()> {
        let mut left = self.width;
        for (tone, text) in pieces {
            if left == 0 {
                break;
            }
            let text = first_line(text, left);
            left = left.saturating_sub(text.width());
            self.out.pieces(&[(*tone, &text)])?;
        }
        self.out.gap()
    }

    /// Writes a table, with titles unless all are empty.
    pub fn table(&mut self, indent: usize, columns: Vec<Column>) -> io::Result<()> {
        let columns = fitting(columns, self.width.saturating_sub(indent));
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
                let text = first_line(&text, *width);
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

/// Leaves out empty columns and those that do not fit. Returns each with its width.
fn fitting(mut columns: Vec<Column>, width: usize) -> Vec<(Column, usize)> {
    columns.retain(|column| !column.is_empty());
    let needs: Vec<WidthNeed> = columns.iter().map(Column::need).collect();
    let widths = fit(&needs, width);
    columns.into_iter().zip(widths).filter_map(|(column, width)| Some((column, width?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(title: &str, text: &str) -> Column {
        Column::new(title, std::iter::once((Tone::Plain, text.to_owned())))
    }

    #[test]
    fn columns_without_text_are_left_out_and_titles_count() {
        let columns = vec![
            column("name", "a-rather-long-name").least(8),
            column("runs", "1").right(),
            column("last", "2026-03-01").weight(1),
            column("empty", ""),
        ];
        let fitted = fitting(columns, 26);
        let titles: Vec<(&str, usize)> =
            fitted.iter().map(|(column, width)| (column.title.as_str(), *width)).collect();
        assert_eq!(titles, [("name", 8), ("runs", 4), ("last", 10)]);
    }
}

//! Rows in columns that fit the screen: the least important is dropped first.

use anyhook_terminal::table::{GAP, WidthNeed, fit};
use anyhook_terminal::{OwnedStyledText, StyledLine, Tone, first_line};
use unicode_width::UnicodeWidthStr;

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub heading: &'static str,
    /// It is not made narrower than this, but left out instead.
    pub least: usize,
    /// It is not made wider than this.
    pub most: usize,
    /// Whether it is aligned to the right, as numbers are.
    pub right: bool,
    /// Columns with a lower value are left out first.
    pub keep: u8,
}

/// Makes a column aligned to the left.
pub const fn words(heading: &'static str, least: usize, most: usize, keep: u8) -> Column {
    Column { heading, least, most, right: false, keep }
}

/// Makes a column of numbers.
pub const fn number(heading: &'static str, most: usize, keep: u8) -> Column {
    Column { heading, least: heading.len(), most, right: true, keep }
}

/// Returns each column's width for these rows; `None` for one that is left out.
pub fn widths(columns: &[Column], rows: &[StyledLine], available: usize) -> Vec<Option<usize>> {
    let content = |index: usize| {
        rows.iter().filter_map(|row| row.get(index)).map(|(_, text)| text.width()).max()
    };
    let need = |(index, column): (usize, &Column)| {
        let wanted = content(index).unwrap_or(0).max(column.heading.width());
        let width = wanted.clamp(column.least, column.most);
        // Half a number is another number, or has lost its unit.
        let least = if column.right { width } else { column.least };
        WidthNeed { width, least: Some(least), firm: least, weight: Some(column.keep) }
    };
    let needs: Vec<WidthNeed> = columns.iter().enumerate().map(need).collect();
    fit(&needs, available)
}

/// Aligns cells in their columns.
pub fn set(cells: &[OwnedStyledText], columns: &[Column], widths: &[Option<usize>]) -> StyledLine {
    let mut row = StyledLine::new();
    for ((cell, column), width) in cells.iter().zip(columns).zip(widths) {
        let Some(width) = width else { continue };
        if !row.is_empty() {
            row.push((Tone::Plain, " ".repeat(GAP)));
        }
        let text = first_line(&cell.1, *width);
        let blanks = " ".repeat(width.saturating_sub(text.width()));
        let text = if column.right { blanks + &text } else { text + &blanks };
        row.push((cell.0, text));
    }
    row
}

/// Returns the row of headings.
pub fn headings(columns: &[Column]) -> StyledLine {
    columns.iter().map(|column| (Tone::Dim, column.heading.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] =
        [words("NAME", 4, 10, 2), number("RUNS", 6, 1), words("ABOUT", 6, usize::MAX, 3)];

    fn shown(cells: [&str; 3], available: usize) -> String {
        let row: StyledLine = cells.iter().map(|text| (Tone::Plain, (*text).to_owned())).collect();
        let widths = widths(&COLUMNS, std::slice::from_ref(&row), available);
        let row = set(&row, &COLUMNS, &widths);
        row.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn columns_yield_and_then_go() {
        let cells = ["a-long-name", "12", "git push --force"];
        assert_eq!(shown(cells, 40), "a-long-na…    12  git push --force");
        assert_eq!(shown(cells, 28), "a-long-na…    12  git push …");
        assert_eq!(shown(cells, 16), "a-long…  git pu…");
        assert_eq!(shown(cells, 8), "git pus…");
        let cells = ["hook", "0.4 ms", "git push --force"];
        assert_eq!(shown(cells, 20), "hook  0.4 ms  git p…");
        assert_eq!(shown(cells, 18), "hook  git push --…");
        for available in 0..60 {
            let width = shown(cells, available).width();
            assert!(width <= available, "{available}: {width}");
        }
    }
}

//! Rows in columns that fit the screen: what is least needed goes first.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::ui::{Line as Row, OwnedPiece as Piece};
use crate::ui::{Tone, printable};

/// What stands between two columns.
const GAP: usize = 2;

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// What stands above it.
    pub heading: &'static str,
    /// It is not made narrower than this, rather left out.
    pub least: usize,
    /// It is not made wider than this.
    pub most: usize,
    /// Whether it is set to the right, as numbers are.
    pub right: bool,
    /// Columns with a lower one are left out first.
    pub keep: u8,
}

/// Makes a column set to the left.
pub const fn words(heading: &'static str, least: usize, most: usize, keep: u8) -> Column {
    Column { heading, least, most, right: false, keep }
}

/// Makes a column of numbers.
pub const fn number(heading: &'static str, most: usize, keep: u8) -> Column {
    Column { heading, least: heading.len(), most, right: true, keep }
}

/// Returns each column's width for these rows; one that is left out has none.
pub fn widths(columns: &[Column], rows: &[Row], available: usize) -> Vec<Option<usize>> {
    let content = |index: usize| {
        rows.iter().filter_map(|row| row.get(index)).map(|(_, text)| text.width()).max()
    };
    let mut widths: Vec<Option<usize>> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let wanted = content(index).unwrap_or(0).max(column.heading.width());
            Some(wanted.clamp(column.least, column.most))
        })
        .collect();
    let total = |widths: &[Option<usize>]| {
        widths.iter().flatten().map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
    };
    let least = |widths: &[Option<usize>]| {
        let least: Vec<_> = widths
            .iter()
            .zip(columns)
            .map(|(width, column)| width.and(Some(column.least)))
            .collect();
        total(&least)
    };
    while least(&widths) > available {
        let shown = (0..columns.len()).filter(|index| widths[*index].is_some());
        let Some(dropped) = shown.min_by_key(|index| columns[*index].keep) else { break };
        widths[dropped] = None;
    }
    while total(&widths) > available {
        let over = total(&widths) - available;
        let slack = |index: usize| widths[index].map_or(0, |width| width - columns[index].least);
        let Some(widest) = (0..columns.len()).max_by_key(|index| slack(*index)) else { break };
        // A part of it at a time: who has most gives most.
        let less = over.min(slack(widest)).div_ceil(4);
        widths[widest] = widths[widest].map(|width| width - less);
    }
    widths
}

/// Sets cells into their columns.
pub fn set(cells: &[Piece], columns: &[Column], widths: &[Option<usize>]) -> Row {
    let mut row = Row::new();
    for ((cell, column), width) in cells.iter().zip(columns).zip(widths) {
        let Some(width) = width else { continue };
        if !row.is_empty() {
            row.push((Tone::Plain, " ".repeat(GAP)));
        }
        let text = cut(&cell.1, *width);
        let blanks = " ".repeat(width.saturating_sub(text.width()));
        let text = if column.right { blanks + &text } else { text + &blanks };
        row.push((cell.0, text));
    }
    row
}

/// Returns the row that stands above the others.
pub fn headings(columns: &[Column]) -> Row {
    columns.iter().map(|column| (Tone::Dim, column.heading.to_owned())).collect()
}

/// Returns text on one line that cannot steer a terminal.
pub fn tidy(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}

/// Cuts a text to a width, and says so.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut cut, mut used) = (String::new(), 0);
    for letter in text.chars() {
        let wide = letter.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        cut.push(letter);
    }
    if width > 0 {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] =
        [words("NAME", 4, 10, 2), number("RUNS", 6, 1), words("ABOUT", 6, usize::MAX, 3)];

    fn shown(cells: [&str; 3], available: usize) -> String {
        let row: Row = cells.iter().map(|text| (Tone::Plain, (*text).to_owned())).collect();
        let widths = widths(&COLUMNS, std::slice::from_ref(&row), available);
        let row = set(&row, &COLUMNS, &widths);
        row.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn columns_yield_and_then_go() {
        let cells = ["a-long-name", "12", "git push --force"];
        assert_eq!(shown(cells, 40), "a-long-na…    12  git push --force");
        assert_eq!(shown(cells, 28), "a-long-n…    12  git push -…");
        assert_eq!(shown(cells, 16), "a-lon…  git pus…");
        assert_eq!(shown(cells, 8), "git pus…");
        for available in 0..60 {
            let width = shown(cells, available).width();
            assert!(width <= available.max(COLUMNS[2].least), "{available}: {width}");
        }
    }

    #[test]
    fn a_cut_never_exceeds_its_width() {
        for width in 0..12 {
            for text in ["", "plain text that is long", "日本語のテキスト", "é\u{301}x"] {
                assert!(cut(text, width).width() <= width, "{text} {width}");
            }
        }
    }

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(tidy("a\u{1b}[2J\nb\tc\r\u{9b}"), "a\u{fffd}[2J b c\u{fffd}\u{fffd}");
    }
}

//! Aligned columns of text, and columns that fit a width: the least important is dropped first.

use unicode_width::UnicodeWidthStr;

use crate::text::printable;
use crate::tone::{StyledLine, Tone};

/// The width of the gap between two columns.
pub const GAP: usize = 2;

/// One field of a table.
#[derive(Clone, Debug)]
pub struct Cell {
    tone: Tone,
    text: String,
}

impl Cell {
    /// Makes a field.
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { tone, text: printable(&text.into()) }
    }

    fn width(&self) -> usize {
        self.text.width()
    }
}

/// Returns rows as lines, in aligned columns.
pub fn columns(rows: &[Vec<Cell>]) -> Vec<StyledLine> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count)
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(Cell::width).max().unwrap_or(0)
        })
        .collect();
    let line = |row: &Vec<Cell>| {
        // Empty fields at the end leave no trailing spaces.
        let filled = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
        let mut line = StyledLine::new();
        for (column, cell) in row[..filled].iter().enumerate() {
            line.push((cell.tone, cell.text.clone()));
            if column + 1 < filled {
                // Not `{:blanks$}`: a width above 65,535 is refused with a panic.
                line.push((Tone::Plain, " ".repeat(widths[column] - cell.width() + GAP)));
            }
        }
        line
    };
    rows.iter().map(line).collect()
}

/// Returns a named value as lines, its name in an aligned column; further lines are aligned, too.
pub fn field(name: &str, tone: Tone, value: &str) -> Vec<StyledLine> {
    let names = std::iter::once(name).chain(std::iter::repeat(""));
    // An empty value has a line, too.
    let first = if value.is_empty() { Some("") } else { None };
    let lines = first.into_iter().chain(value.lines());
    let line = |(name, value): (&str, &str)| {
        vec![(Tone::Dim, format!("{name:<10} ")), (tone, value.to_owned())]
    };
    names.zip(lines).map(line).collect()
}

/// The width that a column of a table needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WidthNeed {
    /// Its width if there is room.
    pub width: usize,
    /// It may be cut, but preferably not below this as long as it can be left out instead.
    pub least: Option<usize>,
    /// It is not cut below this to make another column wider.
    pub firm: usize,
    /// Which column is dropped first if there is no room for all: the one with the lowest weight;
    /// one without a weight is kept.
    pub weight: Option<u8>,
}

/// Drops columns, then narrows others, until all fit. Returns the width of each; `None` for one
/// that is dropped.
pub fn fit(needs: &[WidthNeed], available: usize) -> Vec<Option<usize>> {
    let mut shown: Vec<usize> = (0..needs.len()).collect();
    let gaps = |shown: &[usize]| shown.len().saturating_sub(1) * GAP;
    let least = |index: &usize| {
        let WidthNeed { width, least, .. } = needs[*index];
        least.map_or(width, |least| least.min(width))
    };
    while shown.iter().map(least).sum::<usize>() + gaps(&shown) > available {
        let lightest = shown.iter().filter_map(|index| Some((needs[*index].weight?, *index))).min();
        let Some((_, dropped)) = lightest else { break };
        shown.retain(|index| *index != dropped);
    }
    let mut widths = vec![None; needs.len()];
    for index in &shown {
        widths[*index] = Some(needs[*index].width);
    }
    let (mut flexible, fixed): (Vec<usize>, Vec<usize>) =
        shown.iter().partition(|index| needs[**index].least.is_some());
    let fixed: usize = fixed.iter().map(|index| needs[*index].width).sum();
    let mut room = available.saturating_sub(fixed + gaps(&shown));
    // Narrow columns get what they need; the rest is for the wide ones.
    flexible.sort_by_key(|index| needs[*index].width);
    for (place, index) in flexible.iter().enumerate() {
        let for_others: usize = flexible[place + 1..].iter().map(|other| needs[*other].firm).sum();
        let share = (room / (flexible.len() - place)).max(needs[*index].firm);
        let share = share.min(room.saturating_sub(for_others));
        let width = needs[*index].width.min(share).max(1);
        widths[*index] = Some(width);
        room = room.saturating_sub(width);
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(width: usize, weight: Option<u8>) -> WidthNeed {
        WidthNeed { width, least: None, firm: 1, weight }
    }

    fn flexible(width: usize, least: usize, weight: Option<u8>) -> WidthNeed {
        WidthNeed { width, least: Some(least), firm: 1, weight }
    }

    #[test]
    fn what_weighs_least_goes_first() {
        let columns =
            [flexible(18, 8, None), fixed(5, None), fixed(10, Some(1)), fixed(5, Some(2))];
        assert_eq!(fit(&columns, 80), [Some(18), Some(5), Some(10), Some(5)]);
        assert_eq!(fit(&columns, 34), [Some(8), Some(5), Some(10), Some(5)]);
        assert_eq!(fit(&columns, 33), [Some(18), Some(5), None, Some(5)]);
        assert_eq!(fit(&columns, 14), [Some(7), Some(5), None, None]);
    }

    #[test]
    fn wide_columns_share_what_narrow_ones_leave() {
        let columns = [flexible(50, 5, None), flexible(4, 5, None), flexible(50, 5, None)];
        assert_eq!(fit(&columns, 48), [Some(20), Some(4), Some(20)]);
    }

    #[test]
    fn what_is_firm_is_not_cut_for_another_to_be_wide() {
        let firm = WidthNeed { firm: 30, ..flexible(50, 30, None) };
        let columns = [firm, flexible(40, 5, None), flexible(30, 5, None)];
        assert_eq!(fit(&columns, 64), [Some(30), Some(10), Some(20)]);
    }

    #[test]
    fn nothing_is_wider_than_what_there_is() {
        let columns = [
            flexible(10, 4, Some(2)),
            flexible(6, 4, Some(1)),
            flexible(60, 6, Some(3)),
            fixed(9, Some(4)),
        ];
        for available in 0..100 {
            let widths: Vec<usize> = fit(&columns, available).into_iter().flatten().collect();
            let total = widths.iter().sum::<usize>() + widths.len().saturating_sub(1) * GAP;
            assert!(total <= available, "{available}: {widths:?}");
        }
    }
}

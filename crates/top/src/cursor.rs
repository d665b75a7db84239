//! The selected row of a list that changes while it is shown.

/// A selection that follows its row, wherever the row moves.
#[derive(Debug)]
pub struct Cursor<K> {
    /// The selected row; `None` for the default: the last row or the first.
    key: Option<K>,
    rests_at_end: bool,
    /// The first visible row.
    offset: usize,
    /// How many rows were visible last.
    height: usize,
}

/// A movement of the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorMove {
    /// A row up.
    Up,
    /// A row down.
    Down,
    /// A screen up.
    PageUp,
    /// A screen down.
    PageDown,
    /// To the first row.
    First,
    /// To the last row.
    Last,
}

impl CursorMove {
    /// Returns the row that is selected next, of `count` rows with `height` on the screen.
    pub fn from(self, row: usize, count: usize, height: usize) -> usize {
        let page = height.saturating_sub(1).max(1);
        let next = match self {
            Self::Up => row.saturating_sub(1),
            Self::Down => row.saturating_add(1),
            Self::PageUp => row.saturating_sub(page),
            Self::PageDown => row.saturating_add(page),
            Self::First => 0,
            Self::Last => count,
        };
        next.min(count.saturating_sub(1))
    }
}

impl<K: PartialEq + Clone> Cursor<K> {
    /// Makes a selection that starts at the first row.
    pub fn at_first() -> Self {
        Self { key: None, rests_at_end: false, offset: 0, height: 1 }
    }

    /// Makes a selection that follows the last row.
    pub fn at_last() -> Self {
        Self { rests_at_end: true, ..Self::at_first() }
    }

    /// Returns the selected row.
    pub fn row(&self, keys: &[K]) -> usize {
        let rest = if self.rests_at_end { keys.len().saturating_sub(1) } else { 0 };
        let place = self.key.as_ref().and_then(|key| keys.iter().position(|other| other == key));
        // The row is gone: the list has moved on, and so does the selection.
        place.unwrap_or(rest)
    }

    /// Selects another row.
    pub fn go(&mut self, to: CursorMove, keys: &[K]) {
        let row = to.from(self.row(keys), keys.len(), self.height);
        let follows = self.rests_at_end && row + 1 >= keys.len();
        self.key = if follows { None } else { keys.get(row).cloned() };
    }

    /// Sets how many rows fit. Returns the first visible row, such that the selected one is
    /// visible.
    pub fn seen(&mut self, row: usize, count: usize, height: usize) -> usize {
        self.height = height.max(1);
        let height = self.height;
        let last_offset = count.saturating_sub(height);
        let lowest = (row + 1).saturating_sub(height);
        self.offset = if self.key.is_none() && self.rests_at_end {
            last_offset
        } else {
            self.offset.clamp(lowest, row.max(lowest)).min(last_offset)
        };
        self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_stays_with_its_row() {
        let mut cursor = Cursor::at_first();
        let mut keys = vec!["a", "b", "c"];
        assert_eq!(cursor.row(&keys), 0);
        cursor.go(CursorMove::Down, &keys);
        keys.insert(0, "new");
        assert_eq!(cursor.row(&keys), 2);
        keys.retain(|key| *key != "b");
        assert_eq!(cursor.row(&keys), 0, "it no longer exists");
    }

    #[test]
    fn the_last_row_is_followed_until_somebody_goes_up() {
        let mut cursor = Cursor::at_last();
        let mut keys = vec![1, 2, 3];
        assert_eq!(cursor.row(&keys), 2);
        keys.push(4);
        assert_eq!(cursor.row(&keys), 3);
        cursor.go(CursorMove::Up, &keys);
        keys.push(5);
        assert_eq!(cursor.row(&keys), 2);
        cursor.go(CursorMove::Last, &keys);
        keys.push(6);
        assert_eq!(cursor.row(&keys), 5);
        cursor.go(CursorMove::First, &keys);
        assert_eq!(cursor.row(&keys), 0);
    }

    #[test]
    fn the_selected_row_is_always_seen() {
        let keys: Vec<usize> = (0..100).collect();
        for mut cursor in [Cursor::at_first(), Cursor::at_last()] {
            use CursorMove::{Down, First, Last, PageDown, PageUp, Up};
            for (to, height) in [
                (Down, 10),
                (PageDown, 10),
                (PageDown, 10),
                (Up, 3),
                (PageUp, 4),
                (Last, 7),
                (Up, 7),
                (PageUp, 50),
                (First, 5),
                (PageDown, 1),
                (Down, 200),
                (Up, 0),
            ] {
                cursor.go(to, &keys);
                let row = cursor.row(&keys);
                let offset = cursor.seen(row, keys.len(), height);
                let seen = offset..offset + height.max(1);
                assert!(seen.contains(&row), "{to:?} {height}: {row} in {seen:?}");
                assert!(offset <= keys.len().saturating_sub(height), "no empty rows below");
            }
        }
    }

    #[test]
    fn an_empty_list_has_nothing_to_select() {
        let mut cursor: Cursor<u8> = Cursor::at_last();
        for to in [
            CursorMove::Up,
            CursorMove::Down,
            CursorMove::PageUp,
            CursorMove::PageDown,
            CursorMove::First,
            CursorMove::Last,
        ] {
            cursor.go(to, &[]);
            assert_eq!((cursor.row(&[]), cursor.seen(0, 0, 5)), (0, 0));
        }
    }
}

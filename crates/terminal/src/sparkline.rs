//! Charts in characters: bars and sparklines.

/// A bar's last character, in eighths.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// The heights of a sparkline's characters.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns a bar that is `width` characters long if `value` is `most`.
///
/// A value above zero is always visible, however small it is.
pub fn bar(value: u64, most: u64, width: usize) -> String {
    if value == 0 || most == 0 {
        return String::new();
    }
    let full = u128::try_from(width * 8).unwrap_or(u128::MAX);
    let eighths = (u128::from(value.min(most)) * full / u128::from(most)).max(1);
    let eighths = usize::try_from(eighths).unwrap_or(0);
    let mut bar = "█".repeat(eighths / 8);
    if eighths % 8 > 0 {
        bar.push(EIGHTHS[eighths % 8 - 1]);
    }
    bar
}

/// Returns a line of bars side by side, each with a height relative to the others.
///
/// The lowest is used for zero only. If there are more values than characters, neighbours are
/// summed.
pub fn sparkline(values: &[u64], width: usize) -> String {
    let together = values.len().div_ceil(width.max(1)).max(1);
    let sums: Vec<u64> = values.chunks(together).map(|some| some.iter().sum()).collect();
    let most = sums.iter().copied().max().unwrap_or(0);
    sums.iter().map(|value| HEIGHTS[height(*value, most)]).collect()
}

fn height(value: u64, most: u64) -> usize {
    if value == 0 {
        return 0;
    }
    let above = u128::try_from(HEIGHTS.len() - 1).unwrap_or(1);
    let height = (u128::from(value) * above).div_ceil(u128::from(most));
    usize::try_from(height).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_by_eighths() {
        for (value, expected) in [
            (0, ""),
            (1, "▏"),
            (20, "▊"),
            (25, "█"),
            (50, "██"),
            (51, "██"),
            (54, "██▏"),
            (99, "███▉"),
            (100, "████"),
            (900, "████"),
        ] {
            assert_eq!(bar(value, 100, 4), expected, "{value}");
        }
        assert_eq!(bar(1, u64::MAX, 4), "▏");
        assert_eq!(bar(u64::MAX, u64::MAX, 2), "██");
        assert_eq!(bar(3, 0, 4), "");
    }

    #[test]
    fn sparklines_tell_little_from_nothing() {
        assert_eq!(sparkline(&[0, 1, 50, 100], 10), "▁▂▅█");
        assert_eq!(sparkline(&[0, 0], 10), "▁▁");
        assert_eq!(sparkline(&[], 10), "");
        assert_eq!(sparkline(&[7], 10), "█");
    }

    #[test]
    fn neighbours_are_summed_up_where_there_is_no_room() {
        assert_eq!(sparkline(&[1, 1, 2, 2, 0, 0], 3), "▅█▁");
        assert_eq!(sparkline(&[1; 90], 24).chars().count(), 23);
        assert_eq!(sparkline(&[1, 2], 0), "█");
    }
}

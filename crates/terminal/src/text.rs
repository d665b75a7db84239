//! Text that fits a line and cannot control a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns text that cannot control a terminal: control characters except line breaks and tabs are
/// removed.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|letter| {
            if letter.is_control() && !matches!(letter, '\n' | '\t') { '\u{fffd}' } else { letter }
        })
        .collect()
}

/// Returns text on one line that cannot control a terminal.
pub fn tidy(text: &str) -> String {
    printable(text).replace(['\n', '\t'], " ")
}

/// Returns a number with its noun: `1 hook`, `2 hooks`.
pub fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Returns the first line of a text, at most `width` wide; a cut line ends with `…`.
pub fn first_line(text: &str, width: usize) -> String {
    let mut lines = text.lines();
    // The width of a tab depends on the terminal.
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

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(first_line(text, width), expected, "{text:?}");
        }
        for width in 0..12 {
            for text in ["", "plain text that is long", "日本語のテキスト", "é\u{301}x"] {
                assert!(first_line(text, width).width() <= width, "{text} {width}");
            }
        }
    }

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(tidy("a\u{1b}[2J\nb\tc\r\u{9b}"), "a\u{fffd}[2J b c\u{fffd}\u{fffd}");
    }
}

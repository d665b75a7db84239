//! Sanitizes text from an agent: one line, of bounded length, without anything that a terminal, a
//! desktop or a reader could misinterpret.

use anyhook_engine::redact::without_secrets;

/// The maximum length of a title, in characters.
pub const TITLE: usize = 160;
/// The maximum length of a body, in characters.
pub const BODY: usize = 1000;
/// The maximum length of a name: an agent, an option.
pub const NAME: usize = 100;

/// Returns the text as one line of at most `most` characters, without secrets, control characters,
/// and characters that hide or reorder others.
pub fn line(text: &str, most: usize) -> String {
    // A secret that is cut in two would not be found, so secrets are removed first.
    let text = without_secrets(text.chars().take(most.saturating_mul(64)).collect());
    let mut line = String::new();
    let mut length = 0;
    let mut is_gap = false;
    for letter in text.chars() {
        if letter.is_whitespace() || letter.is_control() {
            is_gap = true;
            continue;
        }
        if is_unseen(letter) {
            continue;
        }
        let gap = usize::from(is_gap && length > 0);
        is_gap = false;
        if length + gap + 1 >= most {
            line.push('…');
            return line;
        }
        line.extend(std::iter::repeat_n(' ', gap));
        line.push(letter);
        length += gap + 1;
    }
    line
}

/// Escapes the text for a desktop that interprets markup.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Returns whether a character is invisible but changes how others look.
fn is_unseen(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_controls_a_terminal_or_turns_text_around_is_taken_out() {
        assert_eq!(line("a\u{1b}]0;title\u{7}b\r\nc\td\u{9b}31m", 99), "a ]0;title b c d 31m");
        assert_eq!(line("  rm\u{202e} -rf\u{200b} \0/  ", 99), "rm -rf /");
    }

    #[test]
    fn what_is_too_long_is_cut() {
        assert_eq!(line("abcdef", 4), "abc…");
        assert_eq!(line("ab cd", 4), "ab…");
        assert_eq!(line("a b", 2), "a…");
        assert_eq!(line("日本語日本語", 4), "日本語…");
    }

    #[test]
    fn secrets_stay_here() {
        let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
        let shown = line(&format!("curl -H 'Authorization: Bearer {token}'"), 200);
        assert!(!shown.contains("a1B2c3D4e5"), "{shown}");
    }

    #[test]
    fn markup_becomes_text() {
        assert_eq!(escaped("<b>&amp;</b>"), "&lt;b&gt;&amp;amp;&lt;/b&gt;");
    }

    proptest! {
        #[test]
        fn a_line_is_a_line(text in any::<String>(), most in 1_usize..200) {
            let line = line(&text, most);
            prop_assert!(line.chars().count() <= most);
            prop_assert!(!line.chars().any(|letter| letter.is_control() || is_unseen(letter)));
        }
    }
}

//! Doubles backslashes in double-quoted YAML, so that escapes mean what authors of hooks intend.
//!
//! The specifications' own examples write `pattern: "\.(py|js|ts)$"`, which strict YAML rejects,
//! and `"\brm\b"` is a backspace in YAML. So before YAML sees the text, backslashes in double
//! quotes are doubled: in `tool` and `pattern` all but `\\` and `\"`, elsewhere those that do not
//! begin an escape YAML knows.

/// The text with backslashes doubled.
pub(super) struct DoubledBackslashes {
    pub text: String,
    /// Where a backslash was inserted, in characters of `text`, ascending.
    pub insertions: Vec<usize>,
    /// Unknown escapes outside `tool` and `pattern`, in characters of the original.
    pub odd: Vec<usize>,
}

/// Doubles backslashes in double-quoted values.
pub(super) fn double(original: &str) -> DoubledBackslashes {
    if !original.contains('\\') {
        return DoubledBackslashes {
            text: original.to_owned(),
            insertions: Vec::new(),
            odd: Vec::new(),
        };
    }
    let mut scanner = Scanner {
        characters: original.chars().collect(),
        at: 0,
        key: None,
        flow_depth: 0,
        doubled: DoubledBackslashes {
            text: String::with_capacity(original.len() + 16),
            insertions: Vec::new(),
            odd: Vec::new(),
        },
        written: 0,
    };
    scanner.document();
    scanner.doubled
}

/// Follows just enough of YAML to know where a double-quoted value starts and whose it is.
struct Scanner {
    characters: Vec<char>,
    at: usize,
    /// The key whose value comes next.
    key: Option<String>,
    flow_depth: usize,
    doubled: DoubledBackslashes,
    /// Characters of `doubled.text` so far.
    written: usize,
}

impl Scanner {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    fn write(&mut self, character: char) {
        self.doubled.text.push(character);
        self.written += 1;
    }

    /// Copies one character of the original.
    fn copy(&mut self) -> Option<char> {
        let character = self.peek(0)?;
        self.write(character);
        self.at += 1;
        Some(character)
    }

    fn document(&mut self) {
        let mut indent = 0;
        let mut line_start = true;
        while let Some(next) = self.peek(0) {
            if line_start {
                indent = self.copy_blanks();
                line_start = false;
                continue;
            }
            match next {
                '\n' => {
                    self.copy();
                    line_start = true;
                }
                ' ' | '\t' | '\r' => {
                    self.copy();
                }
                '#' => self.copy_line(),
                '"' => self.double_quoted(),
                '\'' => self.single_quoted(),
                '|' | '>' if self.flow_depth == 0 => {
                    self.key = None;
                    self.block_scalar(indent);
                    line_start = true;
                }
                '{' | '[' => {
                    self.key = None;
                    self.flow_depth += 1;
                    self.copy();
                }
                '}' | ']' | ',' if self.flow_depth > 0 => {
                    self.key = None;
                    if next != ',' {
                        self.flow_depth -= 1;
                    }
                    self.copy();
                }
                '-' | '?' if matches!(self.peek(1), Some(' ' | '\n')) => {
                    self.copy();
                }
                '!' | '&' => {
                    while self.peek(0).is_some_and(|character| !character.is_whitespace()) {
                        self.copy();
                    }
                }
                _ => self.plain(),
            }
        }
    }

    fn copy_blanks(&mut self) -> usize {
        let mut count = 0;
        while self.peek(0) == Some(' ') {
            self.copy();
            count += 1;
        }
        count
    }

    fn copy_line(&mut self) {
        while self.peek(0).is_some_and(|character| character != '\n') {
            self.copy();
        }
    }

    /// Copies a plain scalar; if a colon follows, it was a key.
    fn plain(&mut self) {
        let start = self.at;
        while let Some(next) = self.peek(0) {
            let ends = match next {
                '\n' => true,
                ':' => self.peek(1).is_none_or(char::is_whitespace),
                '#' => self.at > start && self.characters[self.at - 1] == ' ',
                ',' | ']' | '}' => self.flow_depth > 0,
                _ => false,
            };
            if ends {
                break;
            }
            self.copy();
        }
        let text: String = self.characters[start..self.at].iter().collect();
        self.after_scalar(text.trim());
    }

    fn single_quoted(&mut self) {
        let start = self.at + 1;
        self.copy();
        while let Some(character) = self.copy() {
            if character == '\'' {
                if self.peek(0) == Some('\'') {
                    self.copy();
                } else {
                    break;
                }
            }
        }
        let end = self.at.saturating_sub(1).max(start).min(self.characters.len());
        let text: String = self.characters[start.min(end)..end].iter().collect();
        self.after_scalar(&text);
    }

    fn double_quoted(&mut self) {
        let as_written = matches!(self.key.as_deref(), Some("tool" | "pattern"));
        let start = self.at + 1;
        self.copy();
        while let Some(next) = self.peek(0) {
            if next != '\\' {
                self.copy();
                if next == '"' {
                    break;
                }
                continue;
            }
            let is_escape = match self.peek(1) {
                Some('\\' | '"') => true,
                _ if as_written => false,
                _ => self.known_escape(),
            };
            if is_escape {
                self.copy();
            } else {
                self.doubled.insertions.push(self.written);
                self.write('\\');
                if !as_written {
                    self.doubled.odd.push(self.at);
                }
                self.copy();
                // What follows is text, unless it is the next backslash or the closing quote.
                continue;
            }
            self.copy();
        }
        let end = self.at.saturating_sub(1).max(start).min(self.characters.len());
        let text: String = self.characters[start.min(end)..end].iter().collect();
        self.after_scalar(&text);
    }

    /// Returns whether an escape YAML knows starts here.
    fn known_escape(&self) -> bool {
        let digits = match self.peek(1) {
            Some(
                '0' | 'a' | 'b' | 't' | '\t' | 'n' | 'v' | 'f' | 'e' | 'r' | ' ' | '/' | 'N' | '_'
                | 'L' | 'P' | '\n',
            ) => 0,
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            _ => return false,
        };
        let mut code = 0u32;
        for ahead in 2..2 + digits {
            let Some(digit) = self.peek(ahead).and_then(|character| character.to_digit(16)) else {
                return false;
            };
            code = code.wrapping_mul(16).wrapping_add(digit);
        }
        digits == 0 || char::from_u32(code).is_some()
    }

    /// Copies a block scalar: the rest of its line, and all lines indented deeper than its key.
    fn block_scalar(&mut self, indent: usize) {
        self.copy_line();
        self.copy();
        loop {
            let mut blanks = 0;
            while self.peek(blanks) == Some(' ') {
                blanks += 1;
            }
            match self.peek(blanks) {
                None => {
                    self.copy_line();
                    return;
                }
                Some('\n' | '\r') => {}
                Some(_) if blanks > indent => {}
                Some(_) => return,
            }
            self.copy_line();
            self.copy();
        }
    }

    /// Decides whether the scalar just copied was a key.
    fn after_scalar(&mut self, text: &str) {
        let mut ahead = 0;
        while matches!(self.peek(ahead), Some(' ' | '\t')) {
            ahead += 1;
        }
        if self.peek(ahead) == Some(':') {
            for _ in 0..=ahead {
                self.copy();
            }
            self.key = Some(text.to_owned());
        } else {
            self.key = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_keep_every_backslash_but_two() {
        for (written, given) in [
            (r#"pattern: "\.(py|js|ts)$""#, r#"pattern: "\\.(py|js|ts)$""#),
            (r#"pattern: "\brm\b""#, r#"pattern: "\\brm\\b""#),
            (r#"tool: "a\\.b\"c""#, r#"tool: "a\\.b\"c""#),
            (r#"pattern: "\\\.""#, r#"pattern: "\\\\.""#),
            (
                r#"m: {tool: "\w+", pattern: "\d", x: "\n"}"#,
                r#"m: {tool: "\\w+", pattern: "\\d", x: "\n"}"#,
            ),
            ("pattern:\n  \"\\s\"", "pattern:\n  \"\\\\s\""),
            (r#""pattern": "\d""#, r#""pattern": "\\d""#),
        ] {
            assert_eq!(double(written).text, given);
        }
    }

    #[test]
    fn elsewhere_only_unknown_escapes_are_doubled() {
        let doubled = double(r#"description: "a\tb \q \x4 \x41 \ud800""#);
        assert_eq!(doubled.text, r#"description: "a\tb \\q \\x4 \x41 \\ud800""#);
        assert_eq!(doubled.odd.len(), 3);
    }

    #[test]
    fn quotes_that_begin_no_value_are_left_alone() {
        for text in [
            r"pattern: '\d'",
            r#"pattern: a"\d"#,
            "description: don't \"\\d\" ",
            "# pattern: \"\\d\"",
            "pattern: |\n  \"\\d\"\nname: a\\b",
            "d: >-\n  x\n\n  pattern: \"\\d\"\n",
        ] {
            assert_eq!(double(text).text, text);
        }
    }

    proptest::proptest! {
        #[test]
        fn only_backslashes_are_added(text in r#"[a-c:"'\\{}\[\], |>#\n-]{0,60}"#) {
            let doubled = double(&text);
            let mut characters: Vec<char> = doubled.text.chars().collect();
            for at in doubled.insertions.iter().rev() {
                proptest::prop_assert_eq!(characters.remove(*at), '\\');
            }
            proptest::prop_assert_eq!(characters.into_iter().collect::<String>(), text);
        }
    }
}

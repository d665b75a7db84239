//! JSON that a strict parser refuses, made readable without losing a value.
//!
//! - What is nested too deeply to be a tree becomes a flat list of the values in it: a guard still
//!   finds each of them, and nobody slips past by nesting.
//! - Half a surrogate pair, which other languages write for odd file names, becomes U+FFFD.
//! - The one key that `serde_json` takes for a number of its own gets a blank at its end.

/// Nesting up to which a value is read as a tree. (`serde_json` itself stops at 128.)
const DEPTH_LIMIT: usize = 100;

/// The key by which `serde_json` hands on numbers it has not read yet.
const NUMBER_KEY: &str = "$serde_json::private::Number";

/// Returns the text mended; `None` if there was nothing to mend or the brackets do not match up.
pub(super) fn mend(text: &str) -> Option<String> {
    let mut mender = Mender {
        text,
        mended: String::with_capacity(text.len()),
        depth: 0,
        changed: false,
        leaves: 0,
    };
    let mut at = 0;
    while at < text.len() {
        at = mender.token(at)?;
    }
    (mender.changed && mender.depth == 0).then_some(mender.mended)
}

struct Mender<'text> {
    text: &'text str,
    mended: String,
    depth: usize,
    changed: bool,
    /// Values so far in the flat list that stands for what is nested too deeply.
    leaves: usize,
}

impl Mender<'_> {
    /// Takes the token at `at`; returns where the next one starts.
    fn token(&mut self, at: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        match bytes[at] {
            b'"' => {
                let end = string_end(bytes, at)?;
                self.string(at, end);
                Some(end)
            }
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth <= DEPTH_LIMIT {
                    self.mended.push(char::from(bytes[at]));
                } else if self.depth == DEPTH_LIMIT + 1 {
                    self.changed = true;
                    self.leaves = 0;
                    self.mended.push('[');
                }
                Some(at + 1)
            }
            b'}' | b']' => {
                if self.depth == DEPTH_LIMIT + 1 {
                    self.mended.push(']');
                } else if self.depth <= DEPTH_LIMIT {
                    self.mended.push(char::from(bytes[at]));
                }
                self.depth = self.depth.checked_sub(1)?;
                Some(at + 1)
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                if self.depth <= DEPTH_LIMIT {
                    self.mended.push(char::from(bytes[at]));
                }
                Some(at + 1)
            }
            _ => {
                let is_end = |byte: &u8| {
                    matches!(byte, b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"')
                        || byte.is_ascii_whitespace()
                };
                // At least one byte is taken, so that an odd one cannot stop us.
                let rest = bytes[at + 1..].iter().position(is_end);
                let end = rest.map_or(bytes.len(), |length| at + 1 + length);
                self.value(&self.text[at..end]);
                Some(end)
            }
        }
    }

    /// Writes a number or a word, or a string that is a value.
    fn value(&mut self, token: &str) {
        if self.depth > DEPTH_LIMIT {
            if self.leaves > 0 {
                self.mended.push(',');
            }
            self.leaves += 1;
        }
        self.mended.push_str(token);
    }

    /// Writes the string between `at` and `end`, quotes included.
    fn string(&mut self, at: usize, end: usize) {
        let is_key = self.text[end..].trim_start().starts_with(':');
        if is_key && self.depth > DEPTH_LIMIT {
            return;
        }
        let mut token = whole_characters(&self.text[at..end]);
        if is_key && serde_json::from_str::<String>(&token).is_ok_and(|key| key == NUMBER_KEY) {
            token = format!("\"{NUMBER_KEY} \"");
        }
        self.changed |= token != self.text[at..end];
        if is_key {
            self.mended.push_str(&token);
        } else {
            self.value(&token);
        }
    }
}

/// Returns a text whose end is missing with an end; `None` if it is no object.
pub(super) fn complete(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    // Up to here the text can be cut and closed.
    let mut sound = 0;
    let mut after_colon = false;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let Some(end) = string_end(bytes, at) else {
                    let is_value = after_colon || open.last() == Some(&']');
                    return is_value
                        .then(|| close(&format!("{}\"", without_half_escape(text)), &open))
                        .or_else(|| Some(close(&text[..sound], &open)));
                };
                if after_colon || open.last() == Some(&']') {
                    sound = end;
                    after_colon = false;
                }
                at = end;
                continue;
            }
            b'{' | b'[' => {
                open.push(if bytes[at] == b'{' { '}' } else { ']' });
                sound = at + 1;
                after_colon = false;
            }
            b'}' | b']' => {
                open.pop()?;
                sound = at + 1;
            }
            b':' => after_colon = true,
            // A comma tells that the number or word before it was whole.
            b',' => {
                sound = at;
                after_colon = false;
            }
            _ => {}
        }
        at += 1;
    }
    text.trim_start().starts_with('{').then(|| close(&text[..sound], &open))
}

fn close(text: &str, open: &[char]) -> String {
    let mut closed = text.to_owned();
    closed.extend(open.iter().rev());
    closed
}

/// Returns a text that ends inside a string without the beginning of an escape at its end.
fn without_half_escape(text: &str) -> &str {
    let start = text.len().saturating_sub(6);
    let start = (start..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let backslash = text[start..].rfind('\\').map(|at| start + at);
    match backslash {
        // An even number of backslashes is whole.
        Some(at) => {
            let run = text[..=at].bytes().rev().take_while(|byte| *byte == b'\\').count();
            let rest = text.len() - at - 1;
            let whole = match text.as_bytes().get(at + 1) {
                None => false,
                Some(b'u') => rest >= 5,
                Some(_) => true,
            };
            if run % 2 == 0 || whole { text } else { &text[..at] }
        }
        None => text,
    }
}

/// Returns the end of the string that starts at `at`, behind its closing quote.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut next = at + 1;
    loop {
        match bytes.get(next)? {
            b'"' => return Some(next + 1),
            b'\\' => next += 2,
            _ => next += 1,
        }
    }
}

/// Replaces escapes of half a surrogate pair in a string by that of U+FFFD.
fn whole_characters(token: &str) -> String {
    let code = |at: usize| {
        let escape = token.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(escape, 16).ok()
    };
    let mut whole = String::with_capacity(token.len());
    let mut at = 0;
    while let Some(character) = token[at..].chars().next() {
        if character != '\\' {
            whole.push(character);
            at += character.len_utf8();
            continue;
        }
        match (code(at), code(at + 6)) {
            (Some(0xD800..0xDC00), Some(0xDC00..0xE000)) => {
                whole.push_str(&token[at..at + 12]);
                at += 12;
            }
            (Some(0xD800..0xE000), _) => {
                whole.push_str("\\ufffd");
                at += 6;
            }
            _ => {
                // Any other escape: the backslash and what it belongs to.
                let length = 1 + token[at + 1..].chars().next().map_or(0, char::len_utf8);
                whole.push_str(&token[at..at + length]);
                at += length;
            }
        }
    }
    whole
}

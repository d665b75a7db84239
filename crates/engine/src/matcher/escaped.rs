//! The text of a JSON string, from between its quotes.

/// Returns the text. Half a surrogate pair is U+FFFD, as in [`anyhook_model::json::read`].
pub(super) fn decode(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = next_escape(rest) {
        text.push_str(&rest[..at]);
        let (character, length) = escape(&rest[at..]);
        text.push(character);
        rest = &rest[at + length..];
    }
    text.push_str(rest);
    text
}

/// Returns where the next escape starts.
pub(super) fn next_escape(raw: &str) -> Option<usize> {
    let is_escape = |byte: &u8| *byte == b'\\';
    // A block at a time, which the compiler makes one comparison of.
    let blocks = raw.as_bytes().chunks(BLOCK);
    let free =
        blocks.take_while(|block| !block.iter().fold(false, |any, byte| any | is_escape(byte)));
    let start = free.map(<[u8]>::len).sum::<usize>();
    raw.as_bytes()[start..].iter().position(is_escape).map(|at| start + at)
}

/// How many bytes are compared at a time.
const BLOCK: usize = 32;

/// Returns the character of the escape at the start of `rest`, and how long the escape is.
fn escape(rest: &str) -> (char, usize) {
    match rest.as_bytes().get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'u') => unicode(rest),
        // `"`, `\` and `/` stand for themselves. Nothing else is JSON; it is kept as it is.
        Some(_) => {
            let character = rest[1..].chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
            (character, 1 + character.len_utf8())
        }
        None => (char::REPLACEMENT_CHARACTER, 1),
    }
}

/// Returns the character of a `\u` escape, and how long it is: a pair is two of them.
fn unicode(rest: &str) -> (char, usize) {
    let unit = |at: usize| {
        rest.get(at..at + 2).filter(|start| *start == "\\u")?;
        let digits = rest.get(at + 2..at + 6)?;
        // `from_str_radix` would take a sign, too.
        let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_number.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    let Some(first) = unit(0) else { return (char::REPLACEMENT_CHARACTER, 2) };
    let pair = (0xd800..0xdc00).contains(&first).then(|| unit(6)).flatten();
    match pair.filter(|second| (0xdc00..0xe000).contains(second)) {
        Some(second) => {
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        None => (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6),
    }
}

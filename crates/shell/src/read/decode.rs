//! Programs that turn one text into another, for texts that are known.

use crate::word::Word;

/// Returns what a filter makes of a text, if it is one that is read.
pub(super) fn filter(name: &str, arguments: &[Word], input: &str) -> Option<String> {
    let words: Option<Vec<&str>> = arguments.iter().map(Word::known).collect();
    let words = words?;
    let has = |flags: &[&str]| words.iter().any(|word| flags.contains(word));
    let decodes = has(&["-d", "-D", "--decode", "-di", "-id"]);
    match name {
        "base64" if decodes => text(base64(input)?),
        "base64" => Some(encoded(input)),
        "base32" if decodes => text(base32(input)?),
        "basenc" if decodes && has(&["--base64"]) => text(base64(input)?),
        "basenc" if decodes && has(&["--base16"]) => text(hexadecimal(input)?),
        "openssl" if has(&["base64", "-base64", "-a"]) && has(&["-d"]) => text(base64(input)?),
        "xxd" if has(&["-r"]) || has(&["-rp", "-pr"]) => text(hexadecimal(input)?),
        "rev" => Some(input.lines().map(|line| reversed(line) + "\n").collect()),
        "tac" => Some(input.lines().rev().flat_map(|line| [line, "\n"]).collect()),
        "tr" => translated(&words, input),
        "sed" => substituted(&words, input),
        "head" | "tail" | "sort" | "uniq" if input.lines().count() <= 1 => Some(input.to_owned()),
        _ => None,
    }
}

fn text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok()
}

fn reversed(line: &str) -> String {
    line.chars().rev().collect()
}

fn base64(input: &str) -> Option<Vec<u8>> {
    bits(input, 6, |byte| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    })
}

fn base32(input: &str) -> Option<Vec<u8>> {
    bits(input, 5, |byte| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'2'..=b'7' => Some(byte - b'2' + 26),
        _ => None,
    })
}

fn hexadecimal(input: &str) -> Option<Vec<u8>> {
    bits(input, 4, |byte| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
}

/// Joins digits of some bits to bytes.
fn bits(input: &str, width: u32, digit: impl Fn(u8) -> Option<u8>) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(input.len());
    let (mut buffer, mut filled) = (0_u32, 0_u32);
    for byte in input.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        buffer = buffer << width | u32::from(digit(byte)?);
        filled += width;
        if filled >= 8 {
            filled -= 8;
            bytes.push((buffer >> filled & 0xff) as u8);
            buffer &= (1 << filled) - 1;
        }
    }
    Some(bytes)
}

fn encoded(input: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(input.len() * 4 / 3 + 4);
    for chunk in input.as_bytes().chunks(3) {
        let bytes = [chunk[0], *chunk.get(1).unwrap_or(&0), *chunk.get(2).unwrap_or(&0)];
        let bits = u32::from(bytes[0]) << 16 | u32::from(bytes[1]) << 8 | u32::from(bytes[2]);
        for place in 0..4_usize {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text.push('\n');
    text
}

/// Does what `tr` does with two sets, or with `-d`.
fn translated(words: &[&str], input: &str) -> Option<String> {
    match words {
        ["-d", set] => {
            let set = characters(set)?;
            Some(input.chars().filter(|one| !set.contains(one)).collect())
        }
        [from, to] if !from.starts_with('-') => {
            let (from, to) = (characters(from)?, characters(to)?);
            let last = *to.last()?;
            let change = |one: char| match from.iter().position(|&other| other == one) {
                Some(place) => *to.get(place).unwrap_or(&last),
                None => one,
            };
            Some(input.chars().map(change).collect())
        }
        _ => None,
    }
}

/// Returns the characters of a set such as `a-z`.
fn characters(set: &str) -> Option<Vec<char>> {
    let set = match set {
        "[:upper:]" => "A-Z",
        "[:lower:]" => "a-z",
        "[:space:]" => " \t\n\r",
        "[:digit:]" => "0-9",
        _ if set.contains("[:") || set.len() > 256 => return None,
        _ => set,
    };
    let mut characters = Vec::new();
    let mut rest = set.chars().peekable();
    while let Some(one) = rest.next() {
        let one = match one {
            '\\' => match rest.next()? {
                'n' => '\n',
                't' => '\t',
                '\\' => '\\',
                _ => return None,
            },
            _ => one,
        };
        if rest.peek() != Some(&'-') {
            characters.push(one);
            continue;
        }
        rest.next();
        match rest.next() {
            Some(last) if last.is_ascii() && one.is_ascii() => characters.extend(one..=last),
            Some(_) => return None,
            None => characters.extend([one, '-']),
        }
    }
    Some(characters)
}

/// Does what `sed s/text/text/` does, without patterns.
fn substituted(words: &[&str], input: &str) -> Option<String> {
    let script = match words {
        [script] | ["-e", script] => script.strip_prefix('s')?,
        _ => return None,
    };
    let separator = script.chars().next()?;
    let parts: Vec<&str> = script.split(separator).collect();
    let ["", from, to, flags] = parts.as_slice() else { return None };
    let special = |text: &str| text.contains(['\\', '.', '*', '[', ']', '^', '$', '&']);
    if from.is_empty() || special(from) || special(to) || input.len() * (to.len() + 1) > 64 * 1024 {
        return None;
    }
    let lines = input.lines().map(|line| match *flags {
        "g" => Some(line.replace(from, to) + "\n"),
        "" => Some(line.replacen(from, to, 1) + "\n"),
        _ => None,
    });
    lines.collect()
}

//! Brace expansion: `{a,b}` and `{1..3}`.

use crate::limits::MAX_BRACES;
use crate::syntax::{Piece, WordSyntax};

/// The deepest nesting of braces that is expanded.
const MAX_DEPTH: u32 = 16;
/// The most pieces that one word becomes.
const MAX_UNITS: usize = 16 * 1024;

/// A part of a word: text, or something to be expanded.
#[derive(Debug, Clone)]
pub(super) enum Unit<'a> {
    Text(&'a str, bool),
    /// A number or letter of a sequence.
    Owned(String),
    Piece(&'a Piece),
}

impl<'a> Unit<'a> {
    pub(super) fn of(piece: &'a Piece) -> Self {
        match piece {
            Piece::Text { text, quoted } => Self::Text(text, *quoted),
            other => Self::Piece(other),
        }
    }

    fn is(&self, mark: &str) -> bool {
        matches!(self, Self::Text(text, false) if *text == mark)
    }
}

/// Returns the words a word becomes; `None` if there are too many.
pub(super) fn expand(word: &WordSyntax) -> Option<Vec<Vec<Unit<'_>>>> {
    let mut units = Vec::new();
    for piece in word {
        match piece {
            Piece::Text { text, quoted: false } => split_marks(text, &mut units),
            other => units.push(Unit::of(other)),
        }
    }
    expand_units(&units, 0)
}

/// Makes units of their own of `{`, `,` and `}`.
fn split_marks<'a>(text: &'a str, units: &mut Vec<Unit<'a>>) {
    for part in text.split_inclusive(['{', ',', '}']) {
        let (before, mark) = match part.as_bytes().last() {
            Some(b'{' | b',' | b'}') => part.split_at(part.len() - 1),
            _ => (part, ""),
        };
        units.extend(
            [before, mark]
                .into_iter()
                .filter(|text| !text.is_empty())
                .map(|text| Unit::Text(text, false)),
        );
    }
}

fn expand_units<'a>(units: &[Unit<'a>], depth: u32) -> Option<Vec<Vec<Unit<'a>>>> {
    if depth > MAX_DEPTH {
        return None;
    }
    let ends = closing(units);
    let mut words = vec![Vec::new()];
    let mut total = 0;
    let mut at = 0;
    while at < units.len() {
        let alternatives = match ends[at] {
            Some(end) => alternatives(&units[at + 1..end], depth)?,
            None => Alternatives::None,
        };
        let (added, next) = match alternatives {
            Alternatives::Words(added) => (added, ends[at].unwrap_or(at) + 1),
            Alternatives::None => (vec![vec![units[at].clone()]], at + 1),
        };
        let size: usize = added.iter().map(Vec::len).sum::<usize>() + added.len();
        let before: usize = words.iter().map(Vec::len).sum();
        total += if added.len() == 1 { size } else { size * words.len() + before * added.len() };
        if words.len() * added.len() > MAX_BRACES || total > MAX_UNITS * 4 {
            return None;
        }
        words = product(words, &added);
        at = next;
    }
    Some(words)
}

/// Appends each of the alternatives to each of the words.
fn product<'a>(words: Vec<Vec<Unit<'a>>>, added: &[Vec<Unit<'a>>]) -> Vec<Vec<Unit<'a>>> {
    if let [only] = added {
        let mut words = words;
        for word in &mut words {
            word.extend(only.iter().cloned());
        }
        return words;
    }
    let mut all = Vec::with_capacity(words.len() * added.len());
    for word in &words {
        for end in added {
            all.push(word.iter().chain(end).cloned().collect());
        }
    }
    all
}

/// Returns for each `{` where its `}` is.
fn closing(units: &[Unit<'_>]) -> Vec<Option<usize>> {
    let mut ends = vec![None; units.len()];
    let mut open = Vec::new();
    for (index, unit) in units.iter().enumerate() {
        if unit.is("{") {
            open.push(index);
        } else if unit.is("}")
            && let Some(start) = open.pop()
        {
            ends[start] = Some(index);
        }
    }
    ends
}

/// What braces stand for.
enum Alternatives<'a> {
    /// They are only text.
    None,
    Words(Vec<Vec<Unit<'a>>>),
}

/// Returns what is between braces as alternatives; `None` if there are too many.
fn alternatives<'a>(inner: &[Unit<'a>], depth: u32) -> Option<Alternatives<'a>> {
    let mut parts = Vec::new();
    let (mut start, mut open) = (0, 0_u32);
    for (index, unit) in inner.iter().enumerate() {
        if unit.is("{") {
            open += 1;
        } else if unit.is("}") {
            open = open.saturating_sub(1);
        } else if unit.is(",") && open == 0 {
            parts.push(&inner[start..index]);
            start = index + 1;
        }
    }
    if parts.is_empty() {
        return sequence(inner);
    }
    parts.push(&inner[start..]);
    let mut words = Vec::new();
    for part in parts {
        words.extend(expand_units(part, depth + 1)?);
        if words.len() > MAX_BRACES {
            return None;
        }
    }
    Some(Alternatives::Words(words))
}

/// Reads `1..5`, `a..e`, `1..9..2`.
fn sequence<'a>(inner: &[Unit<'a>]) -> Option<Alternatives<'a>> {
    let [Unit::Text(text, false)] = inner else { return Some(Alternatives::None) };
    let parts: Vec<&str> = text.split("..").collect();
    let (from, to, step) = match parts.as_slice() {
        [from, to] => (*from, *to, "1"),
        [from, to, step] => (*from, *to, *step),
        _ => return Some(Alternatives::None),
    };
    let Ok(step) = step.parse::<i64>() else { return Some(Alternatives::None) };
    let letters = from.len() == 1 && to.len() == 1 && !from.as_bytes()[0].is_ascii_digit();
    let (first, last) = if letters {
        (i64::from(from.as_bytes()[0]), i64::from(to.as_bytes()[0]))
    } else {
        match (from.parse::<i64>(), to.parse::<i64>()) {
            (Ok(from), Ok(to)) => (from, to),
            _ => return Some(Alternatives::None),
        }
    };
    let step = step.unsigned_abs().max(1);
    let count = first.abs_diff(last) / step + 1;
    if count > MAX_BRACES as u64 {
        return None;
    }
    let mut words = Vec::new();
    for index in 0..count {
        let distance = i64::try_from(index * step).ok()?;
        let value = if first <= last { first + distance } else { first - distance };
        let text = match u8::try_from(value) {
            Ok(byte) if letters => char::from(byte).to_string(),
            _ => value.to_string(),
        };
        words.push(vec![Unit::Owned(text)]);
    }
    Some(Alternatives::Words(words))
}

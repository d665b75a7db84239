//! Matches a short text by walking through the parsed expression.
//!
//! Where a part of an expression can end depends only on where it starts. So the set of all
//! positions where a match may start is passed through the parts, one after another, and what is
//! left at the end are the positions where a match ends. Which match would be the first is lost on
//! the way; only whether there is one matters.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look, Repetition};

/// The maximum number of steps of a walk: compiling is better beyond that.
const MOST_STEPS: usize = 100_000;

/// Returns whether a part of the text matches; `None` if that cannot be determined in few steps.
pub(super) fn is_match(hir: &Hir, text: &str) -> Option<bool> {
    let mut walk = Walk { text, steps_left: MOST_STEPS };
    let mut starts = Places::none(text.len());
    for (at, _) in text.char_indices() {
        starts.add(at);
    }
    starts.add(text.len());
    walk.ends(hir, &starts).map(|ends| !ends.is_empty())
}

struct Walk<'text> {
    text: &'text str,
    steps_left: usize,
}

impl Walk<'_> {
    /// Returns where a part of the expression can end that starts at one of the positions.
    fn ends(&mut self, hir: &Hir, starts: &Places) -> Option<Places> {
        self.steps_left = self.steps_left.checked_sub(starts.cost())?;
        match hir.kind() {
            HirKind::Empty => Some(starts.clone()),
            HirKind::Look(look) => self.moved(starts, |at| self.looks(*look, at).then_some(0)),
            HirKind::Literal(literal) => {
                let text = self.text.as_bytes();
                self.moved(starts, |at| {
                    text[at..].starts_with(&literal.0).then_some(literal.0.len())
                })
            }
            HirKind::Class(Class::Unicode(class)) => self.moved(starts, |at| {
                let character = self.text[at..].chars().next()?;
                holds(class, character).then_some(character.len_utf8())
            }),
            HirKind::Class(Class::Bytes(class)) => {
                let text = self.text.as_bytes();
                self.moved(starts, |at| {
                    let byte = *text.get(at)?;
                    let mut ranges = class.ranges().iter();
                    ranges.any(|range| range.start() <= byte && byte <= range.end()).then_some(1)
                })
            }
            HirKind::Capture(capture) => self.ends(&capture.sub, starts),
            HirKind::Repetition(repetition) => self.repeated(repetition, starts),
            HirKind::Concat(parts) => {
                let mut reached = starts.clone();
                for part in parts {
                    if reached.is_empty() {
                        break;
                    }
                    reached = self.ends(part, &reached)?;
                }
                Some(reached)
            }
            HirKind::Alternation(parts) => {
                let mut reached = Places::none(self.text.len());
                for part in parts {
                    reached.add_all(&self.ends(part, starts)?);
                }
                Some(reached)
            }
        }
    }

    fn repeated(&mut self, repetition: &Repetition, starts: &Places) -> Option<Places> {
        let mut reached = starts.clone();
        for _ in 0..repetition.min {
            reached = self.ends(&repetition.sub, &reached)?;
            if reached.is_empty() {
                return Some(reached);
            }
        }
        // A position that was reached before has already been continued from, with more rounds left
        // than now.
        let mut new = reached.clone();
        let mut rounds = repetition.max.map(|max| max - repetition.min);
        while rounds != Some(0) {
            new = self.ends(&repetition.sub, &new)?.without(&reached);
            if new.is_empty() {
                break;
            }
            reached.add_all(&new);
            rounds = rounds.map(|rounds| rounds - 1);
        }
        Some(reached)
    }

    /// Returns the positions advanced by `length`, without those where it returns `None`.
    fn moved(&self, starts: &Places, length: impl Fn(usize) -> Option<usize>) -> Option<Places> {
        let mut ends = Places::none(self.text.len());
        for end in starts.iter().filter_map(|at| length(at).map(|length| at + length)) {
            // No expression parsed for texts leads into the middle of a character; this makes sure
            // of it.
            if !self.text.is_char_boundary(end) {
                return None;
            }
            ends.add(end);
        }
        Some(ends)
    }

    /// Returns whether an assertion holds at a position.
    fn looks(&self, look: Look, at: usize) -> bool {
        let (before, after) = self.text.split_at(at);
        let (last, next) = (before.chars().next_back(), after.chars().next());
        let is_word = |character: Option<char>| {
            character.is_some_and(|character| match look {
                Look::WordAscii
                | Look::WordAsciiNegate
                | Look::WordStartAscii
                | Look::WordEndAscii
                | Look::WordStartHalfAscii
                | Look::WordEndHalfAscii => character.is_ascii_alphanumeric() || character == '_',
                _ => regex_syntax::is_word_character(character),
            })
        };
        match look {
            Look::Start => last.is_none(),
            Look::End => next.is_none(),
            Look::StartLF => matches!(last, None | Some('\n')),
            Look::EndLF => matches!(next, None | Some('\n')),
            Look::StartCRLF => match last {
                None | Some('\n') => true,
                Some('\r') => next != Some('\n'),
                Some(_) => false,
            },
            Look::EndCRLF => match next {
                None | Some('\r') => true,
                Some('\n') => last != Some('\r'),
                Some(_) => false,
            },
            Look::WordAscii | Look::WordUnicode => is_word(last) != is_word(next),
            Look::WordAsciiNegate | Look::WordUnicodeNegate => is_word(last) == is_word(next),
            Look::WordStartAscii | Look::WordStartUnicode => !is_word(last) && is_word(next),
            Look::WordEndAscii | Look::WordEndUnicode => is_word(last) && !is_word(next),
            Look::WordStartHalfAscii | Look::WordStartHalfUnicode => !is_word(last),
            Look::WordEndHalfAscii | Look::WordEndHalfUnicode => !is_word(next),
        }
    }
}

fn holds(class: &ClassUnicode, character: char) -> bool {
    let ranges = class.ranges();
    let at = ranges.partition_point(|range| range.end() < character);
    ranges.get(at).is_some_and(|range| range.start() <= character)
}

/// A set of positions in a text.
#[derive(Clone)]
struct Places(Vec<u64>);

impl Places {
    /// Returns the empty set for a text of that length, its end included.
    fn none(length: usize) -> Self {
        Self(vec![0; length / 64 + 1])
    }

    fn add(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn add_all(&mut self, others: &Self) {
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            *word |= other;
        }
    }

    fn without(mut self, others: &Self) -> Self {
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            *word &= !other;
        }
        self
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Returns the number of steps to iterate over the positions.
    fn cost(&self) -> usize {
        let places: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        1 + self.0.len() + places as usize
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(index * 64 + bit)
            })
        })
    }
}

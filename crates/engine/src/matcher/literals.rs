//! Extracts the literals that a text must contain for an expression to match.

use anyhook_model::truncate::first_bytes;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::expression::MatchExtent;

/// The maximum number of literals that represent an expression.
const MOST_LITERALS: usize = 128;

/// The maximum number of literals made from a sequence of small classes: `(?i)rm` makes four.
const MOST_PRODUCTS: usize = 64;

/// The maximum total length in bytes of the literals of an expression.
const MOST_BYTES: usize = 4096;

/// How much of a literal is searched for: more would not be more selective.
const LONGEST_NEED: usize = 32;

/// The maximum number of characters of a class that is expanded to literals: the cases of a letter.
const LARGEST_CLASS: usize = 4;

/// From this length on, a literal is as selective as a longer one.
const TELLING: usize = 4;

/// What a text must contain for an expression to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequiredLiterals {
    /// The text matches if and only if it is one of these, or contains one, depending on the
    /// expression's extent.
    Exactly(Vec<String>),
    /// The text does not match unless it contains one of these.
    AnyOf(Vec<String>),
    /// Nothing is known: any text may match.
    Nothing,
}

impl RequiredLiterals {
    /// Returns the required literals of an expression that contains no regex syntax.
    pub(super) fn of_plain(expression: &str, extent: MatchExtent) -> Option<Self> {
        let is_read = |byte: u8| br"\.+*?()[]{}^$".contains(&byte);
        if expression.len() > MOST_BYTES || expression.bytes().any(is_read) {
            return None;
        }
        let literals: Vec<_> = expression.split('|').map(str::to_owned).collect();
        (literals.len() <= MOST_LITERALS).then(|| Self::Exactly(normal(literals, extent)))
    }

    /// Returns whether all literals are ASCII, so that their cases are known without an expression.
    pub(super) fn are_ascii(&self) -> bool {
        match self {
            Self::Exactly(literals) | Self::AnyOf(literals) => {
                literals.iter().all(|literal| literal.is_ascii())
            }
            Self::Nothing => true,
        }
    }

    /// Returns the required literals of an expression; one for a whole text has its anchors.
    pub(super) fn of(hir: &Hir, extent: MatchExtent) -> Self {
        let facts = match (extent, hir.kind()) {
            (MatchExtent::Whole, HirKind::Concat(parts)) => of_concat(without_anchors(parts)),
            _ => of(hir),
        };
        match facts.texts {
            Some(Texts { list, sure: true })
                if extent == MatchExtent::Anywhere || is_anchored(hir) =>
            {
                Self::Exactly(normal(list, extent))
            }
            texts => better(texts.and_then(|texts| needed(texts.list)), facts.needed)
                .map_or(Self::Nothing, Self::AnyOf),
        }
    }
}

/// What is known about the texts that a part of an expression matches.
#[derive(Default)]
struct LiteralFacts {
    /// All texts it matches, if they are few.
    texts: Option<Texts>,
    /// Literals of which each matching text contains one.
    needed: Option<Vec<String>>,
}

/// All texts that a part of an expression matches.
struct Texts {
    list: Vec<String>,
    /// Whether each of them matches at any position: an anchor, for example, also depends on it.
    sure: bool,
}

impl Texts {
    fn one(text: &str) -> Self {
        Self { list: vec![text.to_owned()], sure: true }
    }

    fn is_small(&self, most: usize) -> bool {
        self.list.len() <= most && self.list.iter().map(String::len).sum::<usize>() <= MOST_BYTES
    }

    /// Returns each of these texts followed by each of the next, if they are few.
    fn followed_by(&self, next: &Self) -> Option<Self> {
        let most = if next.list.len() == 1 { MOST_LITERALS } else { MOST_PRODUCTS };
        if self.list.len().saturating_mul(next.list.len()) > most {
            return None;
        }
        if let [end] = &*next.list
            && end.is_empty()
        {
            return Some(Self { list: self.list.clone(), sure: self.sure && next.sure });
        }
        let list = self
            .list
            .iter()
            .flat_map(|start| next.list.iter().map(move |end| [start.as_str(), end].concat()))
            .collect();
        Some(Self { list, sure: self.sure && next.sure }).filter(|texts| texts.is_small(most))
    }
}

impl From<Texts> for LiteralFacts {
    fn from(texts: Texts) -> Self {
        Self { texts: Some(texts), needed: None }
    }
}

impl LiteralFacts {
    /// Returns literals of which each text contains one; `None` if there are none.
    fn into_needed(self) -> Option<Vec<String>> {
        better(self.texts.and_then(|texts| needed(texts.list)), self.needed)
    }
}

fn of(hir: &Hir) -> LiteralFacts {
    match hir.kind() {
        HirKind::Empty => Texts::one("").into(),
        HirKind::Look(_) => Texts { sure: false, ..Texts::one("") }.into(),
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(text) if text.len() <= MOST_BYTES => Texts::one(text).into(),
            Ok(text) => LiteralFacts { texts: None, needed: needed(vec![text.to_owned()]) },
            Err(_) => LiteralFacts::default(),
        },
        HirKind::Class(class) => {
            let texts = characters(class).map(|list| Texts { list, sure: true });
            LiteralFacts { texts, needed: None }
        }
        HirKind::Capture(capture) => of(&capture.sub),
        HirKind::Repetition(repetition) => {
            let sub = of(&repetition.sub);
            match (repetition.min, repetition.max) {
                (0, Some(1)) => {
                    let texts = sub.texts.map(|mut texts| {
                        texts.list.push(String::new());
                        texts
                    });
                    LiteralFacts { texts, needed: None }
                }
                (0, _) => LiteralFacts::default(),
                (1, Some(1)) => sub,
                _ => LiteralFacts { texts: None, needed: sub.into_needed() },
            }
        }
        HirKind::Concat(parts) => of_concat(parts),
        HirKind::Alternation(parts) => of_alternation(parts),
    }
}

/// Joins neighbours into texts as long as possible, and picks the best of these.
fn of_concat(parts: &[Hir]) -> LiteralFacts {
    let mut best = None;
    let mut run = Texts::one("");
    let mut is_whole = true;
    for part in parts {
        let facts = of(part);
        if let Some(texts) = &facts.texts
            && let Some(longer) = run.followed_by(texts)
        {
            run = longer;
            continue;
        }
        is_whole = false;
        best = better(best, needed(run.list));
        best = better(best, facts.needed);
        run = facts.texts.unwrap_or_else(|| Texts::one(""));
    }
    if is_whole {
        run.into()
    } else {
        LiteralFacts { texts: None, needed: better(best, needed(run.list)) }
    }
}

fn of_alternation(parts: &[Hir]) -> LiteralFacts {
    let mut texts = Some(Texts { list: Vec::new(), sure: true });
    let mut needs = Some(Vec::new());
    for part in parts {
        let facts = of(part);
        texts = texts.zip(facts.texts.as_ref()).and_then(|(mut texts, more)| {
            texts.list.extend(more.list.iter().cloned());
            texts.sure &= more.sure;
            Some(texts).filter(|texts| texts.is_small(MOST_LITERALS))
        });
        needs = needs.zip(facts.into_needed()).map(|(mut needs, more)| {
            needs.extend(more);
            needs
        });
    }
    let needed = needs.map(|needs| normal(needs, MatchExtent::Anywhere));
    LiteralFacts { texts, needed: needed.filter(|needed| needed.len() <= MOST_LITERALS) }
}

/// Returns the characters of a small class.
fn characters(class: &Class) -> Option<Vec<String>> {
    let mut characters = Vec::new();
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => {
            class.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        Class::Bytes(class) if class.is_ascii() => class
            .ranges()
            .iter()
            .map(|range| (char::from(range.start()), char::from(range.end())))
            .collect(),
        Class::Bytes(_) => return None,
    };
    for (start, end) in ranges {
        for character in start..=end {
            characters.push(character.to_string());
            if characters.len() > LARGEST_CLASS {
                return None;
            }
        }
    }
    Some(characters)
}

/// Returns the literals that show that one of the texts is there; `None` if none do.
fn needed(mut texts: Vec<String>) -> Option<Vec<String>> {
    for text in &mut texts {
        text.truncate(first_bytes(text, LONGEST_NEED).len());
    }
    let literals = normal(texts, MatchExtent::Anywhere);
    (!literals.iter().any(String::is_empty)).then_some(literals)
}

/// Returns the list without redundancy: a literal that contains another is found with it.
fn normal(mut literals: Vec<String>, extent: MatchExtent) -> Vec<String> {
    literals.sort_unstable_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
    literals.dedup();
    let are_equally_long = literals.first().map(String::len) == literals.last().map(String::len);
    if extent == MatchExtent::Whole || are_equally_long {
        return literals;
    }
    let mut kept: Vec<String> = Vec::with_capacity(literals.len());
    for literal in literals {
        if !kept.iter().any(|shorter| literal.contains(shorter.as_str())) {
            kept.push(literal);
        }
    }
    kept
}

/// Returns the more selective of two lists: longer literals, then fewer.
fn better(one: Option<Vec<String>>, other: Option<Vec<String>>) -> Option<Vec<String>> {
    let worth = |literals: &Vec<String>| {
        let shortest = literals.iter().map(String::len).min().unwrap_or(usize::MAX);
        (shortest.min(TELLING), std::cmp::Reverse(literals.len()), shortest)
    };
    match (one, other) {
        (Some(one), Some(other)) if worth(&other) > worth(&one) => Some(other),
        (Some(one), _) => Some(one),
        (None, other) => other,
    }
}

/// Returns whether the expression matches a text from its start to its end.
fn is_anchored(hir: &Hir) -> bool {
    let properties = hir.properties();
    properties.look_set_prefix().contains(Look::Start)
        && properties.look_set_suffix().contains(Look::End)
}

/// Returns the parts between the anchors of an expression for a whole text.
fn without_anchors(mut parts: &[Hir]) -> &[Hir] {
    let is = |hir: &Hir, look| matches!(hir.kind(), HirKind::Look(found) if *found == look);
    while let [first, rest @ ..] = parts
        && is(first, Look::Start)
    {
        parts = rest;
    }
    while let [rest @ .., last] = parts
        && is(last, Look::End)
    {
        parts = rest;
    }
    parts
}

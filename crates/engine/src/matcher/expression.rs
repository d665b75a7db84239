//! One regular expression: read at once, compiled when a text may match.

use regex::Regex;
use regex_syntax::hir::{Hir, Look};

use super::compiled::Compiled;
use super::literals::Needs;
use super::size;

/// How much of a text an expression is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it: a tool's name.
    Whole,
    /// Any part of it: a value of a tool's input.
    Anywhere,
}

/// A regular expression that is compiled when it is needed.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    extent: Extent,
    needs: Needs,
    compiled: Compiled,
}

impl Expression {
    /// Makes an expression for a whole text. The error says what is wrong with it.
    pub fn whole(expression: &str) -> Result<Self, String> {
        if let Some(needs) = Needs::of_plain(expression, Extent::Whole) {
            return Ok(Self::trusted(anchored(expression, ""), needs, Extent::Whole));
        }
        // Read alone first: `a)|(b` must not become valid by being put in a group.
        let alone = Sound::read(expression.to_owned())?;
        if let Some(sound) = alone.anchored() {
            return Ok(sound.expression(Extent::Whole));
        }
        let sound = Sound::read(anchored(expression, ""))
            // In `(?x)` mode the expression may end in a comment, which a newline closes.
            .or_else(|_| Sound::read(anchored(expression, "\n")))?;
        Ok(sound.expression(Extent::Whole))
    }

    /// Makes an expression that is searched in a text. The error says what is wrong with it.
    pub fn anywhere(expression: &str) -> Result<Self, String> {
        if let Some(needs) = Needs::of_plain(expression, Extent::Anywhere) {
            return Ok(Self::trusted(expression.to_owned(), needs, Extent::Anywhere));
        }
        Ok(Sound::read(expression.to_owned())?.expression(Extent::Anywhere))
    }

    /// Makes an expression of the text and the needs of one that was read before.
    pub fn trusted(text: String, needs: Needs, extent: Extent) -> Self {
        Self { text, extent, needs, compiled: Compiled::default() }
    }

    /// Returns what is compiled: for a whole text, with its anchors.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns how much of a text it is about.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Returns what a text must hold to match.
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Tells whether the text matches.
    pub fn is_match(&self, text: &str) -> bool {
        match &self.needs {
            Needs::Exactly(literals) if self.extent == Extent::Whole => {
                literals.iter().any(|literal| literal == text)
            }
            Needs::Exactly(literals) => contains_any(text, literals),
            // Once compiled, the expression finds its literals faster by itself.
            Needs::AnyOf(literals) if !self.compiled.is_ready() => {
                contains_any(text, literals) && self.is_match_compiled(text)
            }
            Needs::AnyOf(_) | Needs::Nothing => self.is_match_compiled(text),
        }
    }

    #[cfg(test)]
    pub(super) fn is_compiled(&self) -> bool {
        self.compiled.is_ready()
    }

    fn is_match_compiled(&self, text: &str) -> bool {
        // A guard whose expression got lost is asked rather than left out.
        self.compiled.is_match(&self.text, text).unwrap_or(true)
    }
}

fn contains_any(text: &str, literals: &[String]) -> bool {
    literals.iter().any(|literal| text.contains(literal.as_str()))
}

fn anchored(expression: &str, end: &str) -> String {
    format!("^(?:{expression}{end})$")
}

/// An expression that compiles.
struct Sound {
    text: String,
    hir: Hir,
    /// Given if there was doubt about its size.
    compiled: Option<Regex>,
}

impl Sound {
    /// Reads an expression: refuses what `Regex::new` refuses, with the same words.
    fn read(text: String) -> Result<Self, String> {
        let hir = regex_syntax::parse(&text).map_err(|error| last_line(&error.to_string()))?;
        let compiled = if size::is_surely_small(&hir) {
            None
        } else {
            Some(Regex::new(&text).map_err(|error| last_line(&error.to_string()))?)
        };
        Ok(Self { text, hir, compiled })
    }

    /// Puts anchors around the expression, where that needs no second reading: it has no comment
    /// that may hide them, and one group more is not one too many.
    fn anchored(&self) -> Option<Self> {
        const SHALLOW: usize = 100;
        let hir = Hir::concat(vec![Hir::look(Look::Start), self.hir.clone(), Hir::look(Look::End)]);
        let is_sound =
            !self.text.contains('#') && self.text.len() < SHALLOW && size::is_surely_small(&hir);
        is_sound.then(|| Self { text: anchored(&self.text, ""), hir, compiled: None })
    }

    fn expression(self, extent: Extent) -> Expression {
        let mut expression = Expression::trusted(self.text, Needs::of(&self.hir, extent), extent);
        if let Some(regex) = self.compiled {
            expression.compiled = regex.into();
        }
        expression
    }
}

/// Returns the last line of an error, which says what is wrong.
fn last_line(error: &str) -> String {
    error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

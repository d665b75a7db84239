//! One regular expression: parsed immediately, compiled when a text may match.

use regex::Regex;
use regex_syntax::hir::Hir;

use super::compiled::Compiled;
use super::literals::RequiredLiterals;
use super::size;

/// How much of a text an expression must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchExtent {
    /// All of it, case-insensitively: a tool's name.
    Whole,
    /// Any part of it: a value of a tool's input.
    Anywhere,
}

/// A lazily compiled regular expression.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    extent: MatchExtent,
    needs: RequiredLiterals,
    compiled: Compiled,
}

impl Expression {
    /// Makes an expression for a whole name, case-insensitively. The error says what is wrong with
    /// it.
    pub fn whole(expression: &str) -> Result<Self, String> {
        if expression.is_ascii()
            && let Some(needs) = RequiredLiterals::of_plain(expression, MatchExtent::Whole)
        {
            return Ok(Self::trusted(any_case(expression, ""), needs, MatchExtent::Whole));
        }
        // Parsed alone first: `a)|(b` must not become valid by being put in a group.
        Sound::read(expression.to_owned())?;
        let (sound, end) = match Sound::read(any_case(expression, "")) {
            Ok(sound) => (sound, ""),
            // In `(?x)` mode the expression may end in a comment, which a newline closes.
            Err(_) => (Sound::read(any_case(expression, "\n"))?, "\n"),
        };
        // The required literals are those of the expression as written: few cases, few literals.
        let sets_flags = expression.contains("(?") && expression.contains('-');
        let written = regex_syntax::parse(&anchored(expression, end)).ok();
        let needs = written
            .filter(|_| !sets_flags)
            .map(|hir| RequiredLiterals::of(&hir, MatchExtent::Whole));
        let needs = needs.filter(RequiredLiterals::are_ascii).unwrap_or(RequiredLiterals::Nothing);
        Ok(sound.expression(MatchExtent::Whole, needs))
    }

    /// Makes an expression match additional whole names.
    pub fn widen(&mut self, names: &[&str]) {
        if names.is_empty() {
            return;
        }
        self.text = format!("{}|^(?i:{})$", self.text, names.join("|"));
        self.compiled = Compiled::default();
        if let RequiredLiterals::Exactly(literals) | RequiredLiterals::AnyOf(literals) =
            &mut self.needs
        {
            literals.extend(names.iter().map(|name| (*name).to_owned()));
        }
    }

    /// Makes an expression that is searched for in a text. The error says what is wrong with it.
    pub fn anywhere(expression: &str) -> Result<Self, String> {
        if let Some(needs) = RequiredLiterals::of_plain(expression, MatchExtent::Anywhere) {
            return Ok(Self::trusted(expression.to_owned(), needs, MatchExtent::Anywhere));
        }
        let sound = Sound::read(expression.to_owned())?;
        let needs = RequiredLiterals::of(&sound.hir, MatchExtent::Anywhere);
        Ok(sound.expression(MatchExtent::Anywhere, needs))
    }

    /// Makes an expression from the text and the required literals of one that was parsed before.
    pub fn trusted(text: String, needs: RequiredLiterals, extent: MatchExtent) -> Self {
        Self { text, extent, needs, compiled: Compiled::default() }
    }

    /// Returns what is compiled: for a whole text, including its anchors.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns how much of a text it must match.
    pub fn extent(&self) -> MatchExtent {
        self.extent
    }

    /// Returns what a text must contain to match.
    pub fn needs(&self) -> &RequiredLiterals {
        &self.needs
    }

    /// Returns whether the text matches.
    pub fn is_match(&self, text: &str) -> bool {
        match &self.needs {
            // Outside ASCII, only the expression knows which letters are cases of one another.
            _ if self.extent == MatchExtent::Whole && !text.is_ascii() => {
                self.is_match_compiled(text)
            }
            RequiredLiterals::Exactly(literals) if self.extent == MatchExtent::Whole => {
                literals.iter().any(|literal| literal.eq_ignore_ascii_case(text))
            }
            RequiredLiterals::AnyOf(literals) if self.extent == MatchExtent::Whole => {
                let is_held = |literal: &String| holds_in_any_case(text, literal.as_bytes());
                literals.iter().any(is_held) && self.is_match_compiled(text)
            }
            RequiredLiterals::Exactly(literals) => contains_any(text, literals),
            // Once compiled, the expression itself finds its literals faster.
            RequiredLiterals::AnyOf(literals) if !self.compiled.is_ready() => {
                contains_any(text, literals) && self.is_match_compiled(text)
            }
            RequiredLiterals::AnyOf(_) | RequiredLiterals::Nothing => self.is_match_compiled(text),
        }
    }

    #[cfg(test)]
    pub(super) fn is_compiled(&self) -> bool {
        self.compiled.is_ready()
    }

    fn is_match_compiled(&self, text: &str) -> bool {
        // A guard whose expression was lost is asked rather than left out.
        self.compiled.is_match(&self.text, text).unwrap_or(true)
    }
}

fn contains_any(text: &str, literals: &[String]) -> bool {
    literals.iter().any(|literal| text.contains(literal.as_str()))
}

/// Returns whether a name contains a part, case-insensitively.
pub fn holds_in_any_case(name: &str, part: &[u8]) -> bool {
    part.is_empty()
        || name.as_bytes().windows(part.len()).any(|held| held.eq_ignore_ascii_case(part))
}

fn anchored(expression: &str, end: &str) -> String {
    format!("^(?:{expression}{end})$")
}

fn any_case(expression: &str, end: &str) -> String {
    format!("^(?i:{expression}{end})$")
}

/// An expression that compiles.
struct Sound {
    text: String,
    hir: Hir,
    /// Set if its size was in doubt.
    compiled: Option<Regex>,
}

impl Sound {
    /// Parses an expression: rejects what `Regex::new` rejects, with the same message.
    fn read(text: String) -> Result<Self, String> {
        let hir = regex_syntax::parse(&text).map_err(|error| last_line(&error.to_string()))?;
        let compiled = if size::is_surely_small(&hir) {
            None
        } else {
            Some(Regex::new(&text).map_err(|error| last_line(&error.to_string()))?)
        };
        Ok(Self { text, hir, compiled })
    }

    fn expression(self, extent: MatchExtent, needs: RequiredLiterals) -> Expression {
        let mut expression = Expression::trusted(self.text, needs, extent);
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

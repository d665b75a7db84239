//! Findings: what is wrong with a runbook, where, and how to fix it.

use std::collections::HashSet;
use std::ops::Range;

use anyhook_model::nearest::nearest;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Worth knowing; nothing to fix.
    Note,
    /// The runbook cannot be used.
    Error,
}

/// A finding in a runbook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A short, stable name, such as `unknown-key`.
    pub code: &'static str,
    /// The severity.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
    /// Where in the text, in bytes.
    pub span: Option<Range<usize>>,
}

impl Finding {
    /// Makes an error without a position.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        let severity = Severity::Error;
        Self { code, severity, message: message.into(), hint: None, span: None }
    }

    /// Makes it a note.
    #[must_use]
    pub fn note(mut self) -> Self {
        self.severity = Severity::Note;
        self
    }

    /// Adds the position.
    #[must_use]
    pub fn at(mut self, span: impl Into<Range<usize>>) -> Self {
        self.span = Some(span.into());
        self
    }

    /// Adds the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Suggests similar names for a word, or else lists the known ones.
    #[must_use]
    pub fn meant<'list>(
        self,
        word: &str,
        known: impl Iterator<Item = &'list str>,
        otherwise: &str,
    ) -> Self {
        // A name may occur twice or be empty, which is reported separately.
        let mut seen = HashSet::new();
        let names: Vec<&str> =
            known.filter(|name| !name.is_empty() && seen.insert(*name)).collect();
        match nearest(word, names.iter().copied()) {
            Some(near) => self.hint(format!("did you mean `{near}`?")),
            None if names.is_empty() => self,
            None => self.hint(format!("{otherwise}: {}", names.join(", "))),
        }
    }
}

/// A position in a runbook's text, in bytes.
///
/// It does not affect equality: definitions that differ in nothing else are equal.
#[derive(Clone, Debug, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Span {}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

impl From<&Span> for Range<usize> {
    fn from(span: &Span) -> Self {
        span.start..span.end
    }
}

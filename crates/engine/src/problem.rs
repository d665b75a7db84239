//! Findings that `check` reports: what is wrong, its position in the file, and what to do about it.

use std::ops::Range;

use anyhook_model::EventKind;
use anyhook_model::report::Finding;

pub use anyhook_model::nearest::nearest;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing to fix.
    Note,
    /// The hook works, but perhaps not as its author thinks.
    Warning,
    /// Violates the format. The hook still runs if it can.
    Error,
    /// The hook cannot run.
    Unusable,
}

impl Severity {
    /// Returns the severity's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Unusable => "unusable",
        }
    }
}

/// A finding in a hook, or in another file that people write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A short, stable name, such as `unknown-trigger`.
    pub code: &'static str,
    /// The severity.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
    /// Its position in the file.
    pub place: Option<TextPosition>,
}

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl TextPosition {
    /// Returns the position of a byte range in a text.
    pub fn in_text(text: &str, range: &Range<usize>) -> Self {
        // A caret cannot be inside a character.
        let letter = |from: usize| (from..text.len()).find(|at| text.is_char_boundary(*at));
        let start = letter(range.start).unwrap_or(text.len());
        let end = letter(range.end.max(start)).unwrap_or(text.len());
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        // A caret under a multi-line value marks its first line.
        let marked = text[start..end].lines().next().unwrap_or("").trim_end().len();
        Self {
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            start,
            end: start + marked.max(1),
        }
    }
}

impl Problem {
    /// Makes a finding without a position in the file.
    pub fn new(code: &'static str, severity: Severity, message: impl Into<String>) -> Self {
        Self { code, severity, message: message.into(), hint: None, place: None }
    }

    /// Returns the finding as commands print it.
    pub fn to_finding(&self) -> Finding {
        Finding {
            code: self.code.to_owned(),
            severity: self.severity.word().to_owned(),
            message: self.message.clone(),
            hint: self.hint.clone(),
            line: self.place.map(|place| place.line),
            column: self.place.map(|place| place.column),
        }
    }

    /// Adds the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the position.
    #[must_use]
    pub fn at(mut self, place: TextPosition) -> Self {
        self.place = Some(place);
        self
    }
}

/// Suggests what the author of an unknown event name may have meant.
pub fn event_hint(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    match EventKind::slip_of(&name).or_else(|| nearest(&name, EventKind::all_names())) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let names: Vec<String> = EventKind::all().map(|kind| kind.to_string()).collect();
            format!("events: {}", names.join(", "))
        }
    }
}

//! Compiles an expression lazily, and only as far as needed.
//!
//! `Regex` prepares for texts of any length and characters of any alphabet: hundreds of kilobytes
//! of tables for an expression that has a `\s`, automata in both directions, a literal search that
//! first detects the processor's features, a pool for threads that first asks the system how many
//! there are. Walking through a short text is done before that preparation ends.

use std::sync::OnceLock;

use regex::Regex;
use regex_syntax::hir::Hir;

use super::walk;

/// Texts up to this length are short.
const SHORT: usize = 1024;

/// The compiled forms of an expression.
#[derive(Clone, Debug, Default)]
pub(super) struct Compiled {
    // `None` inside: it cannot be parsed, or not be compiled.
    read: OnceLock<Option<Hir>>,
    compiled: OnceLock<Option<Regex>>,
}

impl Compiled {
    /// Returns whether the text matches; `None` if the expression cannot be compiled.
    pub(super) fn is_match(&self, expression: &str, text: &str) -> Option<bool> {
        if text.len() <= SHORT && self.compiled.get().is_none() {
            let read = self.read.get_or_init(|| regex_syntax::parse(expression).ok());
            if let Some(found) = read.as_ref().and_then(|hir| walk::is_match(hir, text)) {
                return Some(found);
            }
        }
        let regex = self.compiled.get_or_init(|| Regex::new(expression).ok());
        regex.as_ref().map(|regex| regex.is_match(text))
    }

    /// Returns whether anything has been compiled.
    pub(super) fn is_ready(&self) -> bool {
        self.read.get().is_some() || self.compiled.get().is_some()
    }
}

impl From<Regex> for Compiled {
    fn from(regex: Regex) -> Self {
        Self { read: OnceLock::new(), compiled: OnceLock::from(Some(regex)) }
    }
}

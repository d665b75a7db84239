//! Duplicate keys, at which the formats' parsers stop.
//!
//! Such a key is renamed to one of the same length, so that everything else is read and every
//! position stays correct; the tree has it under the name that was written.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// Maximum number of renamed keys.
const AT_MOST: usize = 100;

/// A text with renamed keys.
pub struct RenamedKeys {
    /// The text as it is parsed.
    pub text: String,
    /// The original keys, by where they begin.
    written: BTreeMap<usize, (Range<usize>, String)>,
    /// Words that cannot be used as a new name.
    words: HashSet<String>,
}

impl RenamedKeys {
    /// Starts with the unchanged text.
    pub fn new(text: String) -> Self {
        let words = text.split(|letter: char| !letter.is_alphanumeric()).map(str::to_owned);
        Self { words: words.collect(), written: BTreeMap::new(), text }
    }

    /// Renames the key at a position; returns whether there was one.
    pub fn rename(&mut self, span: &Range<usize>) -> bool {
        let key = self.text.get(span.clone()).unwrap_or_default();
        let name = unquoted(key);
        // Renaming may not help, as for `a.b = 1` below a table `[a]`.
        let is_renamed = self.written.contains_key(&span.start);
        if is_renamed || key.contains('\\') || self.written.len() >= AT_MOST {
            return false;
        }
        let Some(other) = self.spare(name.len()) else { return false };
        let start = span.start + (key.len() - name.len()) / 2;
        self.written.insert(span.start, (span.clone(), name.to_owned()));
        self.text.replace_range(start..start + other.len(), &other);
        self.words.insert(other);
        true
    }

    /// Renames a table's key, also in the headers of its subtables: in TOML `[a.b.c]` after a
    /// second `[a.b]`.
    pub fn rename_table(&mut self, span: &Range<usize>) -> bool {
        let start = self.text.get(..span.start).and_then(|text| text.rfind('\n'));
        let path = start.map_or(0, |at| at + 1)..span.start;
        let path = self.text.get(path).and_then(header).unwrap_or_default().to_owned();
        let key = self.text.get(span.clone()).unwrap_or_default().to_owned();
        if !self.rename(span) {
            return false;
        }
        let other = self.text[span.clone()].to_owned();
        let mut at = span.end;
        while let Some(end) = self.text[at..].find('\n').filter(|_| !path.is_empty()) {
            at += end + 1;
            let line = self.text[at..].lines().next().unwrap_or_default();
            let Some(rest) = header(line).and_then(|header| header.strip_prefix(&path)) else {
                continue;
            };
            let place = at + line.len() - rest.len();
            match rest.strip_prefix(&key) {
                Some(rest) if rest.starts_with('.') => {
                    self.text.replace_range(place..place + key.len(), &other);
                }
                // What follows is below the next table of that name.
                Some(rest) if rest.starts_with(']') => break,
                _ => {}
            }
        }
        true
    }

    /// Returns the original name of a key.
    pub fn name(&self, read: String, span: &Range<usize>) -> String {
        self.written.get(&span.start).map_or(read, |(_, name)| name.clone())
    }

    /// Returns the renamed keys: the original name, and where.
    pub fn keys(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        self.written.values().map(|(span, name)| (name.as_str(), span.clone()))
    }

    /// Returns a word of a given length that does not occur in the text.
    fn spare(&self, length: usize) -> Option<String> {
        let first = length.checked_sub(2).map_or(String::new(), |more| "z".repeat(more));
        let letters = || ('a'..='z').chain('A'..='Z').map(String::from);
        let words: Vec<String> = match length {
            0 => Vec::new(),
            1 => letters().collect(),
            _ => {
                letters().flat_map(|one| letters().map(move |two| format!("{one}{two}"))).collect()
            }
        };
        let mut words = words.into_iter().map(|last| format!("{first}{last}"));
        words.find(|word| !self.words.contains(word))
    }
}

/// Returns the text after the opening bracket of a table's header.
fn header(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.starts_with('[').then(|| line.trim_start_matches('['))
}

/// Returns a key without its quotes.
pub fn unquoted(key: &str) -> &str {
    let inner = |quote: char| key.strip_prefix(quote).and_then(|key| key.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gets_a_name_of_its_length_that_is_free() {
        let mut renamed = RenamedKeys::new("a a run run \"x y\" b".to_owned());
        assert!(renamed.rename(&(2..3)) && renamed.rename(&(8..11)) && renamed.rename(&(12..17)));
        assert_eq!(renamed.text, "a c run zaa \"zab\" b");
        assert!(!renamed.rename(&(2..3)), "it has another name already");
        assert_eq!(renamed.name("c".to_owned(), &(2..3)), "a");
        assert_eq!(renamed.name("b".to_owned(), &(18..19)), "b");
        let keys: Vec<(&str, Range<usize>)> = renamed.keys().collect();
        assert_eq!(keys, [("a", 2..3), ("run", 8..11), ("x y", 12..17)]);
    }

    #[test]
    fn what_is_below_a_table_goes_with_it() {
        let text = "[a.b]\n[[a.b.c]]\n[a.b]\n[[a.b.c]]\n [a.b.d]\n[a.bb.c]\n[a.b]\n[a.b.c]\n";
        let mut renamed = RenamedKeys::new(text.to_owned());
        assert!(renamed.rename_table(&(19..20)));
        let expected = "[a.b]\n[[a.b.c]]\n[a.e]\n[[a.e.c]]\n [a.e.d]\n[a.bb.c]\n[a.b]\n[a.b.c]\n";
        assert_eq!(renamed.text, expected);
        assert_eq!(renamed.keys().collect::<Vec<_>>(), [("b", 19..20)]);
        let mut renamed = RenamedKeys::new("x = 1\nx = 2\n[x.y]\n".to_owned());
        assert!(renamed.rename_table(&(6..7)));
        assert_eq!(renamed.text, "x = 1\na = 2\n[x.y]\n");
    }

    #[test]
    fn some_keys_keep_their_names() {
        let letters: String = ('a'..='z').chain('A'..='Z').flat_map(|one| [one, ' ']).collect();
        let mut renamed = RenamedKeys::new(format!("{letters}\"\" \"\\n\""));
        let end = letters.len();
        for span in [0..1, end..end + 2, end + 3..end + 7, 900..901] {
            assert!(!renamed.rename(&span), "{span:?}");
        }
    }
}

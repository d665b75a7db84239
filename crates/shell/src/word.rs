//! A word of a command after expansion: what is known of it.

/// Begins a part that is not known, in a text that is read again as shell.
pub(crate) const GAP_START: char = '\u{f8fe}';
/// Ends such a part.
pub(crate) const GAP_END: char = '\u{f8ff}';

/// A word of a command: quotes removed, known variables expanded.
///
/// The home folder is written `~`, the current folder `.`. What cannot be told keeps its source
/// text, such as `$DIR`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// The whole text, with the source of what is not known.
    pub text: String,
    /// Ranges of `text` that are not known, in order.
    gaps: Vec<(usize, usize)>,
    glob: bool,
}

/// A part of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Text that stands in the word as it is.
    Known(&'a str),
    /// The source of something whose value cannot be told.
    Unknown(&'a str),
}

impl Word {
    /// Returns a word that is known.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Returns a word of which nothing but the source text is known.
    pub fn unknown(source: impl Into<String>) -> Self {
        let mut word = Self::default();
        word.push_unknown(&source.into());
        word
    }

    /// Returns the text if all of it is known.
    pub fn known(&self) -> Option<&str> {
        self.gaps.is_empty().then_some(self.text.as_str())
    }

    /// Returns the known text before the first part that is not known.
    pub fn prefix(&self) -> &str {
        let end = self.gaps.first().map_or(self.text.len(), |gap| gap.0);
        &self.text[..end]
    }

    /// Returns whether the word has an unquoted `*`, `?` or `[`.
    pub fn is_glob(&self) -> bool {
        self.glob
    }

    /// Returns the parts in order.
    pub fn parts(&self) -> Vec<Part<'_>> {
        let mut parts = Vec::new();
        let mut at = 0;
        for &(start, end) in &self.gaps {
            if at < start {
                parts.push(Part::Known(&self.text[at..start]));
            }
            parts.push(Part::Unknown(&self.text[start..end]));
            at = end;
        }
        if at < self.text.len() {
            parts.push(Part::Known(&self.text[at..]));
        }
        parts
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.gaps.is_empty()
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds unquoted text, in which some characters stand for names of files.
    pub(crate) fn push_unquoted(&mut self, text: &str) {
        self.glob |= text.contains(['*', '?', '[']);
        self.text.push_str(text);
    }

    pub(crate) fn push_unknown(&mut self, source: &str) {
        let start = self.text.len();
        self.text.push_str(source);
        self.gaps.push((start, self.text.len()));
    }

    pub(crate) fn push_word(&mut self, other: &Self) {
        let offset = self.text.len();
        self.text.push_str(&other.text);
        self.gaps.extend(other.gaps.iter().map(|&(start, end)| (start + offset, end + offset)));
    }

    pub(crate) fn set_glob(&mut self, glob: bool) {
        self.glob = glob;
    }

    /// Returns the word from a place of its text on, which must not be within an unknown part.
    pub(crate) fn after(&self, place: usize) -> Self {
        let gaps = self.gaps.iter().filter(|gap| gap.0 >= place);
        Self {
            text: self.text[place..].to_owned(),
            gaps: gaps.map(|&(start, end)| (start - place, end - place)).collect(),
            glob: self.glob,
        }
    }

    /// Returns what follows a known beginning.
    pub(crate) fn strip_prefix(&self, prefix: &str) -> Option<Self> {
        self.prefix().starts_with(prefix).then(|| self.after(prefix.len()))
    }

    /// Returns the known text before a character, and the rest of the word behind it.
    pub(crate) fn split_once(&self, separator: char) -> Option<(&str, Self)> {
        let place = self.prefix().find(separator)?;
        Some((&self.text[..place], self.after(place + separator.len_utf8())))
    }

    /// Returns the text with marks around what is not known, to be read again.
    pub(crate) fn marked(&self) -> String {
        if self.gaps.is_empty() {
            return self.text.clone();
        }
        let mut marked = String::with_capacity(self.text.len() + 8 * self.gaps.len());
        for part in self.parts() {
            match part {
                Part::Known(text) => marked.push_str(text),
                Part::Unknown(source) => {
                    marked.push(GAP_START);
                    marked.push_str(source);
                    marked.push(GAP_END);
                }
            }
        }
        marked
    }

    /// Returns words joined by blanks.
    pub(crate) fn joined(words: &[Self]) -> Self {
        let mut joined = Self::default();
        for (index, word) in words.iter().enumerate() {
            if index > 0 {
                joined.push(" ");
            }
            joined.push_word(word);
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_word_are_told_apart() {
        let mut word = Word::literal("a/");
        word.push_unknown("$X");
        word.push("/b");
        assert_eq!(word.known(), None);
        assert_eq!(word.prefix(), "a/");
        assert_eq!(word.parts(), [Part::Known("a/"), Part::Unknown("$X"), Part::Known("/b")]);
        assert_eq!(word.after(2).parts(), [Part::Unknown("$X"), Part::Known("/b")]);
        assert_eq!(word.marked(), format!("a/{GAP_START}$X{GAP_END}/b"));
    }
}

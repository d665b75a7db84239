//! Matchers of agents' own hooks.

/// What a matcher is compared with, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatcherForm {
    /// Everything matches.
    Every,
    /// One of these names, exactly.
    Names(Vec<String>),
    /// A regular expression, searched for.
    Search(String),
    /// A regular expression that matches from beginning to end.
    Whole(String),
}

impl MatcherForm {
    /// Reads a list of names, separated by these characters, if the matcher consists of names and
    /// of these other characters alone; otherwise it is an expression to search for.
    pub(super) fn names_or_search(matcher: &str, separators: &[char], others: &[char]) -> Self {
        if is_every(matcher) {
            return Self::Every;
        }
        let is_plain = |letter: char| {
            letter.is_ascii_alphanumeric()
                || letter == '_'
                || separators.contains(&letter)
                || others.contains(&letter)
        };
        if matcher.chars().all(is_plain) {
            let names = matcher.split(separators).map(str::trim).filter(|name| !name.is_empty());
            return Self::Names(names.map(str::to_owned).collect());
        }
        Self::Search(matcher.to_owned())
    }

    /// Reads a text that has to be the value itself.
    pub(super) fn exactly(matcher: &str) -> Self {
        if is_every(matcher) { Self::Every } else { Self::Names(vec![matcher.to_owned()]) }
    }
}

/// Returns whether a matcher matches everything.
pub(super) fn is_every(matcher: &str) -> bool {
    matches!(matcher, "" | "*")
}

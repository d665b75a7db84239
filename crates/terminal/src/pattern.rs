//! Patterns on the command line: names with `*` for any characters.

use std::str::FromStr;

/// A pattern for names. Without a `*` it is the name itself or a prefix of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the pattern is empty; `*` matches everything".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

impl Pattern {
    /// Returns whether one of these names matches.
    pub fn matches_any<'name>(&self, names: impl IntoIterator<Item = Option<&'name str>>) -> bool {
        names.into_iter().flatten().any(|name| self.matches(name))
    }

    /// Returns whether a name matches: all of it if the pattern has a `*`, else a prefix of it.
    pub fn matches(&self, name: &str) -> bool {
        if self.0.contains('*') { wildcard(&self.0, name) } else { name.starts_with(&self.0) }
    }

    /// Returns whether a path matches: all of it, its last component, or a folder above it.
    pub fn matches_path(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let pattern = self.0.trim_end_matches('/');
        let last = path.rsplit('/').next().unwrap_or(path);
        if self.0.contains('*') {
            return wildcard(pattern, path) || wildcard(pattern, last);
        }
        let is_inside = path.strip_prefix(pattern).is_some_and(|rest| rest.starts_with('/'));
        path == pattern || last == pattern || is_inside
    }

    /// Returns whether all of a word matches.
    pub fn matches_word(&self, word: &str) -> bool {
        wildcard(&self.0, word)
    }
}

/// Compares in linear time for each `*`: after a mismatch only the last one is extended.
fn wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut seen) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while seen < text.len() {
        if pattern.get(at) == Some(&b'*') {
            retry = Some((at + 1, seen));
            at += 1;
        } else if pattern.get(at) == Some(&text[seen]) {
            at += 1;
            seen += 1;
        } else if let Some((after, from)) = retry {
            retry = Some((after, from + 1));
            at = after;
            seen = from + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        text.parse().unwrap()
    }

    #[test]
    fn stars_and_beginnings() {
        for (text, name, expected) in [
            ("agent:*", "agent:idle", true),
            ("agent:*", "decision:created", false),
            ("*", "", true),
            ("*view", "greet.review", true),
            ("*view", "greet.reviewer", false),
            ("a*b*c", "axxbxbc", true),
            ("a*b*c", "axxbxb", false),
            ("gre", "greet", true),
            ("greet", "gre", false),
        ] {
            assert_eq!(pattern(text).matches(name), expected, "{text} {name}");
        }
        assert!("".parse::<Pattern>().is_err());
        assert!(!pattern("agent:i").matches_word("agent:idle"));
    }

    #[test]
    fn paths() {
        for (text, path, expected) in [
            ("shop", "/home/me/shop", true),
            ("/home/me/shop/", "/home/me/shop", true),
            ("/home/me", "/home/me/shop", true),
            ("/home/me/sh", "/home/me/shop", false),
            ("sh*", "/home/me/shop", true),
            ("/home/*/shop", "/home/me/shop", true),
        ] {
            assert_eq!(pattern(text).matches_path(path), expected, "{text} {path}");
        }
    }
}

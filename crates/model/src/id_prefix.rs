//! Finds one item among many by its id or a prefix of it, as a person types it.

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrefixMatch<T> {
    /// Nothing.
    Nothing,
    /// Exactly one.
    One(T),
    /// More than one: all of them, in their order.
    Several(Vec<T>),
}

impl<T> PrefixMatch<T> {
    /// Returns this, or the result of `other` if this is nothing.
    #[must_use]
    pub fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Nothing => other(),
            found => found,
        }
    }
}

impl<T> FromIterator<T> for PrefixMatch<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        let mut all = all.into_iter();
        let Some(first) = all.next() else { return Self::Nothing };
        match all.next() {
            None => Self::One(first),
            Some(second) => Self::Several([first, second].into_iter().chain(all).collect()),
        }
    }
}

/// Finds the item with exactly this id, even if it is also a prefix of another; otherwise the items
/// whose id starts with it. An empty text finds nothing.
pub fn find_by_prefix<'id, T>(
    text: &str,
    all: impl IntoIterator<Item = T>,
    id: impl Fn(&T) -> &'id str,
) -> PrefixMatch<T> {
    if text.is_empty() {
        return PrefixMatch::Nothing;
    }
    let mut found = Vec::new();
    for one in all {
        if id(&one) == text {
            return PrefixMatch::One(one);
        }
        if id(&one).starts_with(text) {
            found.push(one);
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_its_id_or_the_beginning_of_it() {
        let find = |text| find_by_prefix(text, ["a", "ab", "bcd"], |id| id);
        assert_eq!(find("a"), PrefixMatch::One("a"), "though it begins another");
        assert_eq!(find("b"), PrefixMatch::One("bcd"));
        assert_eq!(find("c"), PrefixMatch::Nothing);
        assert_eq!(find(""), PrefixMatch::Nothing);
        let find = |text| find_by_prefix(text, ["aa", "ab", "ac"], |id| id);
        assert_eq!(find("a"), PrefixMatch::Several(vec!["aa", "ab", "ac"]));
        assert_eq!(find("x").or_else(|| find("ab")), PrefixMatch::One("ab"));
    }
}

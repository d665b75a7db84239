//! What somebody may have meant who wrote a word that is not known.

/// Returns the candidate nearest to `word`, if one is near enough to be what was meant.
pub fn nearest<'list>(
    word: &str,
    candidates: impl Iterator<Item = &'list str>,
) -> Option<&'list str> {
    candidates
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_known_and_another_word_is_not() {
        let words = ["on_done", "on_fail", "timeout"];
        assert_eq!(nearest("timeuot", words.into_iter()), Some("timeout"));
        assert_eq!(nearest("on_dne", words.into_iter()), Some("on_done"));
        assert_eq!(nearest("agent", words.into_iter()), None);
    }
}

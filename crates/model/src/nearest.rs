//! Suggestions for misspelled words: the nearest of several candidates.

/// Returns the candidate nearest to `word`, if one is similar enough to be what was meant.
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

/// Returns the candidate that `word` is a misspelling of: at most two letters away, ignoring case.
pub fn slip_of<'list>(
    word: &str,
    candidates: impl Iterator<Item = &'list str>,
) -> Option<&'list str> {
    let word = word.to_ascii_lowercase();
    let most = if word.len() < 5 { 0 } else { (word.len() / 4).clamp(1, 2) };
    candidates
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= most)
        .map(|candidate| {
            (strsim::damerau_levenshtein(&word, &candidate.to_ascii_lowercase()), candidate)
        })
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_is_told_from_another_word() {
        let words = ["decision", "reason", "hookSpecificOutput", "log"];
        let slip = |word| slip_of(word, words.into_iter());
        for (word, meant) in [
            ("decison", "decision"),
            ("Decsion", "decision"),
            ("reson", "reason"),
            ("hookSpecificOuptut", "hookSpecificOutput"),
        ] {
            assert_eq!(slip(word), Some(meant), "{word}");
        }
        for word in ["result", "level", "logs", "season-ticket", "version", ""] {
            assert_eq!(slip(word), None, "{word}");
        }
    }

    #[test]
    fn a_slip_of_the_pen_is_known_and_another_word_is_not() {
        let words = ["on_done", "on_fail", "timeout"];
        assert_eq!(nearest("timeuot", words.into_iter()), Some("timeout"));
        assert_eq!(nearest("on_dne", words.into_iter()), Some("on_done"));
        assert_eq!(nearest("agent", words.into_iter()), None);
    }
}

//! Truncates text to a maximum length, always between two characters.

/// Returns the beginning of a text, at most this many bytes.
pub fn first_bytes(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    // From Rust 1.91 on, this is `str::floor_char_boundary`.
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the beginning of a text, at most this many characters.
pub fn first_chars(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// Returns at most this many characters of a text, with `…` at the end if there were more.
pub fn ellipsized(text: &str, most: usize) -> String {
    let kept = first_chars(text, most);
    if kept.len() == text.len() { text.to_owned() } else { format!("{kept}…") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_cut_between_characters() {
        for (most, bytes, chars, ellipsis) in [
            (0, "", "", "…"),
            (1, "", "ä", "ä…"),
            (2, "ä", "äb", "äb…"),
            (3, "äb", "äbc", "äbc"),
            (4, "äbc", "äbc", "äbc"),
            (9, "äbc", "äbc", "äbc"),
        ] {
            assert_eq!(first_bytes("äbc", most), bytes, "{most}");
            assert_eq!(first_chars("äbc", most), chars, "{most}");
            assert_eq!(ellipsized("äbc", most), ellipsis, "{most}");
        }
        assert_eq!(ellipsized("", 0), "");
    }
}

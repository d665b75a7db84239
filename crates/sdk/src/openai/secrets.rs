//! Masks the API key and header values in texts.

use anyhook_model::truncate::ellipsized;

/// The longest excerpt of a server's message in an error, in characters.
pub(super) const EXCERPT: usize = 500;

/// A header's value that is shorter than this is not a secret: masking it would only garble texts.
const SHORTEST: usize = 8;

/// The API key and the values of the program's own headers.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn new<'a>(key: Option<&str>, headers: impl Iterator<Item = &'a str>) -> Self {
        let headers = headers.filter(|value| value.len() >= SHORTEST).map(ToOwned::to_owned);
        let mut secrets: Vec<String> = key.map(ToOwned::to_owned).into_iter().collect();
        secrets.extend(headers);
        // A secret that contains another one must not be broken into readable parts.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    /// Returns the start of a text, without the secrets. They are masked first: a cut could hide
    /// one.
    pub(super) fn excerpt(&self, text: &str) -> String {
        let masked = self.0.iter().fold(text.trim().to_owned(), |text, secret| {
            if text.contains(secret.as_str()) { text.replace(secret.as_str(), "***") } else { text }
        });
        ellipsized(&masked, EXCERPT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_before_the_cut() {
        let secrets = Secrets::new(Some("sk-123"), ["sk-123456789", "short"].into_iter());
        assert_eq!(secrets.excerpt(" sk-123456789, sk-123, short\n"), "***, ***, short");
        let text = format!("{}sk-123", "ä".repeat(EXCERPT - 2));
        assert_eq!(secrets.excerpt(&text), format!("{}**…", "ä".repeat(EXCERPT - 2)));
    }
}

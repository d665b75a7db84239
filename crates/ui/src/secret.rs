//! Secrets of the page: random words that open it. Only their digests are stored.

use std::fmt::{self, Write as _};

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// A secret's length in bytes, before it is written as text.
const LENGTH: usize = 32;

/// A random word that nobody can guess.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Makes a new one; an error if the system has no random numbers.
    pub fn random() -> Result<Self, ring::error::Unspecified> {
        let mut bytes = [0; LENGTH];
        SystemRandom::new().fill(&mut bytes)?;
        Ok(Self(hexadecimal(&bytes)))
    }

    /// Takes one that a browser or a program sent.
    pub fn received(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns a shorter one: half its length, still beyond guessing.
    pub fn short(&self) -> String {
        self.0.chars().take(LENGTH).collect()
    }

    /// Returns the word.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns what is stored in its place. Secrets are looked up by this, so that the time of a
    /// comparison says nothing about them.
    pub fn digest(&self) -> String {
        hexadecimal(ring::digest::digest(&ring::digest::SHA256, self.0.as_bytes()).as_ref())
    }

    /// Returns a word that proves knowledge of this secret for one purpose, without giving it away.
    pub fn derived(&self, purpose: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        hexadecimal(hmac::sign(&key, purpose.as_bytes()).as_ref())
    }

    /// Returns whether a word was derived from this secret for a purpose; takes the same time for
    /// every word.
    pub fn has_derived(&self, purpose: &str, word: &str) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        bytes(word).is_some_and(|word| hmac::verify(&key, purpose.as_bytes(), &word).is_ok())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// Writes bytes in hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Reads hexadecimal digits.
pub fn bytes(text: &str) -> Option<Vec<u8>> {
    let is_hexadecimal =
        text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let pair = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    is_hexadecimal.then(|| (0..text.len()).step_by(2).map(pair).collect()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_show_nothing() {
        let (one, other) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.text().len(), 2 * LENGTH);
        assert!(!format!("{one:?}").contains(one.text()));
        assert_eq!(one.digest(), Secret::received(one.text()).digest());
        assert_ne!(one.digest(), other.digest());
    }

    #[test]
    fn a_derived_word_is_for_its_secret_and_purpose() {
        let (one, other) = (Secret::random().unwrap(), Secret::random().unwrap());
        let word = one.derived("form");
        assert!(one.has_derived("form", &word));
        for wrong in [other.derived("form"), one.derived("x"), String::new(), "é".to_owned()] {
            assert!(!one.has_derived("form", &wrong), "{wrong}");
        }
    }
}

//! Short ids for journal records.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The id of one dispatch: short enough to read aloud; look it up with `anyhook log show ID`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct RecordId(String);

/// Digits and lower-case letters without those that are easily confused (i, l, o, u).
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

impl RecordId {
    /// Creates an eight-letter id from 40 of the given random bits.
    pub fn from_random(bits: u64) -> Self {
        let letters = (0..8).map(|place| {
            let digit = (bits >> (place * 5)) & 31;
            char::from(ALPHABET[usize::try_from(digit).unwrap_or(0)])
        });
        Self(letters.collect())
    }

    /// Wraps an id that was already assigned.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_letters_that_cannot_be_confused() {
        assert_eq!(RecordId::from_random(0).as_str(), "00000000");
        assert_eq!(RecordId::from_random(u64::MAX).as_str(), "zzzzzzzz");
        assert_ne!(RecordId::from_random(1), RecordId::from_random(32));
    }
}

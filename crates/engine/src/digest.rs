//! SHA-256, and hexadecimal digits: the only place that makes them.
//!
//! The quick way is to use instructions of the processor, after asking it whether it has them; in a
//! virtual machine the asking takes as long as the digest of some kilobytes. So short texts, which is
//! all that an ordinary event has, are done without.

use sha2::{Digest, Sha256};

/// Up to this length, asking takes longer than doing without.
const SHORT: usize = 2 * 1024;

/// Returns the SHA-256 of bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    if bytes.len() <= SHORT {
        return hmac_sha256::Hash::hash(bytes);
    }
    Sha256::digest(bytes).into()
}

/// Returns the SHA-256 of bytes, in hexadecimal digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

/// Makes the SHA-256 of bytes that come one after another.
#[derive(Clone, Debug, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    /// Returns the digest of all of them, in hexadecimal digits.
    pub fn finish_hex(self) -> String {
        hex(&self.0.finalize())
    }
}

/// Returns bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn digits_are_as_everywhere() {
        assert_eq!(
            hex(&sha256(b"abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    proptest! {
        #[test]
        fn both_ways_are_the_same(bytes in prop::collection::vec(any::<u8>(), 0..300), more in 0_usize..40) {
            let bytes = bytes.repeat(more);
            prop_assert_eq!(sha256(&bytes), <[u8; 32]>::from(Sha256::digest(&bytes)));
        }
    }
}

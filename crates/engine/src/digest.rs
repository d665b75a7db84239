//! SHA-256 digests and hexadecimal encoding: the only place that computes them.
//!
//! The fast implementation uses processor instructions after detecting whether they exist; in a
//! virtual machine that detection takes as long as hashing some kilobytes. So short texts, which is
//! all an ordinary event has, use the portable implementation.

use sha2::{Digest, Sha256};

/// Up to this length, detection takes longer than the portable implementation.
const SHORT: usize = 2 * 1024;

/// Returns the SHA-256 digest of bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    if bytes.len() <= SHORT {
        return hmac_sha256::Hash::hash(bytes);
    }
    Sha256::digest(bytes).into()
}

/// Returns the SHA-256 digest of bytes, in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

/// Computes the SHA-256 digest of bytes that arrive in pieces.
#[derive(Clone, Debug, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.update(bytes);
    }

    /// Returns the digest of all bytes, in hexadecimal.
    pub fn finish_hex(self) -> String {
        hex(&self.0.finalize())
    }
}

/// Returns bytes in hexadecimal.
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

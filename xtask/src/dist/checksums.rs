//! `SHA256SUMS`: the checksums for `sha256sum --check`.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The file's name.
pub const NAME: &str = "SHA256SUMS";

/// One line of the list.
pub fn line(name: &str, bytes: &[u8]) -> String {
    let mut line = String::with_capacity(64 + 2 + name.len() + 1);
    for byte in Sha256::digest(bytes) {
        let _ = write!(line, "{byte:02x}");
    }
    let _ = writeln!(line, "  {name}");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_of_the_form_of_sha256sum() {
        assert_eq!(
            line("a.tar.gz", b""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.tar.gz\n"
        );
    }
}

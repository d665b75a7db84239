//! Secrets in files that only their owner can read.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// The maximum length of a secret.
const LIMIT: u64 = 4096;

/// Reads a secret, without the line break at its end. An error names the file, and says what is
/// wrong with it.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    content(path).map_err(|why| format!("the secret file `{}` {why}", path.display()))
}

/// Reads a secret that becomes part of a header or an address.
pub fn read_text(path: &Path) -> Result<String, String> {
    let is_plain = |secret: &String| secret.bytes().all(|byte| byte.is_ascii_graphic());
    String::from_utf8(read(path)?).ok().filter(is_plain).ok_or_else(|| {
        format!("the secret file `{}` contains more than one line or word", path.display())
    })
}

fn content(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot be read: {error}");
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(
        rustix::fs::open(path, flags, Mode::empty())
            .map_err(|error| cannot(&io::Error::from(error)))?,
    );
    let data = file.metadata().map_err(|error| cannot(&error))?;
    let own = rustix::process::geteuid().as_raw();
    if !data.is_file() {
        return Err("is not a file".to_owned());
    }
    if data.uid() != own && data.uid() != 0 {
        return Err("belongs to another user".to_owned());
    }
    if data.mode() & 0o077 != 0 {
        return Err("can be read by others: run chmod 600 on it".to_owned());
    }
    let mut secret = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut secret).map_err(|error| cannot(&error))?;
    if secret.len() as u64 > LIMIT {
        return Err(format!("is longer than {LIMIT} bytes"));
    }
    // Editors end a file with a line break.
    let secret = secret.trim_ascii_end().to_vec();
    if secret.is_empty() { Err("is empty".to_owned()) } else { Ok(secret) }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_that_others_can_read_is_none() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("key");
        let refused = |path: &Path| read(path).unwrap_err();
        assert!(refused(&path).contains("cannot be read"));
        fs::write(&path, "s3cret\n").unwrap();
        for mode in [0o644, 0o640, 0o604, 0o620] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert!(refused(&path).contains("by others"), "{mode:o}");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&path).unwrap(), b"s3cret");
        assert_eq!(read_text(&path).unwrap(), "s3cret");
        fs::write(&path, "\n").unwrap();
        assert!(refused(&path).contains("empty"));
        fs::write(&path, vec![b'x'; 5000]).unwrap();
        assert!(refused(&path).contains("longer"));
        assert!(refused(scratch.path()).contains("not a file"));
    }

    #[test]
    fn a_token_is_one_word() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("key");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        for text in ["two words", "s3cret\r\nX-Other: y", "s\u{e4}", "a\0b"] {
            fs::write(&path, text).unwrap();
            let why = read_text(&path).unwrap_err();
            assert!(why.contains("more than one line") && !why.contains("s3cret"), "{why}");
        }
    }
}

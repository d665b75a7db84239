//! Reproducible archives (`.tar.gz`): the same bytes for the same files, sorted, owned by root, all
//! with one time.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use super::package::Files;
use crate::{Workspace, process};

/// The earliest time that a ZIP file can represent, as a fallback.
const LONG_AGO: u64 = 315_532_800;

/// Returns the time that all files get, in seconds since 1970: `SOURCE_DATE_EPOCH`, or that of the
/// commit.
pub fn time(workspace: &Workspace) -> Result<u64> {
    if let Some(given) = std::env::var_os("SOURCE_DATE_EPOCH") {
        let given = given.to_string_lossy();
        return given.parse().with_context(|| {
            format!("SOURCE_DATE_EPOCH is `{given}`, not a number of seconds since 1970")
        });
    }
    let mut git: Command = workspace.command("git");
    let committed = process::output(git.args(["log", "-1", "--format=%ct"]));
    Ok(committed.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(LONG_AGO))
}

/// The files below one folder, as a compressed archive.
pub fn pack(folder: &str, files: &Files, time: u64) -> Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    for (path, file) in files {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(file.mode());
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(time);
        header.set_size(file.bytes.len() as u64);
        let path = Path::new(folder).join(path);
        builder.append_data(&mut header, path, file.bytes.as_slice())?;
    }
    compress(&builder.into_inner()?)
}

/// The bytes as a `.gz` without a name and a time.
pub fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    std::io::Write::write_all(&mut encoder, bytes)?;
    Ok(encoder.finish()?)
}

#[cfg(test)]
pub mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::super::package::PackageFile;
    use super::*;

    /// The entries of an archive: path, mode, text.
    pub fn unpack(archive: &[u8]) -> Vec<(String, u32, String)> {
        let mut archive = tar::Archive::new(GzDecoder::new(archive));
        let mut entries = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().to_string_lossy().into_owned();
            let mode = entry.header().mode().unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            entries.push((path, mode, text));
        }
        entries
    }

    #[test]
    fn an_archive_keeps_order_and_run_bits_and_is_always_the_same() {
        let files = Files::from([
            ("b/c".to_owned(), PackageFile::plain("text")),
            ("a".to_owned(), PackageFile::program("program")),
        ]);
        let archive = pack("top", &files, 1).unwrap();
        assert_eq!(
            unpack(&archive),
            [
                ("top/a".to_owned(), 0o755, "program".to_owned()),
                ("top/b/c".to_owned(), 0o644, "text".to_owned())
            ]
        );
        assert_eq!(archive, pack("top", &files, 1).unwrap());
    }
}

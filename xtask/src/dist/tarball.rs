//! The archive: unpacked below `~/.local` or `/usr/local`, everything is at its path.

use anyhow::Result;

use super::archive;
use super::contents::Contents;
use super::package::{NAME, Programs, VERSION, add_programs};
use super::platform::{Libc, Platform};

/// The archive's file name and its bytes.
pub fn write(
    platform: Platform,
    libc: Libc,
    programs: &Programs,
    contents: &Contents,
    time: u64,
) -> Result<(String, Vec<u8>)> {
    let folder = format!("{NAME}-{VERSION}-{}", platform.archive(libc));
    let mut files = contents.tree();
    add_programs(&mut files, "bin", programs);
    Ok((format!("{folder}.tar.gz"), archive::pack(&folder, &files, time)?))
}

#[cfg(test)]
mod tests {
    use super::super::archive::tests::unpack;
    use super::super::{contents::tests::few, package::tests::two, platform::tests::arm};
    use super::*;

    #[test]
    fn the_programs_are_in_bin_and_can_be_run() {
        let (name, bytes) = write(arm(), Libc::Musl, &two(), &few(), 1).unwrap();
        assert_eq!(name, format!("anyhook-{VERSION}-aarch64-linux-musl.tar.gz"));
        let folder = name.trim_end_matches(".tar.gz");
        let expected = [("anyhook", "big"), ("anyhook-hook", "small")]
            .map(|(name, text)| (format!("{folder}/bin/{name}"), 0o755, text.to_owned()));
        assert_eq!(unpack(&bytes)[..2], expected);
    }
}

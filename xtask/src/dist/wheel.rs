//! The Python package: a wheel, whose programs are copied into the environment's `bin`.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::contents::Contents;
use super::package::{
    AUTHORS, File, Files, LICENCE, NAME, Programs, REPOSITORY, SUMMARY, VERSION, add_programs,
};
use super::platform::Platform;

/// The wheel's file name and its bytes.
pub fn write(
    platform: Platform,
    programs: &Programs,
    contents: &Contents,
) -> Result<(String, Vec<u8>)> {
    let data = format!("{NAME}-{VERSION}.data");
    let info = format!("{NAME}-{VERSION}.dist-info");
    let mut files = Files::new();
    add_programs(&mut files, &format!("{data}/scripts"), programs);
    for (path, file) in contents.tree() {
        // Documents have a place of their own below.
        if !path.starts_with("share/doc/") {
            files.insert(format!("{data}/data/{path}"), file);
        }
    }
    let licences = contents.licence_files();
    files.insert(
        format!("{info}/METADATA"),
        File::plain(metadata(licences.keys().map(String::as_str), &contents.readme)),
    );
    files.insert(format!("{info}/WHEEL"), File::plain(wheel(platform)));
    for (name, file) in licences {
        files.insert(format!("{info}/licenses/{name}"), file);
    }
    let record = format!("{info}/RECORD");
    let list = File::plain(list(&files, &record));

    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    // The list comes last, so that an installer can check while it reads.
    for (path, file) in files.iter().chain([(&record, &list)]) {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(file.mode());
        archive.start_file(path.as_str(), options)?;
        archive.write_all(&file.bytes)?;
    }
    let name = format!("{NAME}-{VERSION}-py3-none-{}.whl", platform.wheel().join("."));
    Ok((name, archive.finish()?.into_inner()))
}

/// What `pip` and package indexes are told.
fn metadata<'a>(licences: impl Iterator<Item = &'a str>, readme: &str) -> String {
    let mut text = format!(
        "Metadata-Version: 2.4\n\
         Name: {NAME}\n\
         Version: {VERSION}\n\
         Summary: {SUMMARY}\n\
         Author: {AUTHORS}\n\
         License-Expression: {LICENCE}\n"
    );
    for licence in licences {
        let _ = writeln!(text, "License-File: {licence}");
    }
    let _ = write!(
        text,
        "Project-URL: Source, {REPOSITORY}\n\
         Requires-Python: >=3.7\n\
         Description-Content-Type: text/markdown\n\
         \n\
         {readme}"
    );
    text
}

/// What kind of wheel it is: one line a platform, as the file name joins them.
fn wheel(platform: Platform) -> String {
    let mut text =
        "Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\n".to_owned();
    for platform in platform.wheel() {
        let _ = writeln!(text, "Tag: py3-none-{platform}");
    }
    text
}

/// The list of all files with their digests; it has none of its own.
fn list(files: &Files, record: &str) -> String {
    let mut text = String::new();
    for (path, file) in files {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&file.bytes));
        let _ = writeln!(text, "{path},sha256={digest},{}", file.bytes.len());
    }
    let _ = writeln!(text, "{record},,");
    text
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::super::{contents::tests::few, package::tests::two, platform::tests::arm};
    use super::*;

    #[test]
    fn a_digest_is_of_the_form_that_pip_reads() {
        let files = Files::from([("a".to_owned(), File::plain(""))]);
        assert_eq!(
            list(&files, "RECORD"),
            "a,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\nRECORD,,\n"
        );
    }

    #[test]
    fn the_name_and_the_tags_say_the_same() {
        let (name, _) = write(arm(), &two(), &few()).unwrap();
        let tags = "manylinux_2_17_aarch64.musllinux_1_1_aarch64";
        assert_eq!(name, format!("anyhook-{VERSION}-py3-none-{tags}.whl"));
        assert!(wheel(arm()).ends_with(
            "Tag: py3-none-manylinux_2_17_aarch64\nTag: py3-none-musllinux_1_1_aarch64\n"
        ));
    }

    #[test]
    fn every_file_is_listed_with_its_length_and_programs_can_be_run() {
        let (_, bytes) = write(arm(), &two(), &few()).unwrap();
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
        let info = format!("anyhook-{VERSION}.dist-info");
        let mut record = String::new();
        let mut file = archive.by_name(&format!("{info}/RECORD")).unwrap();
        file.read_to_string(&mut record).unwrap();
        drop(file);
        assert_eq!(record.lines().count(), archive.len());
        for line in record.lines() {
            let [path, digest, length] = line.split(',').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let file = archive.by_name(path).unwrap();
            assert_eq!(digest.is_empty(), path.ends_with("/RECORD"));
            assert!(digest.is_empty() || length == file.size().to_string(), "{line}");
            let program = path.contains(".data/scripts/anyhook");
            assert_eq!(file.unix_mode().unwrap() & 0o111 != 0, program, "{line}");
        }
    }

    #[test]
    fn the_metadata_end_with_the_first_page() {
        let text = metadata(["LICENSE-MIT"].into_iter(), "# anyhook\n");
        assert!(text.contains("\nLicense-File: LICENSE-MIT\n"), "{text}");
        assert!(text.ends_with("\n\n# anyhook\n"), "{text}");
    }
}

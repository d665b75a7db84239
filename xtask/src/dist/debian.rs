//! The Debian package. Debian has its own paths for some files, and requires compression.
//!
//! Not made with `cargo-deb`, which would have to be compiled in every cold run of CI.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::archive;
use super::contents::Contents;
use super::package::{
    AUTHORS, Files, LICENCE, NAME, PackageFile, Programs, REPOSITORY, SUMMARY, VERSION,
    add_programs,
};
use super::platform::Platform;
use crate::process;

/// The package's file name and its bytes; `dpkg-deb` makes it.
pub fn write(
    platform: Platform,
    programs: &Programs,
    contents: &Contents,
    time: u64,
) -> Result<(String, Vec<u8>)> {
    let files = files(programs, contents)?;
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("root");
    for (path, file) in &files {
        put(&root, path, file)?;
    }
    // Checksums in Debian's format, which is that of `md5sum`.
    let sums = process::output(Command::new("md5sum").args(files.keys()).current_dir(&root))?;
    put(&root, "DEBIAN/md5sums", &PackageFile::plain(sums))?;
    put(&root, "DEBIAN/control", &PackageFile::plain(control(platform, &files)))?;

    let name = format!("{NAME}_{VERSION}_{}.deb", platform.debian());
    let made = folder.path().join(&name);
    let mut command = Command::new("dpkg-deb");
    command.args(["--root-owner-group", "-Zxz", "--build"]).arg(&root).arg(&made);
    process::output(command.env("SOURCE_DATE_EPOCH", time.to_string()))?;
    Ok((name, fs::read(&made)?))
}

/// Returns every file by its path on the machine, without the leading slash.
fn files(programs: &Programs, contents: &Contents) -> Result<Files> {
    let mut files = Files::new();
    add_programs(&mut files, "usr/bin", programs);
    for (place, script) in &contents.completions {
        // On Debian zsh looks here for completions of packages.
        let place = place.replace("zsh/site-functions", "zsh/vendor-completions");
        files.insert(format!("usr/share/{place}"), PackageFile::plain(script.clone()));
    }
    for (name, page) in &contents.manual {
        let page = PackageFile::plain(archive::compress(page)?);
        files.insert(format!("usr/share/man/man1/{name}.gz"), page);
    }
    let documents = format!("usr/share/doc/{NAME}");
    files.insert(format!("{documents}/README.md"), PackageFile::plain(contents.readme.clone()));
    files.insert(format!("{documents}/copyright"), PackageFile::plain(copyright(contents)));
    let changes = archive::compress(&contents.changes)?;
    files.insert(format!("{documents}/changelog.gz"), PackageFile::plain(changes));
    Ok(files)
}

/// Returns the control file of `dpkg`. The programs are static, so it has no dependencies.
fn control(platform: Platform, files: &Files) -> String {
    let kilobytes: usize = files.values().map(|file| file.bytes.len().div_ceil(1024)).sum();
    format!(
        "Package: {NAME}\n\
         Version: {VERSION}\n\
         Architecture: {}\n\
         Maintainer: {AUTHORS}\n\
         Installed-Size: {kilobytes}\n\
         Section: devel\n\
         Priority: optional\n\
         Homepage: {REPOSITORY}\n\
         Description: {SUMMARY}\n \
         A hook is a folder with a HOOK.md and a script; it runs in every agent that\n \
         anyhook is wired into. Every decision is explained and journaled.\n",
        platform.debian()
    )
}

/// Returns all licences in the one file where Debian expects them.
fn copyright(contents: &Contents) -> String {
    let mut text = format!("{NAME} is licensed under {LICENCE}.\nSource: {REPOSITORY}\n");
    for (name, file) in contents.licence_files() {
        let _ = write!(text, "\n== {name}\n\n{}", String::from_utf8_lossy(&file.bytes));
    }
    text
}

/// Writes a file below `root` with exactly its permissions, whatever the umask is; folders too.
fn put(root: &Path, path: &str, file: &PackageFile) -> Result<()> {
    let place = root.join(path);
    let failed = || format!("{} cannot be written", place.display());
    fs::create_dir_all(place.parent().with_context(failed)?).with_context(failed)?;
    for folder in Path::new(path).ancestors().skip(1) {
        let rights = Permissions::from_mode(0o755);
        fs::set_permissions(root.join(folder), rights).with_context(failed)?;
    }
    fs::write(&place, &file.bytes).with_context(failed)?;
    fs::set_permissions(&place, Permissions::from_mode(file.mode())).with_context(failed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{contents::tests::few, package::tests::two, platform::tests::arm};
    use super::*;

    #[test]
    fn the_control_file_is_whole() {
        let files = Files::from([
            ("a".to_owned(), PackageFile::plain("x")),
            ("b".to_owned(), PackageFile::plain(vec![0; 1025])),
        ]);
        assert_eq!(
            control(arm(), &files),
            format!(
                "Package: anyhook\n\
                 Version: {VERSION}\n\
                 Architecture: arm64\n\
                 Maintainer: The anyhook authors\n\
                 Installed-Size: 3\n\
                 Section: devel\n\
                 Priority: optional\n\
                 Homepage: {REPOSITORY}\n\
                 Description: One hook engine for every AI coding agent\n \
                 A hook is a folder with a HOOK.md and a script; it runs in every agent that\n \
                 anyhook is wired into. Every decision is explained and journaled.\n"
            )
        );
    }

    #[test]
    fn files_are_where_debian_has_them() {
        let paths: Vec<_> = files(&two(), &few()).unwrap().into_keys().collect();
        assert_eq!(
            paths,
            [
                "usr/bin/anyhook",
                "usr/bin/anyhook-hook",
                "usr/share/bash-completion/completions/anyhook",
                "usr/share/doc/anyhook/README.md",
                "usr/share/doc/anyhook/changelog.gz",
                "usr/share/doc/anyhook/copyright",
                "usr/share/fish/vendor_completions.d/anyhook.fish",
                "usr/share/man/man1/anyhook.1.gz",
                "usr/share/zsh/vendor-completions/_anyhook",
            ]
        );
    }

    #[test]
    fn rights_are_those_of_the_package_down_to_its_root() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        put(&root, "usr/bin/anyhook", &PackageFile::program("x")).unwrap();
        put(&root, "usr/page", &PackageFile::plain("x")).unwrap();
        for (path, rights) in
            [("", 0o755), ("usr", 0o755), ("usr/bin/anyhook", 0o755), ("usr/page", 0o644)]
        {
            let found = root.join(path).metadata().unwrap().permissions().mode();
            assert_eq!(found & 0o777, rights, "{path}");
        }
    }

    #[test]
    fn the_copyright_file_has_all_licences() {
        let text = copyright(&few());
        for licence in ["== LICENSE-APACHE", "== LICENSE-MIT", "== THIRD-PARTY.md"] {
            assert!(text.contains(licence), "{text}");
        }
    }
}

//! The files of a package, and the project's metadata for every package.

use std::collections::BTreeMap;

/// Every package's name, and that of the program that people call.
pub const NAME: &str = "anyhook";
/// The name of the program that agents call.
pub const SMALL: &str = "anyhook-hook";
/// The programs, each of a crate of the same name; in every package they are next to each other.
pub const PROGRAMS: [&str; 2] = [NAME, SMALL];
/// Its version; all crates of the workspace have the same.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Its description, in one line.
pub const SUMMARY: &str = "One hook engine for every AI coding agent";
/// Its repository.
pub const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
/// Its licences, as an SPDX expression.
pub const LICENCE: &str = env!("CARGO_PKG_LICENSE");
/// Its authors.
pub const AUTHORS: &str = "The anyhook authors";

/// One file of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageFile {
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether it is executable.
    pub program: bool,
}

impl PackageFile {
    /// Makes a file that is not executable.
    pub fn plain(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), program: false }
    }

    /// Makes an executable file.
    pub fn program(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), program: true }
    }

    /// Returns its permissions, as a number.
    pub fn mode(&self) -> u32 {
        if self.program { 0o755 } else { 0o644 }
    }
}

/// Programs by name, as bytes.
pub type Programs = BTreeMap<&'static str, Vec<u8>>;

/// Puts the programs into a folder of a package.
pub fn add_programs(files: &mut Files, folder: &str, programs: &Programs) {
    for (name, bytes) in programs {
        files.insert(format!("{folder}/{name}"), PackageFile::program(bytes.clone()));
    }
}

/// Files by their path in the package: always in the same order.
pub type Files = BTreeMap<String, PackageFile>;

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Programs to write packages with in tests.
    pub fn two() -> Programs {
        [(NAME, b"big".to_vec()), (SMALL, b"small".to_vec())].into()
    }
}

//! The names of one platform in each packaging ecosystem.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// The C library a binary is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Libc {
    /// musl, statically linked: runs on every Linux, and starts the fastest.
    Musl,
    /// glibc, dynamically linked.
    Gnu,
}

impl Libc {
    /// Both, the one in all packages first.
    pub const ALL: [Self; 2] = [Self::Musl, Self::Gnu];

    /// Its name in targets and in file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Musl => "musl",
            Self::Gnu => "gnu",
        }
    }
}

/// A processor architecture; the system is always Linux.
#[derive(Clone, Copy, Debug)]
pub struct Platform {
    /// Its name in Rust, Python and file names.
    architecture: &'static str,
    /// Its name in npm.
    npm: &'static str,
    /// Its name in Debian.
    debian: &'static str,
}

/// The architectures that packages are made for.
const PLATFORMS: [Platform; 2] = [
    Platform { architecture: "x86_64", npm: "x64", debian: "amd64" },
    Platform { architecture: "aarch64", npm: "arm64", debian: "arm64" },
];

impl Platform {
    /// Returns the platform of this machine: a package has to be installed and run before it is
    /// shipped.
    pub fn here() -> Result<Self> {
        if std::env::consts::OS != "linux" {
            bail!("packages are made on Linux; this is {}", std::env::consts::OS);
        }
        Self::named(std::env::consts::ARCH)
    }

    fn named(architecture: &str) -> Result<Self> {
        let found = PLATFORMS.into_iter().find(|platform| platform.architecture == architecture);
        found.with_context(|| {
            let known: Vec<_> = PLATFORMS.iter().map(|platform| platform.architecture).collect();
            format!("packages are made for {}, not for {architecture}", known.join(" and "))
        })
    }

    /// The target as rustc names it.
    pub fn target(self, libc: Libc) -> String {
        format!("{}-unknown-linux-{}", self.architecture, libc.name())
    }

    /// Returns the part of an archive's name that names its platform.
    pub fn archive(self, libc: Libc) -> String {
        format!("{}-linux-{}", self.architecture, libc.name())
    }

    /// The processor in `package.json`.
    pub fn npm(self) -> &'static str {
        self.npm
    }

    /// The architecture of a Debian package.
    pub fn debian(self) -> &'static str {
        self.debian
    }

    /// Returns the platform tags of a wheel, as `pip` compares them. A static binary needs nothing
    /// of the machine's C library, so the oldest of each kind that `pip` knows are used.
    pub fn wheel(self) -> [String; 2] {
        [
            format!("manylinux_2_17_{}", self.architecture),
            format!("musllinux_1_1_{}", self.architecture),
        ]
    }

    /// Returns where cargo writes its output.
    pub fn built(self, build_folder: &Path, libc: Libc) -> PathBuf {
        build_folder.join(self.target(libc)).join(super::binary::PROFILE)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A platform to write packages for in tests.
    pub fn arm() -> Platform {
        Platform::named("aarch64").unwrap()
    }

    #[test]
    fn every_world_has_its_own_name() {
        let arm = arm();
        assert_eq!(arm.target(Libc::Musl), "aarch64-unknown-linux-musl");
        assert_eq!(arm.archive(Libc::Gnu), "aarch64-linux-gnu");
        assert_eq!((arm.npm(), arm.debian()), ("arm64", "arm64"));
        assert_eq!(arm.wheel(), ["manylinux_2_17_aarch64", "musllinux_1_1_aarch64"]);
    }

    #[test]
    fn an_unknown_processor_is_refused_by_name() {
        let error = Platform::named("riscv64").unwrap_err().to_string();
        assert_eq!(error, "packages are made for x86_64 and aarch64, not for riscv64");
    }
}

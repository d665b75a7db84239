//! The kinds of packages, and what each installs where.

use std::path::{Path, PathBuf};

use super::super::package::PROGRAMS;
use super::super::platform::Libc;

/// A kind of package. Paths are relative to the account's folder.
pub struct PackageKind {
    pub name: &'static str,
    /// The programs in it.
    pub libc: Libc,
    /// The heading in the page.
    pub section: &'static str,
    /// How its commands differ from those in the page.
    pub adapt: fn(&str) -> String,
    /// Where the programs are installed.
    pub programs: &'static str,
    /// Where manual pages are installed, and the suffix of their names.
    manual: (&'static str, &'static str),
    /// Where completions are installed.
    completions: &'static str,
    /// The folder for zsh below that.
    zsh: &'static str,
}

const USUAL_ZSH: &str = "zsh/site-functions";

/// Every kind.
pub const KINDS: [PackageKind; 5] = [
    PackageKind {
        name: "musl archive",
        libc: Libc::Musl,
        section: "Archive",
        adapt: str::to_owned,
        programs: "home/.local/bin",
        manual: ("home/.local/share/man/man1", "1"),
        completions: "home/.local/share",
        zsh: USUAL_ZSH,
    },
    PackageKind {
        name: "gnu archive",
        libc: Libc::Gnu,
        section: "Archive",
        adapt: |block| block.replace("linux-musl", "linux-gnu"),
        programs: "home/.local/bin",
        manual: ("home/.local/share/man/man1", "1"),
        completions: "home/.local/share",
        zsh: USUAL_ZSH,
    },
    PackageKind {
        name: "npm",
        libc: Libc::Musl,
        section: "npm",
        adapt: str::to_owned,
        programs: "npm/bin",
        manual: ("npm/share/man/man1", "1"),
        completions: "npm/lib/node_modules/anyhook/share",
        zsh: USUAL_ZSH,
    },
    PackageKind {
        name: "Python",
        libc: Libc::Musl,
        section: "Python",
        adapt: str::to_owned,
        programs: "home/.venvs/anyhook/bin",
        manual: ("home/.venvs/anyhook/share/man/man1", "1"),
        completions: "home/.venvs/anyhook/share",
        zsh: USUAL_ZSH,
    },
    PackageKind {
        name: "Debian",
        libc: Libc::Musl,
        section: "Debian",
        adapt: str::to_owned,
        programs: "root/usr/bin",
        manual: ("root/usr/share/man/man1", "1.gz"),
        completions: "root/usr/share",
        zsh: "zsh/vendor-completions",
    },
];

impl PackageKind {
    /// Returns the files that must exist when it is installed, and be gone when it is not.
    pub fn files(&self) -> Vec<PathBuf> {
        let (pages, ending) = self.manual;
        let shells = Path::new(self.completions);
        let mut files = vec![
            Path::new(pages).join(format!("anyhook.{ending}")),
            Path::new(pages).join(format!("anyhook-hook.{ending}")),
            shells.join("bash-completion/completions/anyhook"),
            shells.join(self.zsh).join("_anyhook"),
            shells.join("fish/vendor_completions.d/anyhook.fish"),
        ];
        files.extend(PROGRAMS.map(|name| Path::new(self.programs).join(name)));
        files
    }
}

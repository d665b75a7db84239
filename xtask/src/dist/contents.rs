//! What all packages contain in addition to the programs: completions, manual, README, licences.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::notices;
use super::package::{Files, NAME, PackageFile, REPOSITORY};
use super::platform::{Libc, Platform};
use crate::{Workspace, process};

/// The shells with completions, and where below `share` each of them looks.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/anyhook"),
    ("zsh", "zsh/site-functions/_anyhook"),
    ("fish", "fish/vendor_completions.d/anyhook.fish"),
];

/// What is packaged in addition to the programs.
pub struct Contents {
    /// Completions by their path below `share`.
    pub completions: BTreeMap<&'static str, Vec<u8>>,
    /// Pages of the manual by name, `anyhook.1` and one for each command.
    pub manual: BTreeMap<String, Vec<u8>>,
    /// The project's README, with absolute links.
    pub readme: String,
    /// The changelog.
    pub changes: Vec<u8>,
    /// The project's licences by file name.
    pub licences: BTreeMap<&'static str, Vec<u8>>,
    /// The licences of everything that is linked in.
    pub notices: String,
}

impl Contents {
    /// Gathers it; completions and manual come from the program itself.
    pub fn gather(workspace: &Workspace, platform: Platform, anyhook: &Path) -> Result<Self> {
        let read = |name: &str| {
            fs::read(workspace.root.join(name)).with_context(|| format!("{name} cannot be read"))
        };
        let mut completions = BTreeMap::new();
        for (shell, place) in COMPLETIONS {
            let script = process::output(clean(anyhook).args(["completions", shell]))?;
            completions.insert(place, script.into_bytes());
        }
        let mut licences = BTreeMap::new();
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            licences.insert(name, read(name)?);
        }
        let readme = String::from_utf8(read("README.md")?).context("README.md is no text")?;
        Ok(Self {
            completions,
            manual: manual(anyhook)?,
            readme: with_whole_links(&readme),
            changes: read("CHANGELOG.md")?,
            licences,
            notices: notices::gather(workspace, &platform.target(Libc::Musl))?,
        })
    }

    /// Returns all of it as files below a folder such as `/usr` or `~/.local`, where shells and
    /// `man` look.
    pub fn tree(&self) -> Files {
        let mut files = Files::new();
        for (place, script) in &self.completions {
            files.insert(format!("share/{place}"), PackageFile::plain(script.clone()));
        }
        for (name, page) in &self.manual {
            files.insert(format!("share/man/man1/{name}"), PackageFile::plain(page.clone()));
        }
        for (name, file) in self.documents() {
            files.insert(format!("share/doc/{NAME}/{name}"), file);
        }
        files
    }

    /// Returns the documents, by file name.
    pub fn documents(&self) -> Files {
        let mut files = self.licence_files();
        files.insert("README.md".to_owned(), PackageFile::plain(self.readme.clone()));
        files
    }

    /// Returns all licences, by file name.
    pub fn licence_files(&self) -> Files {
        let own = self.licences.iter();
        let mut files: Files = own
            .map(|(name, text)| ((*name).to_owned(), PackageFile::plain(text.clone())))
            .collect();
        files.insert("THIRD-PARTY.md".to_owned(), PackageFile::plain(self.notices.clone()));
        files
    }
}

/// Returns the program in an environment that reveals nothing about the user who runs this.
fn clean(anyhook: &Path) -> Command {
    let mut command = Command::new(anyhook);
    command.env_clear();
    command
}

/// Returns the manual pages, one per command.
fn manual(anyhook: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let folder = tempfile::tempdir()?;
    process::output(clean(anyhook).arg("__manual").arg(folder.path()))?;
    let mut pages = BTreeMap::new();
    for entry in folder.path().read_dir()? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        pages.insert(name, fs::read(entry.path())?);
    }
    if !pages.contains_key("anyhook.1") {
        bail!("the manual has no page of the program itself");
    }
    Ok(pages)
}

/// Makes relative links absolute, into the repository; those of pictures to the picture itself.
fn with_whole_links(page: &str) -> String {
    let mut parts = page.split("](");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        whole.push_str("](");
        let target = part.split(')').next().unwrap_or_default();
        if !target.contains("://") && !target.starts_with('#') {
            let is_picture = Path::new(target).extension().is_some_and(|ending| ending == "svg");
            let view = if is_picture { "raw" } else { "blob" };
            whole.push_str(&format!("{REPOSITORY}/{view}/main/"));
        }
        whole.push_str(part);
    }
    whole
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Small contents to write packages with in tests.
    pub fn few() -> Contents {
        Contents {
            completions: COMPLETIONS.map(|(shell, place)| (place, shell.into())).into(),
            manual: [("anyhook.1".to_owned(), b".TH anyhook 1\n".to_vec())].into(),
            readme: "# anyhook\n".to_owned(),
            changes: b"# Changelog\n".to_vec(),
            licences: [("LICENSE-APACHE", b"Apache".to_vec()), ("LICENSE-MIT", b"MIT".to_vec())]
                .into(),
            notices: "# Third parties\n".to_owned(),
        }
    }

    #[test]
    fn the_tree_has_everything_where_it_is_looked_for() {
        let paths: Vec<_> = few().tree().into_keys().collect();
        assert_eq!(
            paths,
            [
                "share/bash-completion/completions/anyhook",
                "share/doc/anyhook/LICENSE-APACHE",
                "share/doc/anyhook/LICENSE-MIT",
                "share/doc/anyhook/README.md",
                "share/doc/anyhook/THIRD-PARTY.md",
                "share/fish/vendor_completions.d/anyhook.fish",
                "share/man/man1/anyhook.1",
                "share/zsh/site-functions/_anyhook",
            ]
        );
    }

    #[test]
    fn only_relative_links_are_changed() {
        let page = "[a](docs/a.md#b), [c](#c) and [d](https://example.com) (e)";
        assert_eq!(
            with_whole_links(page),
            format!(
                "[a]({REPOSITORY}/blob/main/docs/a.md#b), [c](#c) and [d](https://example.com) (e)"
            )
        );
        let picture = format!("![f]({REPOSITORY}/raw/main/docs/f.svg)");
        assert_eq!(with_whole_links("![f](docs/f.svg)"), picture);
    }
}

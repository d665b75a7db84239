//! The packages for agents' own plugin mechanisms: the folder `plugins` of the repository, as files
//! to download.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::archive;
use super::contents::Contents;
use super::package::{Files, NAME, PackageFile, VERSION};
use crate::Workspace;
use crate::generate::files_below;

/// A package with files of the repository.
pub struct AgentPackages {
    /// Its file name before the version and after it.
    name: [&'static str; 2],
    /// The folder in the archive: without the version, so that a marketplace stays where it is.
    folder: &'static str,
    /// The files and folders in it, each with its place.
    contents: &'static [(&'static str, &'static str)],
}

/// Every package.
pub const ALL: [AgentPackages; 3] = [
    AgentPackages {
        name: [NAME, "-agent-plugins.tar.gz"],
        folder: "anyhook-agent-plugins",
        contents: &[
            (".claude-plugin", ".claude-plugin"),
            (".agents/plugins", ".agents/plugins"),
            ("plugins/claude-code", "plugins/claude-code"),
            ("plugins/codex", "plugins/codex"),
            ("plugins/open-plugins", "plugins/open-plugins"),
        ],
    },
    AgentPackages {
        // Of the files of a release, Gemini CLI takes the one that starts with the platform.
        name: ["linux.anyhook", "-gemini-cli.tar.gz"],
        folder: "anyhook-gemini-cli",
        contents: &[("plugins/gemini-cli", "")],
    },
    AgentPackages {
        name: ["anyhook-opencode", ".tgz"],
        // npm requires this name.
        folder: "package",
        contents: &[("plugins/opencode", "")],
    },
];

impl AgentPackages {
    /// The package's file name and its bytes.
    pub fn write(
        &self,
        workspace: &Workspace,
        contents: &Contents,
        time: u64,
    ) -> Result<(String, Vec<u8>)> {
        let mut files = self.files(&workspace.root)?;
        for (name, text) in &contents.licences {
            files.insert((*name).to_owned(), PackageFile::plain(text.clone()));
        }
        let [before, after] = self.name;
        Ok((format!("{before}-{VERSION}{after}"), archive::pack(self.folder, &files, time)?))
    }

    fn files(&self, root: &Path) -> Result<Files> {
        let mut files = Files::new();
        for (folder, place) in self.contents {
            let below = root.join(folder);
            for file in files_below(&below).with_context(|| format!("{folder} cannot be read"))? {
                let place = Path::new(place).join(&file).to_string_lossy().into_owned();
                files.insert(place, PackageFile::plain(fs::read(below.join(&file))?));
            }
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::archive::tests::unpack;
    use super::super::contents::tests::few;
    use super::*;

    fn workspace() -> Workspace {
        Workspace::find().unwrap()
    }

    fn written(index: usize) -> (String, Vec<(String, u32, String)>) {
        let (name, bytes) = ALL[index].write(&workspace(), &few(), 1).unwrap();
        (name, unpack(&bytes))
    }

    fn text<'files>(files: &'files [(String, u32, String)], path: &str) -> &'files str {
        let found = files.iter().find(|(name, ..)| name == path);
        &found.unwrap_or_else(|| panic!("{path} is missing: {files:?}")).2
    }

    fn json(files: &[(String, u32, String)], path: &str) -> Value {
        serde_json::from_str(text(files, path)).unwrap()
    }

    #[test]
    fn marketplaces_name_plugins_that_are_there() {
        let (name, files) = written(0);
        assert_eq!(name, format!("anyhook-{VERSION}-agent-plugins.tar.gz"));
        let root = "anyhook-agent-plugins";
        let claude = json(&files, &format!("{root}/.claude-plugin/marketplace.json"));
        let codex = json(&files, &format!("{root}/.agents/plugins/marketplace.json"));
        for (source, manifest) in [
            (&claude["plugins"][0]["source"], ".claude-plugin/plugin.json"),
            (&codex["plugins"][0]["source"]["path"], ".codex-plugin/plugin.json"),
        ] {
            let folder = source.as_str().unwrap().trim_start_matches("./");
            let manifest = json(&files, &format!("{root}/{folder}/{manifest}"));
            assert_eq!(manifest["name"], "anyhook");
            assert_eq!(manifest["version"], VERSION);
            let hooks = json(&files, &format!("{root}/{folder}/hooks/hooks.json"));
            assert!(hooks["hooks"]["PreToolUse"].is_array(), "{hooks}");
            text(&files, &format!("{root}/{folder}/anyhook.sh"));
        }
        text(&files, &format!("{root}/LICENSE-MIT"));
    }

    #[test]
    fn gemini_cli_finds_its_manifest_in_the_only_folder() {
        let (name, files) = written(1);
        assert!(name.starts_with("linux.anyhook-"), "{name}");
        let manifest = json(&files, "anyhook-gemini-cli/gemini-extension.json");
        assert_eq!(manifest["version"], VERSION);
        text(&files, "anyhook-gemini-cli/hooks/hooks.json");
    }

    #[test]
    fn the_npm_package_has_what_it_names() {
        let (name, files) = written(2);
        assert_eq!(name, format!("anyhook-opencode-{VERSION}.tgz"));
        let manifest = json(&files, "package/package.json");
        for file in manifest["files"].as_array().unwrap() {
            text(&files, &format!("package/{}", file.as_str().unwrap()));
        }
        assert_eq!(manifest["main"], "./index.js");
    }
}

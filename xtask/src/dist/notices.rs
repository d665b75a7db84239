//! The licence notices of all crates that are linked into the programs: they have to be shipped
//! with them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::package::PROGRAMS;
use crate::{Workspace, process};

/// The prefixes of the names of licence files.
const BEGINNINGS: [&str; 5] = ["licen", "copying", "copyright", "notice", "unlicense"];

/// What is linked in and is not a crate, then an introduction to the list.
const BEGINNING: &str = "\
# Third parties

The program contains Rust's standard library (the contributors of the Rust project, Apache-2.0 OR MIT)
and, where it is static, musl (Copyright © 2005-2020 Rich Felker, et al., MIT): LICENSE-APACHE and
LICENSE-MIT have the words of these licences. And it contains these crates:

";

/// A crate that is linked in.
struct Crate {
    title: String,
    licence: String,
    texts: Vec<String>,
}

/// Returns a page with every crate and its licence texts, equal texts only once.
pub fn gather(workspace: &Workspace, target: &str) -> Result<String> {
    let mut command = workspace.cargo();
    command.args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target]);
    let metadata: Value = serde_json::from_str(&process::output(&mut command)?)
        .context("cargo metadata printed no JSON")?;
    let linked = linked(&metadata).context("cargo metadata lacks the graph of dependencies")?;
    let mut crates = Vec::new();
    for package in list(&metadata["packages"]) {
        // Our own have no source but the repository.
        if package["source"].is_null() || !linked.contains(word(&package["id"])) {
            continue;
        }
        let manifest = Path::new(word(&package["manifest_path"]));
        let folder = manifest.parent().context("a crate has no folder")?;
        crates.push(Crate {
            title: format!("{} {}", word(&package["name"]), word(&package["version"])),
            licence: word(&package["license"]).to_owned(),
            texts: texts(folder)
                .with_context(|| format!("the licences in {}", folder.display()))?,
        });
    }
    crates.sort_by(|left, right| left.title.cmp(&right.title));
    Ok(page(&crates))
}

/// Returns the ids of all packages that are in the program: without build and test dependencies,
/// and without macros, which generate code and are not in it.
fn linked(metadata: &Value) -> Option<BTreeSet<&str>> {
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata["resolve"]["nodes"]).iter().map(|node| (word(&node["id"]), node)).collect();
    let packages = list(&metadata["packages"]);
    let macros: BTreeSet<&str> =
        packages.iter().filter(|package| is_macro(package)).map(|one| word(&one["id"])).collect();
    let is_own = |package: &&Value| {
        PROGRAMS.contains(&word(&package["name"])) && package["source"].is_null()
    };
    let mut pending: Vec<_> =
        packages.iter().filter(is_own).map(|package| word(&package["id"])).collect();
    if pending.len() != PROGRAMS.len() {
        return None;
    }
    let mut linked = BTreeSet::new();
    while let Some(id) = pending.pop() {
        if macros.contains(id) || !linked.insert(id) {
            continue;
        }
        for dependency in list(&nodes.get(id)?["deps"]) {
            let kinds = list(&dependency["dep_kinds"]);
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                pending.push(word(&dependency["pkg"]));
            }
        }
    }
    Some(linked)
}

fn is_macro(package: &Value) -> bool {
    let targets = list(&package["targets"]);
    targets.iter().any(|target| list(&target["kind"]).iter().any(|kind| kind == "proc-macro"))
}

/// The texts of the licence files in a crate's folder, by file name.
fn texts(folder: &Path) -> Result<Vec<String>> {
    let mut texts = BTreeMap::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if entry.path().is_file() && BEGINNINGS.iter().any(|word| name.starts_with(word)) {
            let bytes = fs::read(entry.path())?;
            texts.insert(name, String::from_utf8_lossy(&bytes).trim().to_owned());
        }
    }
    Ok(texts.into_values().collect())
}

fn page(crates: &[Crate]) -> String {
    let mut page = format!("{BEGINNING}| crate | licence |\n|---|---|\n");
    let mut holders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in crates {
        let _ = writeln!(page, "| {} | {} |", one.title, one.licence);
        for text in &one.texts {
            holders.entry(text).or_default().push(&one.title);
        }
    }
    for (text, titles) in holders {
        let _ = write!(page, "\n## {}\n\n```text\n{text}\n```\n", titles.join(", "));
    }
    page
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn build_scripts_macros_and_what_only_they_need_are_not_linked() {
        let mut packages =
            vec![json!({"name": "macro", "id": "macro", "targets": [{"kind": ["proc-macro"]}]})];
        let mut nodes = vec![
            json!({"id": "linked", "deps": [{"pkg": "below", "dep_kinds": [{"kind": "dev"}, {"kind": null}]}]}),
            json!({"id": "below", "deps": []}),
            json!({"id": "builder", "deps": []}),
            json!({"id": "macro", "deps": [{"pkg": "builder", "dep_kinds": [{"kind": null}]}]}),
        ];
        for own in PROGRAMS {
            packages.push(json!({"name": own, "source": null, "id": own}));
            nodes.push(json!({"id": own, "deps": [
                {"pkg": "linked", "dep_kinds": [{"kind": null}]},
                {"pkg": "builder", "dep_kinds": [{"kind": "build"}]},
                {"pkg": "macro", "dep_kinds": [{"kind": null}]},
            ]}));
        }
        let metadata = json!({"packages": packages, "resolve": {"nodes": nodes}});
        let mut expected = BTreeSet::from(["below", "linked"]);
        expected.extend(PROGRAMS);
        assert_eq!(linked(&metadata).unwrap(), expected);
    }

    #[test]
    fn an_equal_text_is_there_once_with_all_its_holders() {
        let one = |title: &str| Crate {
            title: title.to_owned(),
            licence: "MIT".to_owned(),
            texts: vec!["Do as you like.".to_owned()],
        };
        let page = page(&[one("a 1.0.0"), one("b 2.0.0")]);
        assert!(
            page.ends_with(
                "| a 1.0.0 | MIT |\n| b 2.0.0 | MIT |\n\
                 \n## a 1.0.0, b 2.0.0\n\n```text\nDo as you like.\n```\n"
            ),
            "{page}"
        );
    }

    #[test]
    fn licence_files_are_found_in_every_spelling() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["LICENSE-MIT", "Licence.txt", "COPYING", "README.md"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        assert_eq!(texts(folder.path()).unwrap(), ["COPYING", "Licence.txt", "LICENSE-MIT"]);
    }
}

//! `cargo xtask new-host NAME`: writes the folder of a new agent, with its tests, and the line that
//! declares it.
//!
//! The generated code works for an agent whose hooks are like those of Claude Code. Differences are
//! then implemented in its folder: `docs/contributing/add-a-host.md` describes in which file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::{TaskResult, Workspace, process};

/// The crate of all agents.
const CRATE: &str = "crates/hosts";

/// The files of an agent's folder. `@ID@` and `@TITLE@` stand for its names.
const FILES: [(&str, &str); 7] = [
    ("mod.rs", include_str!("new_host/mod.rs.txt")),
    ("decode.rs", include_str!("new_host/decode.rs.txt")),
    ("encode.rs", include_str!("new_host/encode.rs.txt")),
    ("capabilities.rs", include_str!("new_host/capabilities.rs.txt")),
    ("settings.rs", include_str!("new_host/settings.rs.txt")),
    ("tests.rs", include_str!("new_host/tests.rs.txt")),
    ("fixtures/PreToolUse-Bash.json", include_str!("new_host/payload.json.txt")),
];

/// Writes the folder and the declaration.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<TaskResult> {
    let [id] = arguments else { bail!("usage: cargo xtask new-host NAME, such as qwen-code") };
    let folder = write(&workspace.root, id)?;
    println!(
        "wrote {} and its line in {CRATE}/src/lib.rs\n\
         next: cargo nextest run -p anyhook-hosts {}\n\
         then: docs/contributing/add-a-host.md",
        folder.display(),
        module(id)
    );
    Ok(TaskResult::Good)
}

/// Writes the folder of an agent and its declaration into the repository at `root`; returns the
/// folder.
fn write(root: &Path, id: &str) -> Result<PathBuf> {
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_lowercase())
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    if !id.split('-').all(is_part) {
        bail!("`{id}` cannot be the id of an agent: small letters and digits, joined by `-`");
    }
    let source = Path::new(CRATE).join("src");
    let folder = source.join(module(id));
    if root.join(&folder).exists() || root.join(folder.with_extension("rs")).exists() {
        bail!("there is a module `{}` already", module(id));
    }
    declare(&root.join(source).join("lib.rs"), &module(id))?;
    for (name, text) in FILES {
        let file = root.join(&folder).join(name);
        fs::create_dir_all(file.parent().context("a file has no folder")?)?;
        fs::write(&file, text.replace("@ID@", id).replace("@TITLE@", &title(id)))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    // Line breaks depend on the length of the name.
    let mut command = Command::new("rustfmt");
    process::run(command.args(["--edition", "2024"]).arg(root.join(&folder).join("mod.rs")))?;
    Ok(folder)
}

/// Adds the module's declaration to the first block of declarations, which is that of the agents.
fn declare(library: &Path, module: &str) -> Result<()> {
    let text = fs::read_to_string(library)
        .with_context(|| format!("cannot read {}", library.display()))?;
    let line = format!("pub mod {module};");
    let mut lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("pub mod "));
    let first = first.context("no line in lib.rs declares an agent")?;
    let later = lines[first..]
        .iter()
        .position(|declared| !declared.starts_with("pub mod ") || **declared > *line);
    lines.insert(first + later.context("lib.rs has nothing but agents")?, &line);
    fs::write(library, lines.join("\n") + "\n")?;
    Ok(())
}

/// The name of its module and folder.
fn module(id: &str) -> String {
    id.replace('-', "_")
}

/// A title for people, to be changed by hand: `qwen-code` is `Qwen Code`.
fn title(id: &str) -> String {
    let words = id.split('-').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_ascii_uppercase() + rest
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn repository() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
    }

    /// Returns the build folder of the repository.
    fn target() -> PathBuf {
        let chosen = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        chosen.unwrap_or_else(|| repository().join("target"))
    }

    /// Makes a copy of what an agent is built from: the crate of all agents and what it depends on.
    ///
    /// It is always at the same path, and unchanged files keep their time, so that cargo need not
    /// rebuild them.
    fn copy_of_crates() -> PathBuf {
        let scratch = target().join("new-host");
        fs::create_dir_all(&scratch).unwrap();
        let manifest = fs::read_to_string(repository().join("Cargo.toml")).unwrap();
        let manifest: Vec<&str> = manifest
            .lines()
            .filter(|line| !line.starts_with("default-members"))
            .map(|line| if line.starts_with("members") { "members = [\"crates/*\"]" } else { line })
            .collect();
        put(&scratch.join("Cargo.toml"), manifest.join("\n").as_bytes());
        for file in ["Cargo.lock", "rustfmt.toml"] {
            put(&scratch.join(file), &fs::read(repository().join(file)).unwrap());
        }
        for part in ["crates/model", CRATE] {
            copy(&repository().join(part), &scratch.join(part));
        }
        scratch
    }

    fn put(file: &Path, text: &[u8]) {
        if fs::read(file).ok().as_deref() != Some(text) {
            fs::write(file, text).unwrap();
        }
    }

    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(to).unwrap() {
            let path = entry.unwrap().path();
            if !from.join(path.file_name().unwrap()).exists() {
                let is_folder = path.is_dir();
                if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
            }
        }
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let to = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                copy(&entry.path(), &to);
            } else {
                put(&to, &fs::read(entry.path()).unwrap());
            }
        }
    }

    /// Every file with its lines.
    fn files(folder: &Path, root: &Path, found: &mut BTreeMap<PathBuf, Vec<String>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(&path, root, found);
            } else {
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                let lines = text.lines().map(str::to_owned).collect();
                found.insert(path.strip_prefix(root).unwrap().to_owned(), lines);
            }
        }
    }

    fn all_files(root: &Path) -> BTreeMap<PathBuf, Vec<String>> {
        let mut found = BTreeMap::new();
        files(root, root, &mut found);
        found
    }

    #[test]
    fn a_skeleton_is_a_folder_and_one_line_and_passes_its_tests() {
        let root = &copy_of_crates();
        let before = all_files(&root.join("crates"));
        let folder = write(root, "example-agent").unwrap();
        let mut after = all_files(&root.join("crates"));

        after.retain(|path, _| !Path::new("crates").join(path).starts_with(&folder));
        let changed: Vec<&PathBuf> = after
            .iter()
            .filter(|(path, text)| before[*path] != **text)
            .map(|(path, _)| path)
            .collect();
        assert_eq!(changed, [Path::new("hosts/src/lib.rs")]);
        let mut lines = after[changed[0]].clone();
        let line = lines.iter().position(|line| line == "pub mod example_agent;").unwrap();
        lines.remove(line);
        assert_eq!(lines, before[changed[0]], "one line");

        let mut command = Command::new(crate::workspace::cargo_program());
        command.current_dir(root).args(["test", "--offline", "-p", "anyhook-hosts", "--lib"]);
        // For cargo the crates of a copy are the same as those of the repository: it must not build
        // them into the same folder.
        command.arg("--target-dir").arg(root.join("target")).arg("example_agent::");
        let output = command.output().unwrap();
        let (told, failed) = (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        );
        assert!(output.status.success(), "{told}{failed}");
        assert!(told.contains("test result: ok. 5 passed"), "{told}");

        let mut command = Command::new("rustfmt");
        command.current_dir(root).args(["--check", "--edition", "2024"]);
        assert!(command.arg(folder.join("mod.rs")).status().unwrap().success(), "formatted");

        fs::remove_dir_all(root.join(&folder)).unwrap();
    }

    #[test]
    fn a_name_that_is_taken_or_none_changes_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let source = scratch.path().join(CRATE).join("src");
        fs::create_dir_all(source.join("codex")).unwrap();
        fs::write(source.join("lib.rs"), "pub mod codex;\n\nuse x;\n").unwrap();
        for id in ["codex", "", "-x", "Qwen", "a--b", "a_b", "a/b"] {
            assert!(write(scratch.path(), id).is_err(), "{id}");
        }
        assert_eq!(
            fs::read_to_string(source.join("lib.rs")).unwrap(),
            "pub mod codex;\n\nuse x;\n"
        );
        write(scratch.path(), "amp").unwrap();
        write(scratch.path(), "qwen-code").unwrap();
        let text = fs::read_to_string(source.join("lib.rs")).unwrap();
        assert_eq!(text, "pub mod amp;\npub mod codex;\npub mod qwen_code;\n\nuse x;\n");
        assert!(source.join("qwen_code/fixtures/PreToolUse-Bash.json").is_file());
    }
}

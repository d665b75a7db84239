//! The Python package: a wheel, whose programs are copied into the environment's `bin`.
//!
//! maturin makes it. It gets exactly the arguments that the program was built with, so that cargo
//! has nothing to do; the other program, completions and manual are passed to it as data.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::binary::Recipe;
use super::contents::Contents;
use super::package::{
    AUTHORS, Files, LICENCE, NAME, PackageFile, Programs, REPOSITORY, SUMMARY, VERSION,
    add_programs,
};
use super::platform::{Libc, Platform};
use crate::{Workspace, process, tools};

/// The wheel's file name and its bytes.
pub fn write(
    workspace: &Workspace,
    platform: Platform,
    programs: &Programs,
    contents: &Contents,
) -> Result<(String, Vec<u8>)> {
    let maturin = tools::ensure(&tools::MATURIN)?;
    // Inside the repository: cargo looks for its configuration in parent folders.
    let around = workspace.root.join("target");
    fs::create_dir_all(&around)?;
    let stage = tempfile::tempdir_in(around)?;
    for (path, file) in project(workspace, programs, contents)? {
        let path = stage.path().join(path);
        fs::create_dir_all(path.parent().context("a file has no folder")?)?;
        fs::write(&path, &file.bytes)?;
        fs::set_permissions(&path, Permissions::from_mode(file.mode()))?;
    }
    let recipe = Recipe::new(platform, Libc::Musl, NAME)?;
    let mut command = workspace.command(maturin);
    command.args(["build", "--quiet", "--out", "out"]).args(&recipe.arguments);
    command.arg("--target-dir").arg(&workspace.target);
    command.arg("--compatibility").args(platform.wheel());
    recipe.set_environment(command.current_dir(stage.path()));
    process::run(&mut command)?;
    the_only_file(&stage.path().join("out"))
}

/// Returns all of maturin's input, by path.
fn project(workspace: &Workspace, programs: &Programs, contents: &Contents) -> Result<Files> {
    let mut files = Files::new();
    // maturin adds the one it has built itself.
    let mut others = programs.clone();
    others.remove(NAME);
    add_programs(&mut files, "data/scripts", &others);
    for (path, file) in contents.tree() {
        // Documents have their own folder in a wheel.
        if !path.starts_with("share/doc/") {
            files.insert(format!("data/data/{path}"), file);
        }
    }
    let licences = contents.licence_files();
    let names: Vec<_> = licences.keys().map(String::as_str).collect();
    let manifest = workspace.root.join("crates/cli/Cargo.toml");
    files.insert("pyproject.toml".to_owned(), PackageFile::plain(settings(&manifest, &names)?));
    files.insert("README.md".to_owned(), PackageFile::plain(contents.readme.clone()));
    files.extend(licences);
    Ok(files)
}

/// Returns the metadata for maturin, `pip` and package indexes.
fn settings(manifest: &Path, licences: &[&str]) -> Result<String> {
    let manifest = manifest.to_str().context("the repository's path is not Unicode")?;
    // Strings and lists are written the same way in JSON and in TOML.
    Ok(format!(
        "[project]\n\
         name = {}\n\
         version = {}\n\
         description = {}\n\
         authors = [{{ name = {} }}]\n\
         license = {}\n\
         license-files = {}\n\
         readme = \"README.md\"\n\
         requires-python = \">=3.7\"\n\
         urls = {{ Source = {} }}\n\
         \n\
         [tool.maturin]\n\
         bindings = \"bin\"\n\
         data = \"data\"\n\
         manifest-path = {}\n\
         # It has a number of its own each time; the licences of all crates are in THIRD-PARTY.md.\n\
         sbom = {{ rust = false }}\n\
         \n\
         [build-system]\n\
         requires = [\"maturin>=1,<2\"]\n\
         build-backend = \"maturin\"\n",
        json!(NAME),
        json!(VERSION),
        json!(SUMMARY),
        json!(AUTHORS),
        json!(LICENCE),
        json!(licences),
        json!(REPOSITORY),
        json!(manifest),
    ))
}

/// Returns the name and the bytes of the only file in a folder.
fn the_only_file(folder: &Path) -> Result<(String, Vec<u8>)> {
    let mut entries = folder.read_dir().context("maturin has written nothing")?;
    let entry = entries.next().context("maturin has written nothing")??;
    Ok((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?))
}

#[cfg(test)]
mod tests {
    use super::super::{contents::tests::few, package::tests::two};
    use super::*;

    #[test]
    fn what_maturin_does_not_build_is_given_to_it() {
        let workspace = Workspace { root: "/repository".into(), target: "/target".into() };
        let files = project(&workspace, &two(), &few()).unwrap();
        let paths: Vec<_> = files.keys().map(String::as_str).collect();
        assert_eq!(
            paths,
            [
                "LICENSE-APACHE",
                "LICENSE-MIT",
                "README.md",
                "THIRD-PARTY.md",
                "data/data/share/bash-completion/completions/anyhook",
                "data/data/share/fish/vendor_completions.d/anyhook.fish",
                "data/data/share/man/man1/anyhook.1",
                "data/data/share/zsh/site-functions/_anyhook",
                "data/scripts/anyhook-hook",
                "pyproject.toml",
            ]
        );
        assert!(files["data/scripts/anyhook-hook"].program);
    }

    #[test]
    fn the_settings_name_licences_and_manifest() {
        let text = settings(Path::new("/a \"b\"/Cargo.toml"), &["LICENSE-MIT"]).unwrap();
        assert!(text.contains("\nlicense-files = [\"LICENSE-MIT\"]\n"), "{text}");
        assert!(text.contains("\nmanifest-path = \"/a \\\"b\\\"/Cargo.toml\"\n"), "{text}");
    }
}

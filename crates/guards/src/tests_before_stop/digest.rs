//! A digest of a project's files: equal digests mean that nothing changed.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhook_engine::digest::Hasher;

use crate::checkpoint::Repository;

/// Folders of what is built or downloaded.
const LEFT_OUT: [&str; 12] = [
    ".git",
    ".hg",
    ".venv",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    "__pycache__",
    "build",
    "dist",
    "node_modules",
    "target",
];
/// At most this many files are looked at.
const FILES: usize = 50_000;

/// Returns a digest of the files below a folder.
pub fn of_files(project: &Path) -> String {
    let snapshot = Repository::find(project).and_then(|repository| repository.snapshot());
    snapshot.unwrap_or_else(|_| of_names_and_times(project))
}

fn of_names_and_times(project: &Path) -> String {
    let mut files = Vec::new();
    collect(project, &mut files);
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut hasher = Hasher::default();
    for (path, about) in &files {
        hasher.update(path.as_os_str().as_encoded_bytes());
        let (size, seconds, nanoseconds) = (about.size(), about.mtime(), about.mtime_nsec());
        hasher.update(format!("\0{size} {seconds} {nanoseconds}\0"));
    }
    hasher.finish_hex()
}

fn collect(folder: &Path, files: &mut Vec<(PathBuf, Metadata)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else { continue };
        if files.len() >= FILES {
            return;
        } else if !about.is_dir() {
            files.push((entry.path(), about));
        } else if !LEFT_OUT.iter().any(|name| entry.file_name() == *name) {
            collect(&entry.path(), files);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_does_not_count() {
        let project = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = project.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("src/a", "1");
        let before = of_files(project.path());
        write("target/debug/x", "1");
        write("node_modules/y/z", "1");
        assert_eq!(of_files(project.path()), before);
        write("src/a", "12");
        let after = of_files(project.path());
        assert_ne!(after, before);
        write("src/b", "");
        assert_ne!(of_files(project.path()), after);
    }
}

//! Checks where unsafe code is: at the start of the small program, in its allocator, and in its
//! signal handler.

use std::fs;
use std::path::Path;

use crate::Workspace;

/// The files, relative to the repository's root.
const PLACES: [&str; 3] =
    ["crates/hook/src/allocator.rs", "crates/hook/src/start.rs", "crates/hook/src/watchdog.rs"];

/// Collects the files in a folder that allow themselves unsafe code: the lint refuses all others.
fn collect(folder: &Path, found: &mut Vec<String>, root: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found, root);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            // Not spelled out: this file would find itself.
            if ["allow", "expect", "warn"]
                .iter()
                .any(|word| text.contains(&format!("{word}(unsafe_code")))
            {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
}

#[test]
fn it_is_where_it_may_be() {
    let root = Workspace::find().unwrap().root;
    let mut found = Vec::new();
    for folder in ["crates", "xtask", "fuzz/fuzz_targets"] {
        collect(&root.join(folder), &mut found, &root);
    }
    found.sort();
    assert_eq!(found, PLACES);
}

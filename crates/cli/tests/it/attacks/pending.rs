//! Attempts whose defence is still missing: in a file for each class, one a line.

use std::fs;
use std::path::{Path, PathBuf};

use super::Attempt;

fn file(class: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/attacks/pending");
    folder.join(class)
}

/// How an attempt is named there.
pub fn line(attempt: &Attempt) -> String {
    format!("{} — {}", attempt.what, attempt.how).replace('\n', " ")
}

/// Tells whether an attempt is named there.
pub fn has(class: &str, attempt: &Attempt) -> bool {
    let text = fs::read_to_string(file(class)).unwrap_or_default();
    let wanted = line(attempt);
    text.lines().any(|line| line == wanted)
}

/// Tells whether rows that do not hold are to be put there.
pub fn takes_more() -> bool {
    std::env::var_os("ANYHOOK_UPDATE_ATTACKS").is_some_and(|update| update == "pending")
}

/// Writes the list of a class; an empty one is no file.
pub fn write(class: &str, lines: &[String]) {
    let file = file(class);
    if lines.is_empty() {
        let _ = fs::remove_file(file);
    } else {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, lines.join("\n") + "\n").unwrap();
    }
}

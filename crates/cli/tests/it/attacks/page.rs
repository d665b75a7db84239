//! The table of attacks, kept in the documents.
//!
//! Each class's test compares its own section, so that they can run side by side.

use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::{Attempt, CLASSES, Class};

const BEFORE: &str = "<!-- Made by the tests: ANYHOOK_UPDATE_ATTACKS=1 cargo test -p anyhook --test it attacks; changes here are lost. -->

# Attacks and their outcomes

The tests run every row against the real program: first a harmless call, which must pass, then the \
attempt. A row with another outcome fails the build. [Security](../security.md) explains the \
outcomes.

";

/// One row, as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    what: String,
    how: String,
    outcome: String,
}

impl Row {
    pub fn new(attempt: &Attempt) -> Self {
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let outcome = attempt.expected.to_string();
        Self { what: cell(&attempt.what), how: cell(&attempt.how), outcome }
    }
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/attacks.md")
}

/// Tells whether the page is to be written.
pub fn updates() -> bool {
    std::env::var_os("ANYHOOK_UPDATE_ATTACKS").is_some()
}

/// Compares a class's section with the documents, or writes it there.
pub fn compare(class: &Class, rows: &[Row]) {
    let ours = section(class, rows);
    if updates() {
        return update(class, &ours);
    }
    let text = fs::read_to_string(file()).unwrap_or_default();
    assert_eq!(
        find(&text, class.name).unwrap_or_default(),
        ours,
        "the section of {} in docs/reference/attacks.md is another; if it should be this: \
         ANYHOOK_UPDATE_ATTACKS=1",
        class.name
    );
}

fn heading(name: &str) -> String {
    format!("## {}{}\n", name[..1].to_uppercase(), &name[1..])
}

fn section(class: &Class, rows: &[Row]) -> String {
    let mut text = heading(class.name);
    text += &format!("\nTo {}: {} attempts.\n\n", class.about, rows.len());
    text += "| attempt | how | outcome |\n|---|---|---|\n";
    for row in rows {
        text += &format!("| {} | {} | {} |\n", row.what, row.how, row.outcome);
    }
    text
}

/// Returns the section of a class, without the blank line after it.
fn find(text: &str, name: &str) -> Option<String> {
    let start = text.find(&heading(name))?;
    let rest = &text[start..];
    let end = rest[3..].find("\n## ").map_or(rest.len(), |end| end + 3);
    Some(format!("{}\n", rest[..end].trim_end()))
}

fn update(class: &Class, ours: &str) {
    let mut file =
        File::options().create(true).truncate(false).read(true).write(true).open(file()).unwrap();
    // The others write theirs at the same time.
    file.lock().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    let sections: Vec<String> = CLASSES
        .iter()
        .filter_map(|other| {
            if other.name == class.name { Some(ours.to_owned()) } else { find(&text, other.name) }
        })
        .collect();
    file.rewind().unwrap();
    file.set_len(0).unwrap();
    file.write_all(format!("{BEFORE}{}", sections.join("\n")).as_bytes()).unwrap();
}

#[test]
fn the_page_has_every_class_and_nothing_else() {
    let text = fs::read_to_string(file()).unwrap();
    let sections: Vec<String> =
        CLASSES.iter().map(|class| find(&text, class.name).unwrap_or_default()).collect();
    assert_eq!(format!("{BEFORE}{}", sections.join("\n")), text, "ANYHOOK_UPDATE_ATTACKS=1");
}

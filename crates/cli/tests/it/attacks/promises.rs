//! Every promise of `docs/security.md` names tests, and they are there.

use std::fs;
use std::path::{Path, PathBuf};

use super::CLASSES;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of the table of promises: the promise, and the tests in its last cell.
fn promises(page: &str) -> Vec<(String, Vec<String>)> {
    let table = page.split("| promise | shown by |\n|---|---|\n").nth(1).unwrap_or_default();
    let rows = table.lines().take_while(|line| line.starts_with("| "));
    rows.map(|row| {
        let (promise, tests) = row.trim_end_matches(" |").rsplit_once(" | ").unwrap();
        let tests = tests.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        (promise.to_owned(), tests)
    })
    .collect()
}

/// Tells whether a test is there: a class of attacks, or a function in the file of its module.
fn exists(test: &str, sources: &[(PathBuf, String)]) -> bool {
    let (module, name) = test.rsplit_once("::").unwrap();
    if module == "attacks" {
        return CLASSES.iter().any(|class| class.name == name);
    }
    let path = module.replace("::", "/");
    let is_of_module = |file: &Path| {
        let file = file.with_extension("");
        file.ends_with(&path) || file.ends_with(format!("{path}/mod"))
    };
    sources
        .iter()
        .any(|(file, text)| is_of_module(file) && text.contains(&format!("#[test]\nfn {name}()")))
}

fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

#[test]
fn every_promise_names_tests_that_are_there() {
    let page = fs::read_to_string(top().join("docs/security.md")).unwrap();
    let promises = promises(&page);
    assert!(promises.len() > 10, "{promises:?}");
    let mut found = Vec::new();
    for krate in fs::read_dir(top().join("crates")).unwrap().flatten() {
        sources(&krate.path().join("tests"), &mut found);
    }
    for (promise, tests) in &promises {
        assert!(!tests.is_empty(), "nothing shows: {promise}");
        for test in tests {
            assert!(exists(test, &found), "{test} is not there; it should show: {promise}");
        }
    }
    assert!(!exists("torture::no_such_test", &found));
}

#[test]
fn every_class_shows_a_promise() {
    let page = fs::read_to_string(top().join("docs/security.md")).unwrap();
    for class in &CLASSES {
        assert!(page.contains(&format!("`attacks::{}`", class.name)), "{}", class.name);
    }
}

//! `anyhook demo`.

use std::fs;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{require, run};

use crate::environment;

/// The tour's folder has a random name.
fn settings() -> insta::Settings {
    let mut settings = super::snapshot::settings();
    settings.add_filter(r"anyhook-demo-\w+", "anyhook-demo-[RANDOM]");
    settings
}

/// The hook that runs aside reports when it is done: its line is put behind the others.
fn aside_last(text: &str) -> String {
    let (before, journal) = text.split_once("It's all in the journal\n").unwrap();
    let (journal, after) = journal.split_once("\n\n").unwrap();
    let (aside, rest): (Vec<&str>, Vec<&str>) =
        journal.lines().partition(|line| line.contains("  async  "));
    assert_eq!(aside.len(), 1, "{text}");
    let journal = [rest, aside].concat().join("\n");
    format!("{before}It's all in the journal\n{journal}\n\n{after}")
}

#[test]
fn tour() {
    let environment = environment();
    let mut command = environment.command(&["demo"]);
    command.env("TMPDIR", environment.root());
    let mut ran = run(command, b"");
    ran.stdout = aside_last(&ran.stdout);
    settings().bind(|| assert_run!(environment, ran));
    let left: Vec<_> = fs::read_dir(environment.root())
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("anyhook-demo"))
        .collect();
    assert!(left.is_empty(), "the folder is gone: {left:?}");
    assert!(!environment.state().exists(), "nothing of the person's own is touched");
}

#[test]
fn keeps_the_folder_when_asked() {
    let environment = environment();
    let mut command = environment.command(&["demo", "--keep"]);
    command.env("TMPDIR", environment.root());
    let ran = run(command, b"");
    assert_eq!(ran.code, 0);
    let kept = ran.stdout.lines().last().unwrap().strip_prefix("kept: ").unwrap();
    assert!(fs::metadata(kept).unwrap().is_dir(), "{kept}");
}

/// The tour needs nothing installed: neither a home nor hooks nor a project.
#[test]
fn needs_no_home() {
    require!(MachineNeed::Users);
    let environment = environment();
    let mut command = environment.command_without_home(&["demo"]);
    command.env("TMPDIR", environment.root()).current_dir("/");
    let ran = run(command, b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn says_where_it_cannot_write() {
    let environment = environment();
    let mut command = environment.command(&["demo"]);
    command.env("TMPDIR", environment.root().join("nowhere"));
    let ran = run(command, b"");
    settings().bind(|| {
        assert_run!(environment, ran, @r#"
        exit code: 1
        ----- stderr -----
        error: cannot access `[ROOT]/nowhere`: No such file or directory at path "[ROOT]/nowhere/anyhook-demo-[RANDOM]"
        hint: set TMPDIR to a writable folder
        "#);
    });
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["demo", "--help"]));
}

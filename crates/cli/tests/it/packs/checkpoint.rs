//! The pack `checkpoint`, and `anyhook undo`.

use std::fs;

use anyhook_testkit::{TestEnv, run};
use serde_json::json;

use anyhook_testkit::git::{git, make_repository};

use super::{call, with_packs};
use crate::environment;

fn with_work() -> TestEnv {
    let environment = with_packs(&["checkpoint"]);
    fs::write(environment.project().join("a.txt"), "one\n").unwrap();
    make_repository(&environment);
    environment
}

/// Writes a file as an agent does: asked first.
fn write(environment: &TestEnv, name: &str, text: &str) {
    let ran = call(environment, "WriteFile", &json!({"path": name, "content": text}));
    assert_eq!(ran.code, 0, "{ran:?}");
    fs::write(environment.project().join(name), text).unwrap();
}

fn read(environment: &TestEnv, name: &str) -> Option<String> {
    fs::read_to_string(environment.project().join(name)).ok()
}

#[test]
fn what_an_agent_did_is_undone_step_by_step() {
    let environment = with_work();
    write(&environment, "a.txt", "two\n");
    write(&environment, "b.txt", "new\n");
    let ran = call(&environment, "Shell", &json!({"command": "rm a.txt"}));
    assert_eq!(ran.code, 0, "{ran:?}");
    fs::remove_file(environment.project().join("a.txt")).unwrap();

    let before = git(&environment.project(), &["rev-parse", "HEAD"]);
    let listed = environment.run(&["undo", "--list"]).stdout;
    let lines: Vec<&str> = listed.lines().skip(1).collect();
    assert_eq!(lines.len(), 3, "{listed}");
    for (line, what) in
        lines.iter().zip(["Shell: rm a.txt", "WriteFile: b.txt", "WriteFile: a.txt"])
    {
        assert!(line.ends_with(what), "{listed}");
    }

    let tried = environment.run(&["undo", "--dry-run"]);
    assert!(tried.code == 0 && tried.stdout.contains("+two"), "{tried:?}");
    assert_eq!(read(&environment, "a.txt"), None);

    let ran = environment.run(&["undo"]);
    assert!(ran.code == 0 && ran.stdout.contains("restored    a.txt"), "{ran:?}");
    assert_eq!(read(&environment, "a.txt").unwrap(), "two\n");

    let first = lines[2].split_whitespace().next().unwrap();
    let ran = environment.run(&["undo", first]);
    assert!(ran.code == 0 && ran.stdout.contains("deleted     b.txt"), "{ran:?}");
    assert_eq!(
        (read(&environment, "a.txt").unwrap(), read(&environment, "b.txt")),
        ("one\n".into(), None)
    );
    assert_eq!(git(&environment.project(), &["status", "--porcelain"]), "");
    assert_eq!(git(&environment.project(), &["rev-parse", "HEAD"]), before);

    let ran = environment.run(&["undo"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(read(&environment, "b.txt").unwrap(), "new\n", "an undo can be undone");
}

#[test]
fn what_is_done_is_reported_as_json() {
    let environment = with_work();
    write(&environment, "a.txt", "two\n");
    let listed = environment.run(&["undo", "--list", "--json"]).json();
    let id = listed["checkpoints"][0]["id"].clone();
    assert_eq!(listed["checkpoints"][0]["before"], "WriteFile: a.txt");
    let tried = environment.run(&["undo", "--dry-run", "--json"]).json();
    assert_eq!((&tried["dry_run"], &tried["checkpoint"]["id"]), (&json!(true), &id));
    let done = environment.run(&["undo", "--json"]).json();
    assert_eq!(done["files"], json!([{"path": "a.txt", "change": "restored"}]));
    assert!(done["saved"].is_string(), "{done}");
    assert_eq!(read(&environment, "a.txt").unwrap(), "one\n");
}

#[test]
fn a_command_that_reads_makes_none() {
    let environment = with_work();
    assert_eq!(call(&environment, "Shell", &json!({"command": "cat a.txt | wc -l"})).code, 0);
    assert_eq!(environment.run(&["undo", "--list"]).stdout, "no checkpoints\n");
}

#[test]
fn only_a_person_undoes() {
    let environment = with_work();
    write(&environment, "a.txt", "two\n");
    let mut command = environment.command(&["undo"]);
    command.env("CLAUDECODE", "1");
    let ran = run(command, b"");
    assert!(ran.code == 1 && ran.stderr.contains("only a person may do this"), "{ran:?}");
    assert_eq!(read(&environment, "a.txt").unwrap(), "two\n");
    let mut command = environment.command(&["undo", "--dry-run"]);
    command.env("CLAUDECODE", "1");
    assert_eq!(run(command, b"").code, 0);
}

#[test]
fn without_git() {
    let environment = environment();
    let ran = environment.run(&["undo"]);
    assert!(ran.code == 1 && ran.stderr.contains("not a git repository"), "{ran:?}");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["undo", "--help"]));
}

//! `anyhook runbook`.

mod bad;
mod examples;

use std::fs;

use anyhook_testkit::{TestEnv, write};

use crate::environment;

const RELEASE: &str = r#"
pipeline "release" {
  vars = { version = { description = "such as 1.4.0" }, remote = "origin", dry = { required = false } }
  locals {
    tag = "v${var.version}"
  }
  workspace = { kind = "worktree", branch = "release/${var.version}", keep = false }
  notify    = { on_done = "${local.tag} is out" }
  on_cancel = "undo"
  step "build" {
    run     = "make dist VERSION=${var.version}"
    timeout = "10m"
    on_done = { step = "notes" }
    on_fail = "undo"
  }
  step "notes" {
    run       = { agent = "writer" }
    on_fail   = { step = "build" }
    on_cancel = { step = "undo" }
  }
  step "undo" {
    run = "git tag -d ${local.tag}"
  }
}

agent "writer" {
  run      = "claude ${prompt}"
  prompt   = <<-END
    Write the notes for ${local.tag}.
    Be brief.
  END
  env      = { LANG = "C" }
  cwd      = "docs"
  host     = "claude-code"
  on_idle  = { action = "gate", run = "test -s notes.md", timeout = "5s" }
  on_error = [{ match = "rate_limited", action = "recover", cooldown = "5m" }, "fail"]
}
"#;

const OTHER: &str = "[pipeline.other]\nstep = [{ name = \"only\", run = \"true\" }]\n";

fn with_runbooks() -> TestEnv {
    let environment = environment();
    write(&environment.project().join(".agents/runbooks/release.hcl"), RELEASE, 0o644);
    write(&environment.home().join(".config/agents/runbooks/mine.toml"), OTHER, 0o644);
    environment
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["runbook", "--help"]));
    for command in ["check", "list", "show"] {
        let ran = environment.run(&["runbook", command, "--help"]);
        assert!(ran.code == 0 && ran.stdout.contains("Example: "), "{ran:?}");
    }
}

#[test]
fn nothing_there() {
    let environment = environment();
    assert_run!(environment, environment.run(&["runbook", "list"]), @"
    exit code: 0
    ----- stdout -----
    no pipelines (runbooks are in .agents/runbooks and ~/.config/agents/runbooks)
    ");
    assert_run!(environment, environment.run(&["runbook", "check"]), @"
    exit code: 0
    ----- stdout -----
    0 runbooks, no problems
    ");
    assert_run!(environment, environment.run(&["runbook", "show", "x"]), @"
    exit code: 65
    ----- stderr -----
    error: there is no pipeline `x`
    hint: `anyhook runbook list` lists the available pipelines
    ");
    assert_run!(environment, environment.run(&["runbook", "check", "no/such/file.hcl"]), @"
    exit code: 65
    ----- stderr -----
    error: `no/such/file.hcl` does not exist
    hint: omit the path to check all installed runbooks
    ");
    fs::create_dir(environment.project().join("empty")).unwrap();
    assert_run!(environment, environment.run(&["runbook", "check", "empty"]), @"
    exit code: 65
    ----- stderr -----
    error: no runbook in `empty`
    hint: runbooks are `*.hcl` and `*.toml` files
    ");
    assert_run!(environment, environment.run(&["runbook", "show", "x", "--file", "no.hcl"]), @"
    exit code: 65
    ----- stderr -----
    error[unreadable]: it cannot be read: No such file or directory (os error 2)
    --> no.hcl
     = hint: a runbook is a UTF-8 text file, `*.hcl` or `*.toml`, of at most 256 KiB

    error: 1 problem in `no.hcl`
    ");
}

#[test]
fn no_problems() {
    let environment = with_runbooks();
    assert_run!(environment, environment.run(&["runbook", "check"]), @"
    exit code: 0
    ----- stdout -----
    2 runbooks, no problems
    ");
    assert_run!(environment, environment.run(&["runbook", "check", ".agents/runbooks/release.hcl"]), @"
    exit code: 0
    ----- stdout -----
    1 runbook, no problems
    ");
    assert_run!(environment, environment.run(&["runbook", "check", "--json"]));
}

#[test]
fn list() {
    let environment = with_runbooks();
    assert_run!(environment, environment.run(&["runbook", "list"]));
    assert_run!(environment, environment.run(&["runbook", "list", "--json"]));
}

#[test]
fn show() {
    let environment = with_runbooks();
    assert_run!(environment, environment.run(&["runbook", "show", "release"]));
    assert_run!(environment, environment.run(&["runbook", "show", "release", "--json"]));
    assert_run!(environment, environment.run(&["runbook", "show", "other"]), @"
    exit code: 0
    ----- stdout -----
    other  ~/.config/agents/runbooks/mine.toml
    workspace  the project itself

    steps
      only  $ true
      ╰─▶ end
    ");
    assert_run!(environment, environment.run(&["runbook", "show", "relese"]), @"
    exit code: 65
    ----- stderr -----
    error: there is no pipeline `relese`
    hint: did you mean `release`?
    ");
}

#[test]
fn a_name_that_is_in_two_files() {
    let environment = with_runbooks();
    write(&environment.project().join(".agents/runbooks/again.toml"), OTHER, 0o644);
    assert_run!(environment, environment.run(&["runbook", "show", "other"]), @"
    exit code: 65
    ----- stderr -----
    error: the pipeline `other` is in both `.agents/runbooks/again.toml` and `~/.config/agents/runbooks/mine.toml`
    hint: rename one of them, or specify the file
    ");
    assert_run!(environment, environment.run(&["runbook", "check"]), @"
    exit code: 1
    ----- stdout -----
    error: the pipeline `other` is in both `.agents/runbooks/again.toml` and `~/.config/agents/runbooks/mine.toml`
    3 runbooks, 1 problem
    ");
    let ran =
        environment.run(&["runbook", "show", "other", "--file", ".agents/runbooks/again.toml"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_runbook_that_cannot_be_used_does_not_hide_the_others() {
    let environment = with_runbooks();
    let broken = environment.project().join(".agents/runbooks/broken.hcl");
    write(&broken, "pipeline \"bad\" {\n  stp \"a\" {\n  }\n}\n", 0o644);
    assert_run!(environment, environment.run(&["runbook", "list"]), @"
    exit code: 0
    ----- stdout -----
    pipeline  file                                 steps               variables
    release   .agents/runbooks/release.hcl         build, notes, undo  version (required), remote=origin, dry
    other     ~/.config/agents/runbooks/mine.toml  only
    warning: `.agents/runbooks/broken.hcl` is unusable; `anyhook runbook check` says why
    ");
    assert_run!(environment, environment.run(&["runbook", "show", "bad"]), @r#"
    exit code: 65
    ----- stderr -----
    error[no-steps]: the pipeline `bad` has no steps
     --> .agents/runbooks/broken.hcl:1:10
      |
    1 | pipeline "bad" {
      |          ^^^^^
      |
      = hint: write `step "name" { … }` in HCL, `[[pipeline.bad.step]]` in TOML

    error[unknown-key]: unknown key `stp` in the pipeline `bad`
     --> .agents/runbooks/broken.hcl:2:3
      |
    2 |   stp "a" {
      |   ^^^
      |
      = hint: did you mean `step`?

    error: 2 problems in `.agents/runbooks/broken.hcl`
    "#);
    assert_run!(environment, environment.run(&["runbook", "show", "nobody"]), @"
    exit code: 65
    ----- stderr -----
    error: there is no pipeline `nobody`
    hint: `anyhook runbook check` says what is wrong with .agents/runbooks/broken.hcl
    ");
    assert_eq!(environment.run(&["runbook", "show", "release"]).code, 0);
    let json = environment.run(&["runbook", "check", "--json"]);
    assert_eq!(json.code, 1);
    let problems = json.json()["runbooks"][0]["problems"].clone();
    assert_eq!((&problems[0]["line"], &problems[0]["column"]), (&1.into(), &10.into()));
}

#[test]
fn files_that_are_no_texts() {
    let environment = environment();
    let folder = environment.project().join(".agents/runbooks");
    write(&folder.join("bytes.hcl"), [b'#', 0xff, 0xfe], 0o644);
    write(&folder.join("large.toml"), "#".repeat(256 * 1024 + 1), 0o644);
    fs::create_dir(folder.join("folder.hcl")).unwrap();
    let pipe = folder.join("pipe.toml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    write(&folder.join("notes.txt"), "not looked at", 0o644);
    assert_run!(environment, environment.run(&["runbook", "check"]), @"
    exit code: 1
    ----- stdout -----
    error[unreadable]: it cannot be read: it is not UTF-8
    --> .agents/runbooks/bytes.hcl
     = hint: a runbook is a UTF-8 text file, `*.hcl` or `*.toml`, of at most 256 KiB

    error[unreadable]: it cannot be read: it is not a file
    --> .agents/runbooks/folder.hcl
     = hint: a runbook is a UTF-8 text file, `*.hcl` or `*.toml`, of at most 256 KiB

    error[unreadable]: it cannot be read: it is larger than 262144 bytes
    --> .agents/runbooks/large.toml
     = hint: a runbook is a UTF-8 text file, `*.hcl` or `*.toml`, of at most 256 KiB

    error[unreadable]: it cannot be read: it is not a file
    --> .agents/runbooks/pipe.toml
     = hint: a runbook is a UTF-8 text file, `*.hcl` or `*.toml`, of at most 256 KiB

    4 runbooks, 4 problems
    ");
    let named = environment.run(&["runbook", "check", ".agents/runbooks/notes.txt"]);
    assert_run!(environment, named, @"
    exit code: 1
    ----- stdout -----
    error[unreadable]: it cannot be read: not a `.hcl` or `.toml` file
    --> .agents/runbooks/notes.txt
     = hint: a runbook is a UTF-8 text file, `*.hcl` or `*.toml`, of at most 256 KiB

    1 runbook, 1 problem
    ");
}

/// Whatever a runbook has in it cannot steer the terminal.
#[test]
fn control_characters_are_not_printed() {
    let environment = environment();
    let folder = environment.project().join(".agents/runbooks");
    write(
        &folder.join("a.toml"),
        "[pipeline.\"\\u001b[31mred\"]\n\"\\u001b[2J\" = 1\nx = \"\u{7f}\"\n",
        0o644,
    );
    let step = "[[pipeline.p.step]]\nname = \"a\"\nrun = \"echo \\u001b[31m\"\n";
    write(&folder.join("b.toml"), step, 0o644);
    for command in [&["runbook", "check"][..], &["runbook", "show", "p"], &["runbook", "list"]] {
        let ran = environment.run(command);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!said.contains('\u{1b}') && !said.contains('\u{7f}'), "{said:?}");
    }
}

//! `anyhook add`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{TestEnv, require, run};

use crate::environment;

/// Makes a hook outside of every level.
fn outside(environment: &TestEnv, name: &str, matter: &str) -> std::path::PathBuf {
    environment.hook(&environment.root().join("shelf"), name, matter, "exit 0")
}

#[test]
fn at_the_users_level() {
    let environment = environment();
    let source = outside(&environment, "guard", "trigger: before_tool");
    let ran = environment.run(&["add", source.to_str().unwrap()]);
    assert_run!(environment, ran, @"
    exit code: 0
    ----- stdout -----
    added guard: ~/.config/agents/hooks/guard
    ");
    let added = environment.user_hooks().join("guard");
    let mode = fs::metadata(added.join("scripts/run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111, "run bits stay");
    assert_eq!(fs::read_dir(environment.user_hooks()).unwrap().count(), 1, "nothing is left aside");
    assert!(environment.run(&["list"]).stdout.contains("ready"));
}

#[test]
fn at_the_projects_level() {
    let environment = environment();
    let source = outside(&environment, "guard", "trigger: before_tool");
    let ran = environment.run(&["add", source.to_str().unwrap(), "--project"]);
    assert_run!(environment, ran, @"
    exit code: 0
    ----- stdout -----
    added guard: ~/project/.agents/hooks/guard
    hint: trust it so that it runs: anyhook trust guard
    ");
    assert!(environment.project_hooks().join("guard/HOOK.md").is_file());
}

#[test]
fn from_the_folder_itself() {
    let environment = environment();
    let source = outside(&environment, "guard", "trigger: before_tool");
    let mut command = environment.command(&["add", "."]);
    command.current_dir(&source);
    assert_eq!(run(command, b"").code, 0);
    assert!(environment.user_hooks().join("guard/HOOK.md").is_file());
}

#[test]
fn with_findings() {
    let environment = environment();
    let source = outside(&environment, "guard", "trigger: before_tool\ntimeout: 1");
    let ran = environment.run(&["add", source.to_str().unwrap()]);
    assert_run!(environment, ran, @"
    exit code: 0
    ----- stdout -----
    added guard: ~/.config/agents/hooks/guard
    it has 1 finding: anyhook check guard
    ");
    let source = outside(&environment, "other", "trigger: before_tool\ntimeout: 1\nmode: dark");
    let ran = environment.run(&["add", source.to_str().unwrap()]);
    assert_run!(environment, ran, @"
    exit code: 0
    ----- stdout -----
    added other: ~/.config/agents/hooks/other
    it has 2 findings: anyhook check other
    ");
}

#[test]
fn already_there() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "exit 2");
    let source = outside(&environment, "guard", "trigger: before_tool");
    let ran = environment.run(&["add", source.to_str().unwrap()]);
    assert_run!(environment, ran, @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.config/agents/hooks/guard` already exists
    hint: `anyhook remove guard` removes it
    ");
}

#[test]
fn not_there() {
    let environment = environment();
    assert_run!(environment, environment.run(&["add", "nowhere"]), @"
    exit code: 65
    ----- stderr -----
    error: `nowhere` does not exist
    hint: pass the path of a hook's folder
    ");
}

#[test]
fn a_folder_without_a_hook() {
    let environment = environment();
    assert_run!(environment, environment.run(&["add", "."]), @"
    exit code: 65
    ----- stderr -----
    error: `.` cannot run: there is no HOOK.md
    hint: anyhook check .
    ");
}

#[test]
fn a_hook_that_cannot_run() {
    let environment = environment();
    let source = outside(&environment, "guard", "trigger: never");
    let ran = environment.run(&["add", source.to_str().unwrap()]);
    assert_run!(environment, ran, @"
    exit code: 65
    ----- stderr -----
    error: `[ROOT]/shelf/guard` cannot run: unknown trigger `never`
    hint: anyhook check [ROOT]/shelf/guard
    ");
    assert!(!environment.user_hooks().exists());
}

#[test]
fn a_link_that_leads_out() {
    let environment = environment();
    let source = outside(&environment, "guard", "trigger: before_tool");
    symlink("/etc/passwd", source.join("secrets")).unwrap();
    let ran = environment.run(&["add", source.to_str().unwrap()]);
    assert_run!(environment, ran, @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/shelf/guard/secrets` is a link that points outside the hook's folder
    hint: copy what it points to into the hook's folder
    ");
    assert!(!environment.user_hooks().join("guard").exists());
}

#[test]
fn a_named_pipe() {
    let environment = environment();
    let source = outside(&environment, "guard", "trigger: before_tool");
    let status = std::process::Command::new("mkfifo").arg(source.join("pipe")).status().unwrap();
    assert!(status.success());
    let ran = environment.run(&["add", source.to_str().unwrap()]);
    assert_run!(environment, ran, @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/shelf/guard/pipe` is not a file or a folder
    hint: remove it: a hook may only contain files
    ");
}

#[test]
fn no_home() {
    require!(MachineNeed::Users);
    let environment = environment();
    let source = outside(&environment, "guard", "trigger: before_tool");
    let command = environment.command_without_home(&["add", source.to_str().unwrap()]);
    assert_run!(environment, run(command, b""), @"
    exit code: 1
    ----- stderr -----
    error: there is no user level: `HOME` is not set
    hint: set HOME, or use --project
    ");
}

#[test]
fn no_path() {
    let environment = environment();
    assert_run!(environment, environment.run(&["add"]), @"
    exit code: 64
    ----- stderr -----
    error: the following required arguments were not provided:
      <SOURCE>

    Usage: anyhook add <SOURCE>
    hint: anyhook add --help
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["add", "--help"]));
}

//! `anyhook untrust`.

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{TestEnv, require, run};

use crate::environment;
use crate::mcp::project_file;

fn trusted() -> TestEnv {
    let environment = environment();
    environment.project_hook("guard", "trigger: before_tool", "exit 2");
    environment.project_hook("other", "trigger: before_tool", "exit 0");
    assert_eq!(environment.run(&["trust", "--all"]).code, 0);
    assert_eq!(environment.shell("ls").code, 2);
    environment
}

#[test]
fn by_name() {
    let environment = trusted();
    assert_run!(environment, environment.run(&["untrust", "guard"]), @"
    exit code: 0
    ----- stdout -----
    no longer trusted: guard
    ");
    assert_eq!(environment.shell("ls").code, 0);
    assert_run!(environment, environment.run(&["list"]), @"
    exit code: 0
    ----- stdout -----
    hook   trigger      level    priority  status
    guard  before_tool  project  100       not trusted (anyhook trust)
    other  before_tool  project  100       ready, trusted
    ");
}

#[test]
fn all_at_once() {
    let environment = trusted();
    assert_run!(environment, environment.run(&["untrust", "--all"]), @"
    exit code: 0
    ----- stdout -----
    no longer trusted: guard
    no longer trusted: other
    ");
    assert_run!(environment, environment.run(&["untrust", "--all"]), @"
    exit code: 0
    ----- stdout -----
    no hook of this project was trusted
    ");
}

/// A hook that is gone from the project can still be forgotten.
#[test]
fn a_hook_that_is_gone() {
    let environment = trusted();
    std::fs::remove_dir_all(environment.project_hooks().join("guard")).unwrap();
    assert!(environment.run(&["list"]).stdout.contains("was removed from the project"));
    assert_eq!(environment.run(&["untrust", "guard"]).code, 0);
    assert!(!environment.run(&["list"]).stdout.contains("was removed from the project"));
}

/// One of the names is wrong: the others are forgotten, and the wrong one is named.
#[test]
fn one_of_two_is_not_there() {
    let environment = trusted();
    assert_run!(environment, environment.run(&["untrust", "guard", "nobody"]), @"
    exit code: 65
    ----- stdout -----
    no longer trusted: guard

    ----- stderr -----
    error: this project has no trusted hook `nobody`
    hint: `anyhook list` shows which hooks are trusted
    ");
}

#[test]
fn not_trusted() {
    let environment = environment();
    environment.project_hook("guard", "trigger: before_tool", "exit 2");
    assert_run!(environment, environment.run(&["untrust", "guard"]), @"
    exit code: 65
    ----- stderr -----
    error: this project has no trusted hook `guard`
    hint: `anyhook list` shows which hooks are trusted
    ");
}

#[test]
fn no_name() {
    let environment = environment();
    assert_run!(environment, environment.run(&["untrust"]), @"
    exit code: 64
    ----- stderr -----
    error: the following required arguments were not provided:
      <PATHS>...

    Usage: anyhook untrust <PATHS>...
    hint: anyhook untrust --help
    ");
}

#[test]
fn no_home() {
    require!(MachineNeed::Users);
    let environment = environment();
    let command = environment.command_without_home(&["untrust", "guard"]);
    assert_run!(environment, run(command, b""), @"
    exit code: 1
    ----- stderr -----
    error: there is no state folder
    hint: set HOME
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["untrust", "--help"]));
}

#[test]
fn mcp_servers_of_the_project() {
    let environment = trusted();
    let file = project_file(&environment);
    anyhook_testkit::write(&file, "{\"mcpServers\": {}}", 0o644);
    assert_eq!(environment.run(&["untrust", "mcp.json"]).code, 65);
    assert_eq!(environment.run(&["trust", "mcp.json"]).code, 0);
    // One that is gone can still be forgotten.
    std::fs::remove_file(file).unwrap();
    assert_run!(environment, environment.run(&["untrust", "--all"]), @"
    exit code: 0
    ----- stdout -----
    no longer trusted: guard
    no longer trusted: other
    no longer trusted: mcp.json
    ");
    assert_eq!(environment.run(&["untrust", ".agents/mcp.json"]).code, 65);
}

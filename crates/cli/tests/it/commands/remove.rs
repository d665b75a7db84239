//! `anyhook remove`.

use std::fs;
use std::os::unix::fs::symlink;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{require, run};

use crate::{environment, namespace};

#[test]
fn a_hook_of_the_user() {
    let environment = environment();
    let folder = environment.user_hook("guard", "trigger: before_tool", "exit 0");
    assert_run!(environment, environment.run(&["remove", "guard"]), @"
    exit code: 0
    ----- stdout -----
    removed guard
    to restore it: anyhook add ~/.local/state/anyhook/removed/guard-[TIME]
    ");
    assert!(!folder.exists());
    let kept: Vec<_> =
        fs::read_dir(environment.state().join("removed")).unwrap().flatten().collect();
    assert!(kept[0].path().join("scripts/run").is_file());
}

/// What was removed can be had back.
#[test]
fn and_back() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "exit 2");
    environment.run(&["remove", "guard"]);
    assert_eq!(environment.shell("ls").code, 0);
    let kept = fs::read_dir(environment.state().join("removed")).unwrap().flatten().next().unwrap();
    let kept = kept.path();
    // By its name, not that of the folder in which it was kept.
    assert_run!(environment, environment.run(&["add", kept.to_str().unwrap()]), @"
    exit code: 0
    ----- stdout -----
    added guard: ~/.config/agents/hooks/guard
    ");
    assert_eq!(environment.shell("ls").code, 2);
}

#[test]
fn as_json() {
    let environment = environment();
    let folder = environment.user_hook("guard", "trigger: before_tool", "exit 0");
    let report = environment.run(&["remove", "guard", "--json"]).json();
    assert_eq!(report["name"], "guard");
    assert_eq!(report["removed"], serde_json::json!([folder]));
    let kept = report["kept"].as_str().unwrap();
    assert!(fs::metadata(kept).unwrap().is_dir());
    let report = environment.run(&["add", kept, "--json"]).json();
    assert_eq!(report["hooks"], serde_json::json!([{"name": "guard", "folder": folder}]));
    assert_eq!(report["shadow"], false);
}

#[test]
fn a_hook_of_the_project() {
    let environment = environment();
    let folder = environment.project_hook("guard", "trigger: before_tool", "exit 0");
    assert_eq!(environment.run(&["trust", "guard"]).code, 0);
    assert_run!(environment, environment.run(&["remove", "guard", "--project"]), @"
    exit code: 0
    ----- stdout -----
    removed guard
    to restore it: anyhook add ~/.local/state/anyhook/removed/guard-[TIME] --project
    hint: it was trusted and is now reported as missing; `anyhook untrust guard` stops that
    ");
    assert!(!folder.exists());
    assert_run!(environment, environment.run(&["list"]), @"
    exit code: 0
    ----- stdout -----
    no hooks installed
    hint: `anyhook new my-hook --trigger before_tool` creates one, `anyhook add PATH` adds an existing one
    ");
}

#[test]
fn one_of_two_levels() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "exit 0");
    environment.project_hook("guard", "trigger: before_tool", "exit 0");
    assert_run!(environment, environment.run(&["remove", "guard"]), @"
    exit code: 64
    ----- stderr -----
    error: `guard` is installed more than once: ~/.config/agents/hooks/guard, ~/project/.agents/hooks/guard
    hint: pass --user or --project
    ");
    assert_eq!(environment.run(&["remove", "guard", "--user"]).code, 0);
    assert!(environment.project_hooks().join("guard").exists());
}

/// Only the link goes; what it leads to is somebody's.
#[test]
fn a_link() {
    let environment = environment();
    let shelf = environment.root().join("shelf");
    let source = environment.hook(&shelf, "guard", "trigger: before_tool", "exit 0");
    fs::create_dir_all(environment.user_hooks()).unwrap();
    symlink(&source, environment.user_hooks().join("guard")).unwrap();
    assert_eq!(environment.run(&["remove", "guard"]).code, 0);
    assert!(source.join("HOOK.md").is_file());
    assert!(environment.user_hooks().join("guard").symlink_metadata().is_err());
}

#[test]
fn a_name_that_leads_out() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "exit 0");
    let ran = environment.run(&["remove", "../hooks/guard"]);
    assert_eq!(ran.code, 65, "{ran:?}");
    assert!(environment.user_hooks().join("guard").exists());
}

#[test]
fn not_there() {
    let environment = environment();
    assert_run!(environment, environment.run(&["remove", "nobody"]), @"
    exit code: 65
    ----- stderr -----
    error: no hook `nobody` is installed
    hint: `anyhook list` shows installed hooks
    ");
}

#[test]
fn the_machines() {
    require!(MachineNeed::Mounts);
    let environment = environment();
    let managed = environment.root().join("etc/agents/hooks");
    environment.hook(&managed, "company", "trigger: before_tool", "exit 0");
    let mounts = namespace::managed(&environment);
    let remove = namespace::command(&environment, &mounts, &["remove", "company"]);
    assert_run!(environment, run(remove, b""), @"
    exit code: 1
    ----- stderr -----
    error: `company` is a managed hook, at /etc/agents/hooks/company
    hint: the administrator of this machine installed it; root can remove the folder
    ");
}

#[test]
fn no_home() {
    require!(MachineNeed::Users);
    let environment = environment();
    environment.project_hook("guard", "trigger: before_tool", "exit 0");
    let command = environment.command_without_home(&["remove", "guard"]);
    assert_run!(environment, run(command, b""), @"
    exit code: 1
    ----- stderr -----
    error: no state folder to keep a copy in
    hint: set HOME
    ");
}

#[test]
fn no_name() {
    let environment = environment();
    assert_run!(environment, environment.run(&["remove"]), @"
    exit code: 64
    ----- stderr -----
    error: the following required arguments were not provided:
      <NAME>

    Usage: anyhook remove <NAME>
    hint: anyhook remove --help
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["remove", "--help"]));
}

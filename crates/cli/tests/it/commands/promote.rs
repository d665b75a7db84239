//! `anyhook promote`: from shadow to enforce.

use std::fs;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{TestEnv, require, run, write};

use crate::environment;

const MATTER: &str = "trigger: before_tool\nmode: shadow\nmatcher:\n  pattern: mkfs";

fn watched() -> TestEnv {
    let environment = environment();
    environment.user_hook("watcher", MATTER, "echo 'not here' >&2; exit 2");
    environment
}

#[test]
fn a_hook_that_was_watched_counts() {
    let environment = watched();
    assert_eq!(environment.shell("mkfs /dev/sda").code, 0);
    environment.shell("ls");
    assert_run!(environment, environment.run(&["promote", "watcher", "--dry-run"]));
    assert_eq!(environment.shell("mkfs /dev/sda").code, 0, "only shown");
    let before = fs::read_to_string(environment.user_hooks().join("watcher/HOOK.md")).unwrap();
    let ran = environment.run(&["promote", "watcher"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.ends_with("now enforced: watcher\n"), "{ran:?}");
    let after = fs::read_to_string(environment.user_hooks().join("watcher/HOOK.md")).unwrap();
    assert_eq!(after, before.replace("mode: shadow", "mode: enforce"));
    assert_eq!(environment.shell("mkfs /dev/sda").code, 2);
    assert_run!(environment, environment.run(&["promote", "watcher"]), @"
    exit code: 0
    ----- stdout -----
    watcher is already enforced
    ");
}

#[test]
fn a_projects_hook_stays_trusted() {
    let environment = environment();
    environment.project_hook("ours", MATTER, "exit 2");
    assert_eq!(environment.run(&["trust", "ours"]).code, 0);
    assert_eq!(environment.shell("mkfs").code, 0);
    assert_eq!(environment.run(&["promote", "ours"]).code, 0);
    assert_eq!(environment.shell("mkfs").code, 2);
}

/// What nobody has trusted is not trusted by the way.
#[test]
fn a_hook_that_is_not_trusted_stays_so() {
    let environment = environment();
    environment.project_hook("ours", MATTER, "exit 2");
    assert_eq!(environment.run(&["promote", "ours"]).code, 0);
    assert_eq!(environment.shell("mkfs").code, 0);
    let folder = environment.project_hook("changed", MATTER, "exit 2");
    assert_eq!(environment.run(&["trust", "changed"]).code, 0);
    write(&folder.join("scripts/run"), "#!/bin/sh\nexit 3\n", 0o755);
    assert_eq!(environment.run(&["promote", "changed"]).code, 0);
    let ran = environment.run(&["list"]);
    assert!(!ran.stdout.contains("changed  trusted"), "{ran:?}");
    assert_eq!(environment.run(&["doctor"]).code, 1, "a changed hook is reported");
}

#[test]
fn bad_input() {
    let environment = watched();
    assert_run!(environment, environment.run(&["promote", "nobody"]), @"
    exit code: 65
    ----- stderr -----
    error: `nobody` is neither an installed hook nor a hook's folder
    hint: `anyhook list` shows installed hooks
    ");
    let odd = environment.user_hook("odd", "trigger: before_tool\n\"mode\": shadow", "exit 2");
    assert_run!(environment, environment.run(&["promote", "odd"]), @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.config/agents/hooks/odd/HOOK.md` has no plain line `mode: shadow`
    hint: set `mode: enforce` there yourself, then run: anyhook check
    ");
    assert!(fs::read_to_string(odd.join("HOOK.md")).unwrap().contains("\"mode\": shadow"));
}

#[test]
fn a_file_that_may_not_be_written() {
    require!(MachineNeed::Users);
    let environment = watched();
    environment.give_to(54_321);
    let folder = environment.user_hooks().join("watcher");
    let status = std::process::Command::new("chown").args(["-R", "0:0"]).arg(&folder).status();
    assert!(status.unwrap().success());
    let ran = run(environment.command_as(54_321, &["promote", "watcher"]), b"");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("cannot access `"), "{ran:?}");
    assert!(ran.stderr.contains("Permission denied"), "{ran:?}");
    assert!(ran.stderr.contains("hint: "), "{ran:?}");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["promote", "--help"]));
}

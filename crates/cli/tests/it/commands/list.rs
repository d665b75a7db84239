//! `anyhook list`.

use std::fs;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{TestEnv, require, run, write};
use unicode_width::UnicodeWidthStr;

use super::trust::at_a_terminal_with;
use crate::{environment, namespace};

/// One hook of every standing.
pub fn zoo() -> TestEnv {
    let environment = environment();
    let user = |name: &str, matter: &str| environment.user_hook(name, matter, "exit 0");
    let project = |name: &str, matter: &str| environment.project_hook(name, matter, "exit 0");
    user("ready", "trigger: before_tool");
    user("aside", "trigger: after_tool\nasync: true");
    user("watcher", "trigger: [pre-tool-call, before_stop]\nmode: shadow\npriority: 700");
    user("broken", "trigger: before_tol");
    user("gate", "trigger: before_tool\nmatcher:\n  pattern: '('\non_failure: block");
    user("twin", "trigger: before_tool");
    user("locked", "trigger: before_tool\nmetadata:\n  locked: true");
    user("elsewhere", "trigger: before_tool\nhosts: [codex]");
    user("reader", "trigger: before_tool\nmatcher:\n  tool: Read");
    user("remover", "trigger: before_tool\nmatcher:\n  pattern: ^rm");
    for name in ["trusted", "changed", "gone", "twin", "locked"] {
        project(name, "trigger: before_tool");
    }
    let ran = environment.run(&["trust", "--all", "--replace", "twin"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    project("stranger", "trigger: before_tool");
    project("changed", "trigger: before_tool\npriority: 3");
    fs::remove_dir_all(environment.project_hooks().join("gone")).unwrap();
    environment
}

#[test]
fn every_standing() {
    let environment = zoo();
    assert_run!(environment, environment.run(&["list"]));
}

#[test]
fn every_standing_with_all_there_is_to_say() {
    let environment = zoo();
    assert_run!(environment, environment.run(&["list", "--all"]));
}

#[test]
fn every_standing_as_json() {
    let environment = zoo();
    assert_run!(environment, environment.run(&["list", "--json"]));
}

#[test]
fn nothing_is_installed() {
    let environment = environment();
    assert_run!(environment, environment.run(&["list"]), @"
    exit code: 0
    ----- stdout -----
    no hooks installed
    hint: `anyhook new my-hook --trigger before_tool` creates one, `anyhook add PATH` adds an existing one
    ");
}

#[test]
fn nothing_is_installed_as_json() {
    let environment = environment();
    assert_run!(environment, environment.run(&["list", "--json"]), @r#"
    exit code: 0
    ----- stdout -----
    {
      "hooks": [],
      "notes": []
    }
    "#);
}

#[test]
fn broken_settings() {
    let environment = environment();
    environment.user_hook("ready", "trigger: before_tool", "exit 0");
    let user = environment.home().join(".config/agents/anyhook.toml");
    write(&user, "# ours\nstop_cap = \"many\"\n", 0o644);
    let project = environment.project().join(".agents/anyhook.toml");
    write(&project, "stop_cap = 3\n", 0o644);
    assert_run!(environment, environment.run(&["list"]), @r#"
    exit code: 0
    ----- stdout -----
    hook   trigger      level  priority  status
    ready  before_tool  user   100       ready
    note: `[ROOT]/home/.config/agents/anyhook.toml:2:12`: invalid type: string "many", expected u32
    note: a project can only raise stop_cap: 3 is below 8
    "#);
}

#[test]
fn permissions_are_no_protection() {
    let environment = environment();
    environment.user_hook("careful", "trigger: before_tool\npermissions: [read]", "exit 0");
    assert_run!(environment, environment.run(&["list"]), @"
    exit code: 0
    ----- stdout -----
    hook     trigger      level  priority  status
    careful  before_tool  user   100       ready

    careful  ~/.config/agents/hooks/careful
      ! 5:14: `permissions` is reserved; this version does not enforce it
    ");
}

#[test]
fn names_of_any_script_line_up() {
    let environment = environment();
    for name in ["拦截危险命令", "größe", "plain"] {
        environment.user_hook(name, "trigger: before_tool", "exit 0");
    }
    assert_run!(environment, environment.run(&["list"]), @"
    exit code: 0
    ----- stdout -----
    hook          trigger      level  priority  status
    größe         before_tool  user   100       ready
    plain         before_tool  user   100       ready
    拦截危险命令  before_tool  user   100       ready
    ");
}

#[test]
fn a_cosmetic_mistake() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool\ntimeout: 1\nmode: dark", "exit 0");
    assert_run!(environment, environment.run(&["list"]), @"
    exit code: 0
    ----- stdout -----
    hook   trigger      level  priority  status
    guard  before_tool  user   100       ready

    guard  ~/.config/agents/hooks/guard
      ! 5:10: `timeout` must be an integer from 100 to 600000; using 100
      ! 6:7: `mode` must be `enforce` or `shadow`; assuming `enforce`
    ");
}

#[test]
fn a_nested_folder_adds_hooks() {
    let environment = environment();
    let inner = environment.project().join("inner");
    environment.hook(&inner.join(".agents/hooks"), "deep", "trigger: before_tool", "exit 0");
    environment.project_hook("top", "trigger: before_tool", "exit 0");
    let mut command = environment.command(&["list"]);
    command.current_dir(&inner);
    assert_run!(environment, run(command, b""), @"
    exit code: 0
    ----- stdout -----
    hook  trigger      level    priority  status
    deep  before_tool  project  100       not trusted (anyhook trust)
    top   before_tool  project  100       not trusted (anyhook trust)
    ");
}

#[test]
fn managed_hooks() {
    require!(MachineNeed::Mounts);
    let environment = environment();
    let managed = environment.root().join("etc/agents/hooks");
    environment.hook(&managed, "company", "trigger: before_tool", "exit 0");
    environment.user_hook("company", "trigger: before_tool", "exit 0");
    let list = namespace::command(&environment, &namespace::managed(&environment), &["list"]);
    assert_run!(environment, run(list, b""), @"
    exit code: 0
    ----- stdout -----
    hook     trigger      level    priority  status
    company  before_tool  managed  100       ready
    company  before_tool  user     100       dropped: /etc/agents/hooks/company cannot be overridden
    ");
}

#[test]
fn managed_hooks_others_can_write() {
    use std::os::unix::fs::PermissionsExt;
    require!(MachineNeed::Mounts);
    let environment = environment();
    let managed = environment.root().join("etc/agents/hooks");
    let folder = environment.hook(&managed, "company", "trigger: before_tool", "exit 0");
    let list = || namespace::command(&environment, &namespace::managed(&environment), &["list"]);
    fs::set_permissions(folder.join("HOOK.md"), fs::Permissions::from_mode(0o666)).unwrap();
    assert_run!(environment, run(list(), b""), @"
    exit code: 0
    ----- stdout -----
    hook     trigger      level    priority  status
    company  before_tool  managed  100       unusable: `/etc/agents/hooks/company/HOOK.md` is writable by users other than root, so the hook is not treated as managed

    company  /etc/agents/hooks/company
      ! `/etc/agents/hooks/company/HOOK.md` is writable by users other than root, so the hook is not treated as managed
        hint: make it owned by root and writable only by root (chown root, chmod go-w)
    ");
    fs::set_permissions(&managed, fs::Permissions::from_mode(0o777)).unwrap();
    assert_run!(environment, run(list(), b""), @"
    exit code: 0
    ----- stdout -----
    no hooks installed
    hint: `anyhook new my-hook --trigger before_tool` creates one, `anyhook add PATH` adds an existing one
    note: ignoring managed hooks: `/etc/agents/hooks` is writable by users other than root
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["list", "--help"]));
}

#[test]
fn on_a_terminal_lines_are_cut_not_wrapped() {
    require!(MachineNeed::Terminals);
    let environment = environment();
    for number in 0..16 {
        let name = format!("a-hook-with-a-name-that-is-rather-long-{number}");
        environment.user_hook(&name, "trigger: [before_tool, after_tool, before_agent]", "exit 0");
    }
    for width in [40, 60, 80] {
        let columns = width.to_string();
        let variables = [("COLUMNS", columns.as_str())];
        let shown = at_a_terminal_with(&environment, &variables, &["list"], "").stdout;
        assert_eq!(shown.lines().count(), 17, "{shown}");
        for line in shown.lines() {
            assert!(line.width() <= width, "{width}: {line}");
            assert!(line.ends_with("ready") || line.ends_with("status"), "{width}: {line}");
        }
    }
}

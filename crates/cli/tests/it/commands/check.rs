//! `anyhook check`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhook_testkit::{CommandRun, TestEnv, write};

use crate::environment;

/// Checks one HOOK.md in a folder `guard`.
fn check(environment: &TestEnv, hook_file: impl AsRef<[u8]>) -> CommandRun {
    let folder = environment.project().join("guard");
    write(&folder.join("HOOK.md"), hook_file, 0o644);
    write(&folder.join("scripts/run"), "#!/bin/sh\n", 0o755);
    environment.run(&["check", "guard"])
}

/// Compares what `check` says to a front matter with a snapshot.
macro_rules! assert_check {
    ($matter:expr, @$inline:literal) => {{
        let environment = environment();
        let ran = check(&environment, format!("---\n{}\n---\n", $matter));
        assert_run!(environment, ran, @$inline);
    }};
}

#[test]
fn no_problems() {
    let environment = environment();
    let ran = check(
        &environment,
        "---\nname: guard\ndescription: Guards\ntrigger: before_tool\nmatcher:\n  pattern: \"\\.(py|js|ts)$\"\n---\n",
    );
    assert_run!(environment, ran, @"
    exit code: 0
    ----- stdout -----
    no problems in 1 hook
    ");
}

#[test]
fn no_front_matter() {
    let environment = environment();
    assert_run!(environment, check(&environment, "# Guard\n\nGuards.\n"), @"
    exit code: 1
    ----- stdout -----
    error[unreadable]: no front matter: the first line must be `---` (the hook cannot run)
     --> guard/HOOK.md:1:1
      |
    1 | # Guard
      | ^^^

    1 problem in 1 hook
    ");
}

#[test]
fn an_empty_file() {
    let environment = environment();
    assert_run!(environment, check(&environment, ""), @"
    exit code: 1
    ----- stdout -----
    error[unreadable]: HOOK.md is empty (the hook cannot run)
    --> guard/HOOK.md
     = hint: restore it, or remove the hook's folder

    1 problem in 1 hook
    ");
}

#[test]
fn a_front_matter_that_is_not_closed() {
    let environment = environment();
    let ran = check(&environment, "---\nname: guard\ntrigger: before_tool\n");
    assert_run!(environment, ran, @"
    exit code: 1
    ----- stdout -----
    error[unreadable]: the front matter is missing its closing `---` line (the hook cannot run)
     --> guard/HOOK.md:1:1
      |
    1 | ---
      | ^^^

    1 problem in 1 hook
    ");
}

#[test]
fn an_empty_front_matter() {
    assert_check!("", @"
    exit code: 1
    ----- stdout -----
    error[unreadable]: the front matter is empty (the hook cannot run)
     --> guard/HOOK.md:1:1
      |
    1 | ---
      | ^^^
      |
      = hint: write at least name, description and trigger

    1 problem in 1 hook
    ");
}

#[test]
fn a_front_matter_that_is_a_list() {
    assert_check!("- name: guard\n- trigger: before_tool", @"
    exit code: 1
    ----- stdout -----
    error[unreadable]: the front matter must be a list of `key: value` lines (the hook cannot run)
     --> guard/HOOK.md:2:1
      |
    2 | - name: guard
      | ^^^^^^^^^^^^^
      |
      = hint: write at least name, description and trigger

    1 problem in 1 hook
    ");
}

#[test]
fn yaml_that_cannot_be_read() {
    assert_check!("name: guard\ndescription: [a, b\ntrigger: before_tool", @"
    exit code: 1
    ----- stdout -----
    error[unreadable]: not valid YAML: illegal placement of ':' indicator (the hook cannot run)
     --> guard/HOOK.md:4:8
      |
    4 | trigger: before_tool
      |        ^

    1 problem in 1 hook
    ");
}

#[test]
fn a_tab_where_yaml_wants_blanks() {
    assert_check!("name: guard\ndescription: d\ntrigger: before_tool\nmatcher:\n\ttool: Shell", @"
    exit code: 1
    ----- stdout -----
    error[unreadable]: not valid YAML: tabs disallowed within this context (block indentation) (the hook cannot run)
     --> guard/HOOK.md:6:2
      |
    6 |     tool: Shell
      |     ^

    1 problem in 1 hook
    ");
}

#[test]
fn nothing_but_a_trigger() {
    assert_check!("trigger: before_tool", @"
    exit code: 1
    ----- stdout -----
    error[name]: `name` is missing
     --> guard/HOOK.md:1:1
      |
    1 | ---
      | ^^^
      |
      = hint: write `name: guard`

    error[description]: `description` is missing
     --> guard/HOOK.md:1:1
      |
    1 | ---
      | ^^^
      |
      = hint: describe in one sentence what the hook does

    2 problems in 1 hook
    ");
}

#[test]
fn a_name_that_is_none() {
    assert_check!("name: My Guard\ndescription: d\ntrigger: before_tool", @"
    exit code: 1
    ----- stdout -----
    error[name]: `name` may only contain lowercase letters, digits and hyphens
     --> guard/HOOK.md:2:7
      |
    2 | name: My Guard
      |       ^^^^^^^^
      |
      = hint: use lowercase letters, digits and single hyphens (my-hook)

    error[name-differs]: `name` does not match the folder name, `guard`
     --> guard/HOOK.md:2:7
      |
    2 | name: My Guard
      |       ^^^^^^^^
      |
      = hint: rename either one

    2 problems in 1 hook
    ");
}

#[test]
fn a_trigger_with_a_slip_of_the_pen() {
    assert_check!("name: guard\ndescription: d\ntrigger: befor_tool", @"
    exit code: 1
    ----- stdout -----
    error[unknown-trigger]: unknown trigger `befor_tool` (the hook cannot run)
     --> guard/HOOK.md:4:10
      |
    4 | trigger: befor_tool
      |          ^^^^^^^^^^
      |
      = hint: did you mean `before_tool`?

    1 problem in 1 hook
    ");
}

#[test]
fn an_agents_own_event_name() {
    assert_check!("name: guard\ndescription: d\ntrigger: PreToolUse", @"
    exit code: 0
    ----- stdout -----
    note[trigger-spelling]: `PreToolUse` is read as `before_tool`
     --> guard/HOOK.md:4:10
      |
    4 | trigger: PreToolUse
      |          ^^^^^^^^^^
      |
      = hint: write `before_tool`

    no problems in 1 hook
    ");
}

#[test]
fn one_unknown_trigger_of_two() {
    assert_check!("name: guard\ndescription: d\ntrigger:\n  - before_tool\n  - whenever", @"
    exit code: 1
    ----- stdout -----
    error[unknown-trigger]: unknown trigger `whenever`
     --> guard/HOOK.md:6:5
      |
    6 |   - whenever
      |     ^^^^^^^^
      |
      = hint: events: session_start, session_end, before_agent, after_agent, before_stop, after_stop, before_tool, after_tool, after_tool_failure, subagent_start, subagent_stop, pre_compact, post_compact, notification, permission_request

    1 problem in 1 hook
    ");
}

#[test]
fn no_trigger() {
    assert_check!("name: guard\ndescription: d\ntrigger:", @"
    exit code: 1
    ----- stdout -----
    error[no-trigger]: `trigger` is missing (the hook cannot run)
     --> guard/HOOK.md:1:1
      |
    1 | ---
      | ^^^
      |
      = hint: name an event, for example `trigger: before_tool`

    1 problem in 1 hook
    ");
}

#[test]
fn a_regular_expression_that_is_none() {
    assert_check!(
        "name: guard\ndescription: d\ntrigger: before_tool\nmatcher:\n  tool: Shell\n  pattern: \"rm (-rf\"",
        @r#"
    exit code: 1
    ----- stdout -----
    error[regex]: `pattern` is not a regular expression: unclosed group (the hook cannot run)
     --> guard/HOOK.md:7:12
      |
    7 |   pattern: "rm (-rf"
      |            ^^^^^^^^^
      |
      = hint: use the syntax of the Rust `regex` crate: no look-around, no back-references

    1 problem in 1 hook
    "#
    );
}

#[test]
fn look_around() {
    assert_check!(
        "name: guard\ndescription: d\ntrigger: before_tool\nmatcher: {pattern: '(?!ls)'}",
        @"
    exit code: 1
    ----- stdout -----
    error[regex]: `pattern` is not a regular expression: look-around, including look-ahead and look-behind, is not supported (the hook cannot run)
     --> guard/HOOK.md:5:20
      |
    5 | matcher: {pattern: '(?!ls)'}
      |                    ^^^^^^^^
      |
      = hint: use the syntax of the Rust `regex` crate: no look-around, no back-references

    1 problem in 1 hook
    "
    );
}

#[test]
fn a_matcher_that_is_a_text() {
    assert_check!("name: guard\ndescription: d\ntrigger: before_tool\nmatcher: Shell", @"
    exit code: 1
    ----- stdout -----
    error[matcher]: `matcher` must be a mapping with `tool`, `pattern` and conditions (the hook cannot run)
     --> guard/HOOK.md:5:10
      |
    5 | matcher: Shell
      |          ^^^^^
      |
      = hint: put `tool:` and `pattern:` on their own indented lines

    1 problem in 1 hook
    ");
}

#[test]
fn a_matcher_where_it_does_not_count() {
    assert_check!(
        "name: guard\ndescription: d\ntrigger: session_start\nmatcher:\n  tool: Shell",
        @"
    exit code: 1
    ----- stdout -----
    warning[matcher-ignored]: ignoring `matcher`: the trigger is not a tool event
     --> guard/HOOK.md:6:3
      |
    6 |   tool: Shell
      |   ^^^^^^^^^^^
      |
      = hint: remove it, or check the event in the script

    1 problem in 1 hook
    "
    );
}

#[test]
fn a_tool_outside_of_the_matcher() {
    assert_check!("name: guard\ndescription: d\ntrigger: before_tool\ntool: Shell", @"
    exit code: 1
    ----- stdout -----
    warning[unknown-key]: unknown key `tool`
     --> guard/HOOK.md:5:1
      |
    5 | tool: Shell
      | ^^^^
      |
      = hint: indent `tool` under `matcher:`

    1 problem in 1 hook
    ");
}

#[test]
fn unknown_keys() {
    assert_check!(
        "name: guard\ndescription: d\ntrigger: before_tool\ntimeuot: 5\nauthor: me\nmatcher:\n  tol: Shell",
        @"
    exit code: 1
    ----- stdout -----
    warning[unknown-key]: unknown key `timeuot`
     --> guard/HOOK.md:5:1
      |
    5 | timeuot: 5
      | ^^^^^^^
      |
      = hint: did you mean `timeout`?

    warning[unknown-key]: unknown key `author`
     --> guard/HOOK.md:6:1
      |
    6 | author: me
      | ^^^^^^
      |
      = hint: put your own keys under `metadata:`

    warning[unknown-key]: unknown key `tol` in `matcher`
     --> guard/HOOK.md:8:3
      |
    8 |   tol: Shell
      |   ^^^
      |
      = hint: did you mean `tool`?

    3 problems in 1 hook
    "
    );
}

#[test]
fn a_key_given_twice() {
    assert_check!("name: guard\ndescription: d\ntrigger: before_tool\ntrigger: before_stop", @"
    exit code: 1
    ----- stdout -----
    error[twice]: `trigger` is given twice
     --> guard/HOOK.md:5:1
      |
    5 | trigger: before_stop
      | ^^^^^^^
      |
      = hint: the last one wins; remove the other

    1 problem in 1 hook
    ");
}

#[test]
fn numbers_out_of_range() {
    assert_check!(
        "name: guard\ndescription: d\ntrigger: before_tool\ntimeout: 5\npriority: 5000",
        @"
    exit code: 1
    ----- stdout -----
    error[timeout]: `timeout` must be an integer from 100 to 600000; using 100
     --> guard/HOOK.md:5:10
      |
    5 | timeout: 5
      |          ^

    error[priority]: `priority` must be an integer from 0 to 1000; using 1000
     --> guard/HOOK.md:6:11
      |
    6 | priority: 5000
      |           ^^^^

    2 problems in 1 hook
    "
    );
}

#[test]
fn numbers_that_are_none() {
    assert_check!(
        "name: guard\ndescription: d\ntrigger: before_tool\ntimeout: soon\npriority: \"7\"",
        @r#"
    exit code: 1
    ----- stdout -----
    error[timeout]: `timeout` must be a number; using 30000
     --> guard/HOOK.md:5:10
      |
    5 | timeout: soon
      |          ^^^^

    warning[priority]: `priority` is quoted; reading it as a number
     --> guard/HOOK.md:6:11
      |
    6 | priority: "7"
      |           ^^^

    2 problems in 1 hook
    "#
    );
}

#[test]
fn words_that_are_none() {
    assert_check!(
        "name: guard\ndescription: d\ntrigger: before_tool\nasync: maybe\nmode: dark\non_failure: blok\nstdout: contxt",
        @"
    exit code: 1
    ----- stdout -----
    error[async]: `async` must be `true` or `false`; assuming `false`
     --> guard/HOOK.md:5:8
      |
    5 | async: maybe
      |        ^^^^^

    error[mode]: `mode` must be `enforce` or `shadow`; assuming `enforce`
     --> guard/HOOK.md:6:7
      |
    6 | mode: dark
      |       ^^^^

    error[on_failure]: `on_failure` must be `allow` or `block`; assuming `block`
     --> guard/HOOK.md:7:13
      |
    7 | on_failure: blok
      |             ^^^^
      |
      = hint: did you mean `block`?

    error[stdout]: `stdout` must be `log` or `context`; assuming `log`
     --> guard/HOOK.md:8:9
      |
    8 | stdout: contxt
      |         ^^^^^^
      |
      = hint: did you mean `context`?

    4 problems in 1 hook
    "
    );
}

#[test]
fn an_async_gate() {
    assert_check!(
        "name: guard\ndescription: d\ntrigger: before_tool\nasync: true\non_failure: block",
        @"
    exit code: 1
    ----- stdout -----
    warning[async-gate]: an async hook cannot block, and `before_tool` is a blocking event
     --> guard/HOOK.md:5:8
      |
    5 | async: true
      |        ^^^^
      |
      = hint: remove `async: true`, or use an after_… event

    warning[async-block]: an async hook cannot block: at blocking events `on_failure: block` wins and `async: true` is ignored; at other events it is the other way round
     --> guard/HOOK.md:5:8
      |
    5 | async: true
      |        ^^^^

    2 problems in 1 hook
    "
    );
}

#[test]
fn unknown_hosts() {
    assert_check!(
        "name: guard\ndescription: d\ntrigger: before_tool\nhosts: [claude-cod, vim]",
        @"
    exit code: 1
    ----- stdout -----
    error[unknown-host]: unknown host `claude-cod` (the hook cannot run)
     --> guard/HOOK.md:5:9
      |
    5 | hosts: [claude-cod, vim]
      |         ^^^^^^^^^^
      |
      = hint: did you mean `claude-code`?

    error[unknown-host]: unknown host `vim` (the hook cannot run)
     --> guard/HOOK.md:5:21
      |
    5 | hosts: [claude-cod, vim]
      |                     ^^^
      |
      = hint: known hosts: [AGENTS]

    2 problems in 1 hook
    "
    );
}

#[test]
fn an_escape_yaml_does_not_know() {
    assert_check!("name: guard\ndescription: \"a \\d b\"\ntrigger: before_tool", @r#"
    exit code: 1
    ----- stdout -----
    warning[escape]: unknown escape in double quotes; keeping the backslash
     --> guard/HOOK.md:3:17
      |
    3 | description: "a \d b"
      |                 ^^
      |
      = hint: use single quotes

    1 problem in 1 hook
    "#);
}

#[test]
fn a_place_after_wide_letters() {
    assert_check!("name: guard\ndescription: 拦截\ntrigger: [before_tool, 拦截危险命令]", @"
    exit code: 1
    ----- stdout -----
    error[unknown-trigger]: unknown trigger `拦截危险命令`
     --> guard/HOOK.md:4:24
      |
    4 | trigger: [before_tool, 拦截危险命令]
      |                        ^^^^^^^^^^^^
      |
      = hint: events: session_start, session_end, before_agent, after_agent, before_stop, after_stop, before_tool, after_tool, after_tool_failure, subagent_start, subagent_stop, pre_compact, post_compact, notification, permission_request

    1 problem in 1 hook
    ");
}

#[test]
fn permissions_are_no_protection() {
    assert_check!("name: guard\ndescription: d\ntrigger: before_tool\npermissions: [read]", @"
    exit code: 0
    ----- stdout -----
    note[permissions]: `permissions` is reserved; this version does not enforce it
     --> guard/HOOK.md:5:14
      |
    5 | permissions: [read]
      |              ^^^^^^

    no problems in 1 hook
    ");
}

#[test]
fn bytes_that_are_not_utf_8() {
    let environment = environment();
    let ran =
        check(&environment, b"---\nname: guard\ndescription: caf\xe9\ntrigger: befor_tool\n---\n");
    assert_run!(environment, ran, @"
    exit code: 1
    ----- stdout -----
    error[unknown-trigger]: unknown trigger `befor_tool` (the hook cannot run)
     --> guard/HOOK.md:4:10
      |
    4 | trigger: befor_tool
      |          ^^^^^^^^^^
      |
      = hint: did you mean `before_tool`?

    error[utf-8]: the front matter is not valid UTF-8; replaced the invalid bytes
    --> guard/HOOK.md

    2 problems in 1 hook
    ");
}

/// A caret cannot stand inside a letter.
#[test]
fn wide_letters_where_the_front_matter_should_be() {
    let environment = environment();
    assert_run!(environment, check(&environment, "ééé\n"), @"
    exit code: 1
    ----- stdout -----
    error[unreadable]: no front matter: the first line must be `---` (the hook cannot run)
     --> guard/HOOK.md:1:1
      |
    1 | ééé
      | ^^

    1 problem in 1 hook
    ");
    assert_run!(environment, check(&environment, b"a\xff\n"), @"
    exit code: 1
    ----- stdout -----
    error[unreadable]: no front matter: the first line must be `---` (the hook cannot run)
     --> guard/HOOK.md:1:1
      |
    1 | a�
      | ^^

    1 problem in 1 hook
    ");
}

#[test]
fn a_long_file() {
    let environment = environment();
    let text = "word ".repeat(2000);
    let ran = check(
        &environment,
        format!("---\nname: guard\ndescription: d\ntrigger: before_tool\n---\n{text}"),
    );
    assert_run!(environment, ran, @"
    exit code: 1
    ----- stdout -----
    warning[long]: HOOK.md is about 2514 tokens long; agents read it when its event fires
    --> guard/HOOK.md
     = hint: keep it under 1000; move longer text to a file next to it

    1 problem in 1 hook
    ");
}

#[test]
fn windows_line_ends_keep_their_place() {
    let environment = environment();
    let ran = check(
        &environment,
        "\u{feff}---\r\nname: guard\r\ndescription: d\r\ntrigger: befor_tool\r\n---\r\n",
    );
    assert_run!(environment, ran, @"
    exit code: 1
    ----- stdout -----
    error[unknown-trigger]: unknown trigger `befor_tool` (the hook cannot run)
     --> guard/HOOK.md:4:10
      |
    4 | trigger: befor_tool
      |          ^^^^^^^^^^
      |
      = hint: did you mean `before_tool`?

    1 problem in 1 hook
    ");
}

#[test]
fn nothing_to_run() {
    let environment = environment();
    let folder = environment.user_hook("guard", "trigger: before_tool", "exit 0");
    fs::set_permissions(folder.join("scripts/run"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_run!(environment, environment.run(&["check"]), @"
    exit code: 1
    ----- stdout -----
    error[nothing-to-run]: `scripts/run` is not executable (the hook cannot run)
    --> [ROOT]/home/.config/agents/hooks/guard/HOOK.md
     = hint: run `chmod +x scripts/run` in the hook's folder

    1 problem in 1 hook
    ");
    fs::remove_file(folder.join("scripts/run")).unwrap();
    assert_run!(environment, environment.run(&["check"]), @"
    exit code: 1
    ----- stdout -----
    error[nothing-to-run]: no script to run (the hook cannot run)
    --> [ROOT]/home/.config/agents/hooks/guard/HOOK.md
     = hint: add scripts/run, scripts/run.sh or scripts/run.py

    1 problem in 1 hook
    ");
}

#[test]
fn a_script_that_cannot_be_started() {
    let environment = environment();
    let script = environment.user_hook("guard", "trigger: before_tool", "").join("scripts/run");
    for (text, message) in [
        (
            "#!/bin/sh\r\nexit 2\r\n",
            "`scripts/run` has Windows line endings, so the system looks for an interpreter named `/bin/sh\\r`",
        ),
        (
            "#!/usr/bin/env no-such-program\n",
            "its interpreter `no-such-program` is not on the PATH",
        ),
        ("", "`scripts/run` is empty"),
    ] {
        write(&script, text, 0o755);
        for command in ["check", "list", "doctor"] {
            let ran = environment.run(&[command]);
            assert!(ran.stdout.contains(message), "{command}: {ran:?}");
            assert_eq!(ran.code, i32::from(command != "list"), "{command}: {ran:?}");
            assert!(!ran.stdout.contains("1 hook ready"), "{command}: {ran:?}");
        }
    }
}

#[test]
fn a_hook_that_fails_every_time() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "echo broken >&2; exit 1");
    for times in 1..=5 {
        let told = environment.run(&["list"]).stdout.contains("failed in all");
        assert!(!told, "after {times} runs");
        environment.shell("ls");
    }
    for command in ["check", "list", "doctor"] {
        let ran = environment.run(&[command]);
        let words = "its last 5 runs all failed: exit 1: broken";
        assert!(ran.stdout.contains(words), "{command}: {ran:?}");
        assert!(ran.stdout.contains("hint: anyhook log --hook guard --verdict failed"), "{ran:?}");
    }
    // One success, and it is like any other.
    environment.user_hook("guard", "trigger: before_tool", "exit 0");
    environment.shell("ls");
    assert_eq!(environment.run(&["check"]).code, 0);
}

#[test]
fn no_hook_file() {
    let environment = environment();
    fs::create_dir_all(environment.user_hooks().join("empty")).unwrap();
    assert_run!(environment, environment.run(&["check"]), @"
    exit code: 1
    ----- stdout -----
    error[unreadable]: there is no HOOK.md (the hook cannot run)
    --> [ROOT]/home/.config/agents/hooks/empty/HOOK.md
     = hint: create a hook with `anyhook new`

    1 problem in 1 hook
    ");
}

#[test]
fn all_that_are_installed() {
    let environment = environment();
    environment.user_hook("one", "trigger: before_tool", "exit 0");
    environment.user_hook("two", "trigger: before_tol", "exit 0");
    environment.project_hook("three", "trigger: before_tool\npriority: x", "exit 0");
    write(&environment.project().join(".agents/anyhook.toml"), "stop_kap = 3\n", 0o644);
    assert_run!(environment, environment.run(&["check"]));
}

#[test]
fn all_that_are_installed_as_json() {
    let environment = environment();
    environment.user_hook("one", "trigger: before_tool", "exit 0");
    environment.user_hook("two", "trigger: before_tol", "exit 0");
    assert_run!(environment, environment.run(&["check", "--json"]));
}

#[test]
fn nothing_is_installed() {
    let environment = environment();
    assert_run!(environment, environment.run(&["check"]), @"
    exit code: 0
    ----- stdout -----
    no problems in 0 hooks
    ");
}

#[test]
fn by_name_file_folder_and_folder_of_hooks() {
    let environment = environment();
    let folder = environment.user_hook("one", "trigger: before_tool", "exit 0");
    environment.user_hook("two", "trigger: before_tool", "exit 0");
    let folder = folder.to_str().unwrap();
    let hooks = environment.user_hooks();
    for (path, hooks) in [
        ("one", "1 hook"),
        (folder, "1 hook"),
        (&format!("{folder}/HOOK.md"), "1 hook"),
        (&format!("{folder}/."), "1 hook"),
        (&format!("{folder}/scripts/.."), "1 hook"),
        (hooks.to_str().unwrap(), "2 hooks"),
    ] {
        let ran = environment.run(&["check", path]);
        assert_eq!(ran.stdout, format!("no problems in {hooks}\n"), "{path}");
    }
}

#[test]
fn neither_a_hook_nor_a_folder() {
    let environment = environment();
    assert_run!(environment, environment.run(&["check", "nowhere"]), @"
    exit code: 65
    ----- stderr -----
    error: `nowhere` is neither an installed hook nor a hook's folder
    hint: `anyhook list` shows installed hooks
    ");
}

#[test]
fn the_examples_have_no_problems() {
    let environment = environment();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hooks");
    let ran = environment.run(&["check", examples]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["check", "--help"]));
}

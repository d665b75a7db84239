//! `anyhook new`.

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::require;
use std::fs;

use crate::environment;

#[test]
fn a_hook_of_the_user() {
    let environment = environment();
    let ran = environment.run(&["new", "my-hook", "--trigger", "before_tool"]);
    assert_run!(environment, ran, @"
    exit code: 0
    ----- stdout -----
    created ~/.config/agents/hooks/my-hook
      edit    ~/.config/agents/hooks/my-hook/scripts/run
      check   anyhook check my-hook
      test    anyhook test my-hook
    in shadow mode; to enforce it: anyhook promote my-hook
    ");
    let folder = environment.user_hooks().join("my-hook");
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    insta::assert_snapshot!(text("HOOK.md"), @"
    ---
    name: my-hook
    description: TODO describe in one sentence what my-hook does
    trigger: before_tool
    mode: shadow
    timeout: 5000
    ---

    # my-hook

    Reads the event as JSON on standard input.

    - Exit 0: continue.
    - Exit 2: block, with the reason on standard error; the tool does not run, and the model sees the reason.
    ");
    insta::assert_snapshot!(text("scripts/run"), @r#"
    #!/bin/sh
    # The event arrives as one line of JSON.
    event=$(cat)

    case "$event" in
    *'block me'*)
    	echo "TODO: explain why this is blocked" >&2
    	exit 2
    	;;
    esac
    exit 0
    "#);
    insta::assert_snapshot!(text("tests/everyday.json"), @r#"
    {
      "description": "an everyday event",
      "event": {
        "event_type": "before_tool",
        "tool_name": "Shell",
        "tool_input": {
          "command": "echo hello"
        }
      },
      "expect": {
        "decision": "none"
      }
    }
    "#);
}

#[test]
fn a_hook_of_the_project() {
    let environment = environment();
    let ran = environment.run(&["new", "my-hook", "--trigger", "pre-agent-turn-stop", "--project"]);
    assert_run!(environment, ran, @"
    exit code: 0
    ----- stdout -----
    created ~/project/.agents/hooks/my-hook
      edit    ~/project/.agents/hooks/my-hook/scripts/run
      check   anyhook check my-hook
      test    anyhook test my-hook
      trust   anyhook trust my-hook
    in shadow mode; to enforce it: anyhook promote my-hook
    ");
    let hook_file = environment.project_hooks().join("my-hook/HOOK.md");
    insta::assert_snapshot!(fs::read_to_string(hook_file).unwrap(), @"
    ---
    name: my-hook
    description: TODO describe in one sentence what my-hook does
    trigger: pre-agent-turn-stop
    mode: shadow
    timeout: 5000
    ---

    # my-hook

    Reads the event as JSON on standard input.

    - Exit 0: continue.
    - Exit 2: block, with the reason on standard error; the agent keeps working, with the reason as feedback.
    ");
}

/// In every language, for every kind of event: no findings, and its cases pass.
#[test]
fn every_language_passes_check_and_test() {
    let environment = environment();
    for language in ["sh", "bash", "py", "js"] {
        for trigger in ["before_tool", "pre-agent-turn", "session_end"] {
            let name = format!("{language}-{}", trigger.replace('_', "-"));
            let ran = environment.run(&["new", &name, "--trigger", trigger, "--lang", language]);
            assert_eq!(ran.code, 0, "{ran:?}");
        }
    }
    let check = environment.run(&["check"]);
    assert!(check.code == 0 && check.stdout.ends_with("no problems in 12 hooks\n"), "{check:?}");
    assert_eq!(check.stdout.matches("note[placeholder]").count(), 24, "{check:?}");
    let test = environment.run(&["test"]);
    assert_eq!(test.code, 0, "{}", test.stdout);
    assert!(test.stdout.contains("\n24 passed, 0 failed in "), "{}", test.stdout);
}

#[test]
fn every_language_can_block() {
    for language in ["sh", "bash", "py", "js"] {
        let environment = environment();
        for trigger in ["before_tool", "before_agent"] {
            let name = format!("my-{}", trigger.replace('_', "-"));
            let ran = environment.run(&["new", &name, "--trigger", trigger, "--lang", language]);
            assert_eq!(ran.code, 0, "{ran:?}");
        }
        // Nobody is blocked by a hook that is not written yet.
        assert_eq!(environment.shell("please block me").stdout, "{}\n", "{language}");
        for name in ["my-before-tool", "my-before-agent"] {
            assert_eq!(environment.run(&["promote", name]).code, 0, "{language}");
        }
        let blocked = environment.shell("please block me");
        assert_eq!(blocked.code, 2, "{language}: {blocked:?}");
        assert_eq!(blocked.json()["reason"], "TODO: explain why this is blocked", "{language}");
        assert_eq!(environment.shell("ls").code, 0, "{language}");
        let prompt = serde_json::json!({"event_type": "before_agent", "prompt": "block me"});
        assert_eq!(environment.event(&prompt).code, 2, "{language}");
    }
}

/// A tool call without a command, or with one that is no text, makes no new hook fail.
#[test]
fn other_tools_do_not_make_it_fail() {
    let environment = environment();
    for language in ["sh", "bash", "py", "js"] {
        let name = format!("my-{language}");
        environment.run(&["new", &name, "--trigger", "before_tool", "--lang", language]);
    }
    for input in ["{}", r#"{"command": ["a", 1]}"#, r#"{"command": null}"#, r#"{"path": "x"}"#] {
        let ran = environment.run(&["run", "before_tool", "--tool", "Read", "--input", input]);
        assert!(!ran.stdout.contains("failed"), "{input}: {}", ran.stdout);
    }
}

#[test]
fn a_matcher_is_quoted() {
    let environment = environment();
    let pattern = r#"it's "\.py$" # : {"#;
    let ran = environment.run(&[
        "new",
        "my-hook",
        "--trigger",
        "before_tool",
        "--tool",
        "Shell|Write",
        "--pattern",
        r#"it's "\.py$" # : \{"#,
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let hook_file = fs::read_to_string(environment.user_hooks().join("my-hook/HOOK.md")).unwrap();
    assert!(hook_file.contains(r#"  pattern: 'it''s "\.py$" # : \{'"#), "{hook_file}");
    assert_eq!(environment.run(&["check"]).code, 0);
    // The everyday event of its case does not match, and the case says so.
    let test = environment.run(&["test"]);
    assert_eq!(test.code, 0, "{pattern}: {}", test.stdout);
}

#[test]
fn names_of_any_script() {
    let environment = environment();
    let ran = environment.run(&["new", "拦截", "--trigger", "before_tool"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(environment.run(&["test", "拦截"]).code, 0);
}

#[test]
fn names_that_are_none() {
    let environment = environment();
    for name in ["My-Hook", "a--b", "-a", "a b", "../up", "", "a/b", "."] {
        let ran = environment.run(&["new", "--trigger", "before_tool", "--", name]);
        assert_eq!(ran.code, 64, "{name}: {ran:?}");
        assert!(ran.stderr.contains("hint: "), "{name}: {ran:?}");
    }
    let ran = environment.run(&["new", "My-Hook", "--trigger", "before_tool"]);
    assert_run!(environment, ran, @"
    exit code: 64
    ----- stderr -----
    error: the name `My-Hook` may only contain lowercase letters, digits and hyphens
    hint: use lowercase letters, digits and single hyphens (my-hook)
    ");
}

#[test]
fn an_unknown_trigger() {
    let environment = environment();
    assert_run!(environment, environment.run(&["new", "my-hook", "--trigger", "before_tol"]), @"
    exit code: 64
    ----- stderr -----
    error: unknown trigger `before_tol`
    hint: did you mean `before_tool`?
    ");
    assert_run!(environment, environment.run(&["new", "my-hook", "--trigger", "PostToolUze"]), @"
    exit code: 64
    ----- stderr -----
    error: unknown trigger `PostToolUze`
    hint: did you mean `PostToolUse`?
    ");
    assert_run!(environment, environment.run(&["new", "my-hook", "--trigger", "xyzzy"]), @"
    exit code: 64
    ----- stderr -----
    error: unknown trigger `xyzzy`
    hint: events: session_start, session_end, before_agent, after_agent, before_stop, after_stop, before_tool, after_tool, after_tool_failure, subagent_start, subagent_stop, pre_compact, post_compact, notification, permission_request
    ");
}

#[test]
fn no_trigger() {
    let environment = environment();
    assert_run!(environment, environment.run(&["new", "my-hook"]), @"
    exit code: 64
    ----- stderr -----
    error: the following required arguments were not provided:
      --trigger <E>

    Usage: anyhook new --trigger <E> <NAME>
    hint: anyhook new --help
    ");
}

#[test]
fn an_unknown_language() {
    let environment = environment();
    let ran = environment.run(&["new", "my-hook", "--trigger", "before_tool", "--lang", "perl"]);
    assert_run!(environment, ran, @"
    exit code: 64
    ----- stderr -----
    error: invalid value 'perl' for '--lang <LANG>'
      [possible values: sh, bash, py, js]
    hint: anyhook new --help
    ");
}

#[test]
fn a_regular_expression_that_is_none() {
    let environment = environment();
    let ran = environment.run(&["new", "my-hook", "--trigger", "before_tool", "--pattern", "a("]);
    assert_run!(environment, ran, @"
    exit code: 64
    ----- stderr -----
    error: `pattern` is not a regular expression: unclosed group
    hint: use the syntax of the Rust `regex` crate: no look-around, no back-references
    ");
    assert!(!environment.user_hooks().exists());
}

#[test]
fn a_matcher_where_it_does_not_count() {
    let environment = environment();
    let ran = environment.run(&["new", "my-hook", "--trigger", "before_stop", "--tool", "Shell"]);
    assert_run!(environment, ran, @"
    exit code: 64
    ----- stderr -----
    error: --tool and --pattern only apply to tool events, and `before_stop` is not one
    hint: omit them, or use a tool event such as before_tool
    ");
}

#[test]
fn already_there() {
    let environment = environment();
    environment.user_hook("my-hook", "trigger: before_tool", "exit 0");
    let ran = environment.run(&["new", "my-hook", "--trigger", "before_tool"]);
    assert_run!(environment, ran, @"
    exit code: 1
    ----- stderr -----
    error: `[ROOT]/home/.config/agents/hooks/my-hook` already exists
    hint: choose another name, or `anyhook remove my-hook` first
    ");
}

#[test]
fn two_levels_at_once() {
    let environment = environment();
    let ran =
        environment.run(&["new", "my-hook", "--trigger", "before_tool", "--user", "--project"]);
    assert_run!(environment, ran, @"
    exit code: 64
    ----- stderr -----
    error: the argument '--user' cannot be used with '--project'

    Usage: anyhook new --trigger <E> --user <NAME>
    hint: anyhook new --help
    ");
}

#[test]
fn no_home() {
    require!(MachineNeed::Users);
    let environment = environment();
    let command = environment.command_without_home(&["new", "my-hook", "--trigger", "before_tool"]);
    assert_run!(environment, anyhook_testkit::run(command, b""), @"
    exit code: 1
    ----- stderr -----
    error: there is no user level: `HOME` is not set
    hint: set HOME, or use --project
    ");
}

#[test]
fn a_folder_that_cannot_be_made() {
    let environment = environment();
    anyhook_testkit::write(&environment.home().join(".config"), "a file", 0o644);
    let ran = environment.run(&["new", "my-hook", "--trigger", "before_tool"]);
    assert_run!(environment, ran, @"
    exit code: 1
    ----- stderr -----
    error: cannot access `[ROOT]/home/.config/agents/hooks/my-hook`: Not a directory
    hint: check the folder's permissions and free disk space
    ");
}

/// Several events, with commas or an option each; each once.
#[test]
fn several_triggers() {
    let environment = environment();
    let made = |name: &str, triggers: &[&str]| {
        let ran = environment.run(&[&["new", name], triggers].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let file = environment.user_hooks().join(name).join("HOOK.md");
        let text = fs::read_to_string(file).unwrap();
        let tested = environment.run(&["test", name]);
        assert_eq!(tested.code, 0, "{tested:?}");
        assert_eq!(environment.run(&["check", name]).code, 0, "{text}");
        text.lines().find(|line| line.starts_with("trigger: ")).unwrap().to_owned()
    };
    let wanted = "trigger: [before_tool, after_tool]";
    assert_eq!(made("a", &["--trigger", "before_tool,after_tool"]), wanted);
    let twice = ["--trigger", "before_tool", "--trigger", "after_tool, pre-tool-call"];
    assert_eq!(made("b", &twice), wanted);
    assert_eq!(made("c", &["--trigger", "before_stop"]), "trigger: before_stop");
    assert_run!(environment, environment.run(&["new", "d", "--trigger", "before_tool,befor_stop"]), @"
    exit code: 64
    ----- stderr -----
    error: unknown trigger `befor_stop`
    hint: did you mean `before_stop`?
    ");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["new", "--help"]));
}

//! What holds for every command.

use std::process::Stdio;

use anyhook_testkit::run;

use crate::environment;

/// Every command of this version.
pub const COMMANDS: [&str; 42] = [
    "demo",
    "hook",
    "serve",
    "run",
    "explain",
    "list",
    "check",
    "new",
    "test",
    "prompt",
    "add",
    "remove",
    "packs",
    "guard",
    "trust",
    "untrust",
    "reload",
    "install",
    "uninstall",
    "undo",
    "hosts",
    "doctor",
    "log",
    "mcp",
    "verify",
    "stats",
    "top",
    "watch",
    "agent",
    "decision",
    "emit",
    "runbook",
    "workflow",
    "context7",
    "review",
    "pipeline",
    "daemon",
    "replay",
    "promote",
    "schema",
    "completions",
    "help",
];

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["--help"]));
}

#[test]
fn every_command_has_help_with_an_example() {
    let environment = environment();
    for command in COMMANDS {
        let ran = environment.run(&[command, "--help"]);
        assert_eq!(ran.code, 0, "{command}");
        assert!(ran.stdout.contains("Example: ") && ran.stderr.is_empty(), "{command}: {ran:?}");
        assert!(
            ran.stdout.contains(&format!("Usage: anyhook {command}")),
            "{command}: {}",
            ran.stdout
        );
    }
}

#[test]
fn version() {
    let environment = environment();
    let ran = environment.run(&["--version"]);
    assert_eq!(ran.stdout, format!("anyhook {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn no_command_lists_them_all() {
    let environment = environment();
    let ran = environment.run(&[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let brief = environment.run(&["-h"]);
    assert_eq!(ran.stdout, brief.stdout);
    // One that is missing below a command is still wrong usage.
    let ran = environment.run(&["daemon"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (64, ""));
}

#[test]
fn help_of_a_command_by_name() {
    let environment = environment();
    for words in [&[][..], &["run"], &["pipeline"], &["pipeline", "run"], &["help"]] {
        let asked = environment.run(&[&["help"], words].concat());
        let option = environment.run(&[words, &["--help"]].concat());
        assert_eq!((asked.code, asked.stderr.as_str()), (0, ""), "{words:?}");
        assert_eq!(asked.stdout, option.stdout, "{words:?}");
    }
    assert_run!(environment, environment.run(&["help", "pipelne"]), @"
    exit code: 64
    ----- stderr -----
    error: there is no command `pipelne`
    hint: did you mean `pipeline`?
    ");
}

#[test]
fn an_unknown_command_is_wrong_usage() {
    let environment = environment();
    assert_run!(environment, environment.run(&["lst"]), @"
    exit code: 64
    ----- stderr -----
    error: there is no command `lst`
    hint: did you mean `list`?
    ");
    assert_run!(environment, environment.run(&["xyzzy"]), @"
    exit code: 64
    ----- stderr -----
    error: there is no command `xyzzy`
    hint: anyhook --help
    ");
    assert_run!(environment, environment.run(&["daemon", "strt"]), @"
    exit code: 64
    ----- stderr -----
    error: there is no command `strt`
    hint: did you mean `start`?
    ");
}

/// A command appears with the step that names it: no stubs.
#[test]
fn commands_of_later_versions_are_unknown() {
    let environment = environment();
    for command in ["disable", "enable", "import"] {
        let ran = environment.run(&[command]);
        assert_eq!(ran.code, 64, "{command}: {ran:?}");
    }
}

#[test]
fn an_unknown_flag_is_wrong_usage() {
    let environment = environment();
    for command in COMMANDS {
        let ran = environment.run(&[command, "--no-such-flag"]);
        assert_eq!(ran.code, 64, "{command}: {ran:?}");
        assert!(ran.stdout.is_empty(), "{command}: {ran:?}");
    }
}

#[test]
fn colours_come_only_when_asked_for() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool\ntimeout: x", "exit 0");
    for command in ["list", "check"] {
        assert!(!environment.run(&[command]).stdout.contains('\x1b'), "{command}");
        let mut always = environment.command(&[command, "--color", "always"]);
        always.env_remove("NO_COLOR");
        assert!(run(always, b"").stdout.contains('\x1b'), "{command}");
        let never = environment.run(&["--color", "never", command]);
        assert!(!never.stdout.contains('\x1b'), "{command}");
    }
    let ran = environment.run(&["--color", "always", "check", "nowhere"]);
    assert!(ran.stderr.contains('\x1b'), "{ran:?}");
}

#[test]
fn colours_are_forced_by_a_variable_unless_another_one_forbids_them() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "exit 0");
    let has_colours = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = environment.command(arguments);
        command.env_remove("NO_COLOR").envs(variables.iter().copied());
        run(command, b"").stdout.contains('\x1b')
    };
    assert!(has_colours(&[("FORCE_COLOR", "1")], &["list"]));
    assert!(has_colours(&[("FORCE_COLOR", "1")], &["--help"]));
    assert!(has_colours(&[("FORCE_COLOR", "true")], &["list"]));
    assert!(!has_colours(&[("FORCE_COLOR", "0")], &["list"]));
    assert!(!has_colours(&[("FORCE_COLOR", "1"), ("NO_COLOR", "1")], &["list"]));
    assert!(!has_colours(&[("FORCE_COLOR", "1")], &["list", "--color", "never"]));
}

/// Whoever read our output has seen enough, as `head` does.
#[test]
fn a_closed_pipe_is_no_error() {
    let environment = environment();
    for number in 0..200 {
        environment.user_hook(&format!("hook-{number}"), "trigger: before_tool", "exit 0");
    }
    environment.shell("ls");
    for arguments in [
        &["list"][..],
        &["list", "--json"],
        &["list", "--all"],
        &["check"],
        &["prompt"],
        &["log"],
        &["log", "--json"],
        &["stats"],
        &["stats", "--json"],
        &["stats", "--prometheus"],
        &["schema", "record"],
        &["completions", "bash"],
        &["explain", "before_tool"],
        &["--help"],
    ] {
        let mut command = environment.command(arguments);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output =
            command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

/// The exit code is the answer; that nobody reads the words changes nothing.
#[test]
fn a_closed_pipe_changes_no_exit_code() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "echo no >&2; exit 2");
    environment.user_hook(
        "talker",
        "trigger: before_agent",
        r#"printf '{"additional_context": "%s"}' "$(head -c 100000 /dev/zero | tr '\0' x)""#,
    );
    environment.user_hook("last", "trigger: before_agent\npriority: 1", "echo no >&2; exit 2");
    environment.user_hook("wrong", "trigger: never", "exit 0");
    for (arguments, code) in [
        (&["run", "before_tool"][..], 2),
        (&["run", "before_tool", "--json"], 2),
        (&["run", "before_agent"], 2),
        (&["run", "before_agent", "--json"], 2),
        (&["check"], 1),
        (&["check", "--json"], 1),
        (&["hook", "agent-hooks"], 65),
    ] {
        let mut command = environment.command(arguments);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output =
            command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    }
}

/// A hook's words must not steer the terminal of whoever reads them.
#[test]
fn control_characters_do_not_reach_the_terminal() {
    let environment = environment();
    environment.user_hook(
        "rude",
        "trigger: before_tool",
        r"printf '\033[2Jgone\007\r\n' >&2; exit 2",
    );
    environment.run(&["run", "before_tool"]);
    environment.user_hook("title", "metadata: {a: b}\ntrigger: \"\x1b]0;x\x07\"", "exit 0");
    for arguments in
        [&["run", "before_tool"][..], &["log"], &["list"], &["check"], &["explain", "before_tool"]]
    {
        let ran = environment.run(arguments);
        for stream in [&ran.stdout, &ran.stderr] {
            assert!(!stream.contains(['\x1b', '\x07', '\r']), "{arguments:?}: {stream:?}");
        }
    }
}

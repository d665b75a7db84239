//! `anyhook completions`.

use std::process::Command;

use anyhook_testkit::needs::Need;
use anyhook_testkit::{require, run, write};

use super::general::COMMANDS;
use crate::environment;

#[test]
fn every_shell_learns_every_command() {
    let environment = environment();
    for shell in ["bash", "zsh", "fish"] {
        let ran = environment.run(&["completions", shell]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{shell}");
        for command in COMMANDS {
            assert!(ran.stdout.contains(command), "{shell}: {command}");
        }
        assert!(!ran.stdout.contains("__detached"), "{shell}");
    }
}

/// Has a shell read its completions without running them.
fn reads(shell: &str, flag: &str) {
    let environment = environment();
    let path = environment.root().join(shell);
    write(&path, environment.run(&["completions", shell]).stdout, 0o644);
    let mut command = Command::new(shell);
    command.arg(flag).arg(&path);
    let ran = run(command, b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{shell}");
}

#[test]
fn bash_can_read_them() {
    require!(Need::Program("bash"));
    reads("bash", "-n");
}

#[test]
fn zsh_can_read_them() {
    require!(Need::Program("zsh"));
    reads("zsh", "-n");
}

#[test]
fn fish_can_read_them() {
    require!(Need::Program("fish"));
    reads("fish", "--no-execute");
}

#[test]
fn bash_completes_a_command() {
    let environment = environment();
    let path = environment.root().join("completions.bash");
    write(&path, environment.run(&["completions", "bash"]).stdout, 0o644);
    let mut bash = Command::new("bash");
    bash.arg("--norc").arg("-c").arg(format!(
        ". '{}'; COMP_WORDS=(anyhook exp); COMP_CWORD=1; _anyhook anyhook exp anyhook; echo \"${{COMPREPLY[*]}}\"",
        path.display()
    ));
    assert_eq!(run(bash, b"").stdout, "explain\n");
}

#[test]
fn help() {
    let environment = environment();
    assert_run!(environment, environment.run(&["completions", "--help"]));
}

#[test]
fn an_unknown_shell() {
    let environment = environment();
    assert_run!(environment, environment.run(&["completions", "tcsh"]), @"
    exit code: 64
    ----- stderr -----
    error: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]
    hint: anyhook completions --help
    ");
}

#[test]
fn no_shell() {
    let environment = environment();
    assert_run!(environment, environment.run(&["completions"]), @"
    exit code: 64
    ----- stderr -----
    error: the following required arguments were not provided:
      <SHELL>

    Usage: anyhook completions <SHELL>
    hint: anyhook completions --help
    ");
}

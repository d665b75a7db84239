//! `anyhook completions`.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{TestEnv, require, run, write};

use super::general::COMMANDS;
use crate::environment;

/// A home with a hook and a record, and the program on the `PATH`.
fn with_something_to_complete() -> TestEnv {
    let environment = environment();
    environment.user_hook("no-force-push", "trigger: before_tool", "exit 0");
    environment.shell("ls");
    let bin = environment.home().join("bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(crate::program(), bin.join("anyhook")).unwrap();
    environment
}

/// Has a shell complete the end of a line by its script, which prints what is offered, a line each.
fn completed(environment: &TestEnv, shell: &str, arguments: &[&str], script: &str) -> Vec<String> {
    let mut command = Command::new(shell);
    command.current_dir(environment.project()).env_clear();
    for (name, value) in environment.command(&[]).get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let path = format!("{}:/usr/bin:/bin", environment.home().join("bin").display());
    command.args(arguments).arg(script).env("PATH", path);
    let ran = run(command, b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.stdout.lines().map(str::to_owned).collect()
}

fn by_bash(environment: &TestEnv, line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let last = words.len() - 1;
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        ". <(anyhook completions bash); COMP_WORDS=({}); COMP_CWORD={last}; \
         _clap_complete_anyhook anyhook '{}' '{}'; printf '%s\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words[last],
        words[last - 1]
    );
    completed(environment, "bash", &["--norc", "-c"], &script)
}

fn by_zsh(environment: &TestEnv, line: &str) -> Vec<String> {
    let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
    // What zsh does with the candidates takes a terminal: they are printed instead.
    let script = format!(
        "compdef() {{ :; }}; _describe() {{ print -l -- ${{(P)@[-1]}}; }}; \
         eval \"$(anyhook completions zsh)\"; words=({}); CURRENT={}; \
         _clap_dynamic_completer_anyhook",
        words.join(" "),
        words.len()
    );
    let lines = completed(environment, "zsh", &["-f", "-c"], &script);
    lines.iter().map(|line| line.split(':').next().unwrap_or(line).to_owned()).collect()
}

fn by_fish(environment: &TestEnv, line: &str) -> Vec<String> {
    let script = format!("anyhook completions fish | source; complete -C '{line}'");
    let lines = completed(environment, "fish", &["--no-config", "-c"], &script);
    lines.iter().map(|line| line.split('\t').next().unwrap_or(line).to_owned()).collect()
}

/// Commands, options and values, those of the machine among them.
fn completes(by: fn(&TestEnv, &str) -> Vec<String>) {
    let environment = with_something_to_complete();
    let offered = |line: &str| by(&environment, line);
    assert_eq!(offered("anyhook exp"), ["explain"]);
    assert_eq!(offered("anyhook install --dr"), ["--dry-run"]);
    assert_eq!(offered("anyhook install cla"), ["claude-code"]);
    assert_eq!(offered("anyhook run before_t"), ["before_tool"]);
    assert_eq!(offered("anyhook test no-"), ["no-force-push"]);
    let journal = environment.journal();
    let id = journal.last().unwrap()["id"].as_str().unwrap();
    assert_eq!(offered(&format!("anyhook log show {}", &id[..6])), [id]);
    let commands = offered("anyhook ");
    for command in COMMANDS {
        assert!(commands.iter().any(|offered| offered == command), "{command}: {commands:?}");
    }
    assert!(!commands.iter().any(|offered| offered.starts_with("__")), "{commands:?}");
    assert!(!environment.state().join("daemon").exists(), "the daemon was not started");
}

#[test]
fn bash_completes() {
    require!(MachineNeed::Program("bash"));
    completes(by_bash);
}

#[test]
fn zsh_completes() {
    require!(MachineNeed::Program("zsh"));
    completes(by_zsh);
}

#[test]
fn fish_completes() {
    require!(MachineNeed::Program("fish"));
    completes(by_fish);
}

/// The variable of the scripts alone makes no command a completion: a guard's own call still answers.
#[test]
fn a_variable_alone_changes_nothing() {
    let environment = environment();
    let mut command = environment.command(&["schema", "no-such"]);
    command.env("ANYHOOK_COMPLETE", "bash");
    assert_eq!(run(command, b"").code, 64);
    let plain = environment.run(&["--"]);
    for shell in ["bash", "fish", "no-such"] {
        let mut command = environment.command(&["--"]);
        command.env("ANYHOOK_COMPLETE", shell);
        let run = run(command, b"");
        assert_eq!((run.code, &run.stdout), (plain.code, &plain.stdout), "{shell}");
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
    require!(MachineNeed::Program("bash"));
    reads("bash", "-n");
}

#[test]
fn zsh_can_read_them() {
    require!(MachineNeed::Program("zsh"));
    reads("zsh", "-n");
}

#[test]
fn fish_can_read_them() {
    require!(MachineNeed::Program("fish"));
    reads("fish", "--no-execute");
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

//! Long output on a terminal goes through a pager.

use std::fs;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{CommandRun, TestEnv, require};

use super::trust::at_a_terminal_with;
use crate::environment;

/// Runs a command at a terminal with a pager that notes what it was given; returns both.
fn paged(environment: &TestEnv, arguments: &[&str], typed: &str) -> (CommandRun, Option<String>) {
    let note = environment.root().join("paged");
    let _ = fs::remove_file(&note);
    let pager = format!("cat >> '{}'", note.display());
    let variables = [("TERM", "xterm"), ("ANYHOOK_PAGER", &*pager), ("PAGER", "false")];
    let ran = at_a_terminal_with(environment, &variables, arguments, typed);
    (ran, fs::read_to_string(note).ok())
}

#[test]
fn the_journal_and_a_record_of_it() {
    require!(MachineNeed::Terminals);
    let environment = environment();
    environment.shell("echo paged");
    let (ran, note) = paged(&environment, &["log"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert!(note.unwrap().contains("echo paged"));
    let id = environment.journal()[0]["id"].as_str().unwrap().to_owned();
    let (ran, note) = paged(&environment, &["log", "show", &id], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert!(note.unwrap().contains(&id));
    for arguments in [&["log", "--no-pager"][..], &["log", "show", &id, "--no-pager"]] {
        let (ran, note) = paged(&environment, arguments, "");
        assert!(note.is_none() && ran.stdout.contains("echo paged"), "{arguments:?}: {ran:?}");
    }
    // Nothing is paged where nobody looks.
    let mut command = environment.command(&["log"]);
    command.env("TERM", "xterm").env("ANYHOOK_PAGER", "false");
    assert!(anyhook_testkit::run(command, b"").stdout.contains("echo paged"));
}

/// Each hook is read before it is asked about; who ends the pager early is asked all the same.
#[test]
fn what_is_to_be_trusted() {
    require!(MachineNeed::Terminals);
    let environment = environment();
    for name in ["one", "two"] {
        environment.project_hook(name, "trigger: before_tool", "exit 0 # as shown");
    }
    let (ran, note) = paged(&environment, &["trust"], "y\nn\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(note.unwrap().matches("exit 0 # as shown").count(), 2);
    assert!(!ran.stdout.contains("as shown"), "{ran:?}");
    assert!(ran.stdout.contains("Trust one? [y/N] "), "{ran:?}");
    assert!(ran.stdout.ends_with("not trusted: two\n\n1 trusted, 1 not trusted\n"), "{ran:?}");
    let variables = [("TERM", "xterm"), ("PAGER", "exit 0")];
    let ran = at_a_terminal_with(&environment, &variables, &["trust", "--all"], "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(environment.run(&["trust"]).stdout.starts_with("nothing to trust"));
}

#[test]
fn a_diff() {
    require!(MachineNeed::Terminals);
    let environment = environment();
    let (ran, note) = paged(&environment, &["install", "opencode", "--diff"], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert!(note.unwrap().contains("const BINARY"));
    let (ran, note) = paged(&environment, &["uninstall", "opencode"], "");
    assert!(note.is_none() && ran.stdout.starts_with("OpenCode  uninstalled"), "{ran:?}");
}

/// A pager that is not there, or that a person does not want, leaves the output where it was.
#[test]
fn no_pager() {
    require!(MachineNeed::Terminals);
    let environment = environment();
    environment.shell("echo paged");
    for (name, value) in
        [("ANYHOOK_PAGER", ""), ("PAGER", "cat"), ("PAGER", "/no/such/pager"), ("TERM", "dumb")]
    {
        let ran =
            at_a_terminal_with(&environment, &[("TERM", "xterm"), (name, value)], &["log"], "");
        assert!(ran.stdout.contains("echo paged"), "{name}={value}: {ran:?}");
    }
}

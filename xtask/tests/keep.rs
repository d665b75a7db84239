//! `xtask keep`: what outlives the program that started it is named and ended.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Runs a shell below `xtask keep`; returns how it ended, and the report.
fn keep(folder: &Path, script: &str) -> (ExitStatus, String) {
    keep_within("600", folder, script)
}

fn keep_within(seconds: &str, folder: &Path, script: &str) -> (ExitStatus, String) {
    let report = folder.join("report");
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("keep").arg(&report).args([seconds, "sh", "-c", script]).current_dir(folder);
    let status = command.status().unwrap();
    (status, fs::read_to_string(report).unwrap())
}

fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid).exists()
}

#[test]
fn a_program_that_leaves_nothing_behind_ends_as_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let (status, report) = keep(folder.path(), "sh -c 'exit 3' & wait; exit 7");
    assert_eq!((status.code(), report.as_str()), (Some(7), ""));
    let (status, report) = keep(folder.path(), "kill -KILL $$");
    assert_eq!((status.code(), report.as_str()), (Some(137), ""));
}

#[test]
fn an_orphan_is_named_and_ended_wherever_it_hides() {
    let folder = tempfile::tempdir().unwrap();
    // One in a session of its own without variables, deaf to polite signals; one with a child.
    let script = "\
        setsid env -i sh -c 'trap \"\" TERM HUP INT; echo $$ > first; while [ ! -e go ]; do sleep 0.05; done' &\n\
        (sh -c 'echo $$ > second; sleep 1000; :' &)\n\
        while ! [ -s first ] || ! [ -s second ]; do sleep 0.01; done\n";
    let (status, report) = keep(folder.path(), script);
    assert_eq!(status.code(), Some(0));
    for name in ["first", "second"] {
        let pid = fs::read_to_string(folder.path().join(name)).unwrap();
        let pid = pid.trim();
        assert!(report.contains(&format!("pid {pid}: sh -c ")), "{pid}: {report}");
        assert!(!is_alive(pid), "{pid}: {report}");
    }
    let loops = report.lines().filter(|line| line.contains("while [ ! -e go ]")).count();
    assert_eq!(loops, 1, "{report}");
    assert!(report.lines().any(|line| line.ends_with(": sleep 1000")), "{report}");
}

#[test]
fn what_ends_by_itself_a_moment_later_is_not_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (_, report) = keep(folder.path(), "(sleep 0.3; touch done) &");
    assert_eq!(report, "");
    assert!(folder.path().join("done").exists());
}

#[test]
fn a_dead_orphan_is_gone_while_the_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    // The orphan ends at once; were it not reaped, the shell would wait in vain.
    let script = "(sh -c 'echo $$ > pid' &)\n\
        while ! [ -s pid ]; do sleep 0.01; done\n\
        for n in $(seq 1000); do kill -0 $(cat pid) 2>/dev/null || exit 0; sleep 0.01; done; exit 1";
    let (status, report) = keep(folder.path(), script);
    assert_eq!((status.code(), report.as_str()), (Some(0), ""));
}

#[test]
fn a_program_that_takes_too_long_is_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo $$ > first; sh -c 'echo $$ > second; sleep 1000; :' & wait";
    let (status, report) = keep_within("1", folder.path(), script);
    assert_eq!(status.code(), Some(124));
    assert!(report.lines().any(|line| line.ends_with(": sleep 1000")), "{report}");
    for name in ["first", "second"] {
        let pid = fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(!is_alive(pid.trim()), "{pid}: {report}");
    }
}

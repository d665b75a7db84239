//! The small program without `anyhook` beside it: it answers, and says what it cannot do.

use anyhook_testkit::{TestEnv, programs};

use crate::{SMALL, environment};

fn alone() -> TestEnv {
    environment(&programs::alone(SMALL))
}

#[test]
fn it_answers() {
    let environment = alone();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher:\n  pattern: mkfs",
        "echo \"not here${ANYHOOK_BIN+, $ANYHOOK_BIN}\" >&2; exit 2",
    );
    let denied = environment.shell("mkfs /dev/sda");
    assert_eq!((denied.code, denied.json()["decision"].as_str()), (2, Some("deny")), "{denied:?}");
    assert!(denied.stderr.contains("not here"), "{denied:?}");
    assert!(!denied.stderr.contains("not here,"), "a script is named no program: {denied:?}");
    let passed = environment.shell("ls");
    assert_eq!((passed.code, passed.stdout.trim()), (0, "{}"), "{passed:?}");
    assert_eq!(environment.journal().len(), 2);
}

#[test]
fn a_hook_that_runs_aside_has_nobody_to_look_after_it() {
    let environment = alone();
    environment.user_hook("aside", "trigger: before_tool\nasync: true", "exit 0");
    let ran = environment.shell("ls");
    assert_eq!((ran.code, ran.stdout.trim()), (0, "{}"), "{ran:?}");
    let record = environment.journal().remove(0);
    let failure = record["runs"][0]["failure"].to_string();
    assert!(failure.contains("no anyhook program to supervise it"), "{record}");
}

#[test]
fn what_is_not_its_business_needs_the_other_program() {
    let environment = alone();
    for arguments in [&["--version"][..], &["hook", "nobody"], &["list"], &[]] {
        let ran = environment.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (64, ""), "{arguments:?}: {ran:?}");
        assert_eq!(
            ran.stderr,
            "error: anyhook-hook only answers agents (`hook HOST`) and delegates everything else, \
             but there is no `anyhook` next to it\n\
             hint: reinstall anyhook: both programs must be in the same folder\n"
        );
    }
    assert_eq!(environment.journal().len(), 0);
}

#[test]
fn an_event_that_is_too_large_is_refused() {
    let environment = alone();
    let payload = vec![b' '; 64 * 1024 * 1024 + 1];
    let ran = environment.run_with_input(&["hook", "agent-hooks"], payload);
    assert_eq!(ran.code, 65, "{ran:?}");
    assert!(ran.stderr.contains("is larger than 64 MiB"), "{ran:?}");
}

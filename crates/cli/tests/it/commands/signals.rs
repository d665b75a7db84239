//! Signals to `run` and `test`: the running hook ends first, then we do, by the same signal.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhook_testkit::{CommandRun, TestEnv, begin, finish, wait_until, write};
use serde_json::json;

use crate::environment;

const SIGNALS: [(&str, i32); 3] = [("HUP", 1), ("INT", 2), ("TERM", 15)];

/// Makes a hook that tells its process and does not end by itself.
fn with_slow(matter: &str) -> TestEnv {
    let environment = environment();
    environment.user_hook(
        "slow",
        &format!("trigger: before_tool\n{matter}"),
        "echo $$ > \"$ANYHOOK_HOOK_DIR/new\"; mv \"$ANYHOOK_HOOK_DIR/new\" \"$ANYHOOK_HOOK_DIR/pid\"; exec sleep 600",
    );
    environment
}

/// Starts a command and sends it a signal while the hook runs, which is gone afterwards.
fn interrupt(environment: &TestEnv, arguments: &[&str], signal: &str) -> CommandRun {
    let child = begin(environment.command(arguments), b"");
    let pid = environment.user_hooks().join("slow/pid");
    wait_until("the hook runs", || pid.exists());
    let killed =
        Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
    assert!(killed.unwrap().success());
    let ran = finish(child);
    let pid = fs::read_to_string(pid).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "{signal}: {pid}");
    ran
}

#[test]
fn run_is_journaled_and_ends_by_the_signal() {
    for (signal, number) in SIGNALS {
        let environment = with_slow("");
        let ran = interrupt(&environment, &["run", "before_tool", "--tool", "Shell"], signal);
        assert_eq!(ran.code, 128 + number, "{ran:?}");
        let outcome = format!("interrupted: anyhook received signal {number}");
        assert!(ran.stdout.contains(&outcome), "{ran:?}");
        let runs = &environment.journal()[0]["runs"];
        assert_eq!(runs[0]["outcome"], json!({"interrupted": number}), "{runs}");
    }
}

#[test]
fn run_blocks_where_a_guard_was_interrupted() {
    let environment = with_slow("on_failure: block");
    let ran = interrupt(&environment, &["run", "before_tool", "--tool", "Shell"], "TERM");
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn test_ends_at_once_by_the_signal() {
    for (signal, number) in SIGNALS {
        let environment = with_slow("");
        for case in ["a", "b"] {
            let path = environment.user_hooks().join(format!("slow/tests/{case}.json"));
            let event =
                json!({"event_type": "before_tool", "tool_name": "Shell", "tool_input": {}});
            let case = json!({"event": event, "expect": {"decision": "none"}});
            write(&path, case.to_string(), 0o644);
        }
        let ran = interrupt(&environment, &["test", "slow"], signal);
        assert_eq!(ran.code, 128 + number, "{ran:?}");
        assert!(ran.stdout.contains("slow  a") && !ran.stdout.contains("slow  b"), "{ran:?}");
    }
}

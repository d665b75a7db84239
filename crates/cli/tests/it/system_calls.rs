//! What an event costs in calls to the system, seen by `strace`.

use std::fs;
use std::process::Command;

use anyhook_testkit::needs::MachineNeed;
use anyhook_testkit::{TestEnv, require};
use serde_json::json;

use crate::environment;

/// Returns what our process asked of the system to answer a shell command, line by line: not what
/// its hooks did.
fn calls(environment: &TestEnv, command: &str) -> Vec<String> {
    // The first event of a session leaves files behind that the others find.
    environment.shell(command);
    let report = environment.root().join("calls");
    let original = environment.command(&["hook", "agent-hooks"]);
    let mut traced = Command::new("strace");
    traced
        .args(["-f", "-o"])
        .arg(&report)
        .arg(original.get_program())
        .args(original.get_args())
        .current_dir(environment.project())
        .env_clear();
    for (name, value) in original.get_envs() {
        traced.env(name, value.unwrap_or_default());
    }
    let event = json!({
        "event_type": "before_tool", "tool_name": "Shell", "tool_input": {"command": command},
    });
    let ran = anyhook_testkit::run(traced, event.to_string().as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report = fs::read_to_string(report).unwrap();
    let own = report.split_once(' ').unwrap().0;
    let lines = report.lines().filter_map(|line| line.strip_prefix(own)).map(str::to_owned);
    lines.collect()
}

fn count(calls: &[String], wanted: &str) -> usize {
    calls.iter().filter(|call| call.contains(wanted)).count()
}

#[test]
fn where_no_hook_runs_nothing_is_made_ready_for_one() {
    require!(MachineNeed::Program("strace"));
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool\nmatcher:\n  pattern: rm\\s+-r", "exit 2");
    let calls = calls(&environment, "ls");
    for unneeded in ["clone", "fork", "pipe2", "SIGCHLD", "PR_SET_CHILD_SUBREAPER", "cgroup"] {
        assert_eq!(count(&calls, unneeded), 0, "{unneeded}:\n{}", calls.join("\n"));
    }
}

#[test]
fn a_hook_is_started_without_a_copy_of_us_or_a_thread() {
    require!(MachineNeed::Program("strace"));
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool\nmatcher:\n  pattern: rm\\s+-r", "exit 0");
    let calls = calls(&environment, "rm -r x");
    let all = calls.join("\n");
    assert_eq!(count(&calls, "CLONE_VFORK"), 1, "{all}");
    assert_eq!(count(&calls, "CLONE_THREAD") + count(&calls, " fork("), 0, "{all}");
    assert_eq!(count(&calls, "pidfd_open("), 1, "{all}");
    // Neither our children are listed, nor the processors.
    assert_eq!(count(&calls, "/proc/self/task") + count(&calls, "cgroup"), 0, "{all}");
}

//! A signal to anyhook ends the running hook with everything it started, is journaled, and is
//! answered by `on_failure`.

use std::fs;
use std::process::{Command, Stdio};

use anyhook_testkit::{CommandRun, TestEnv, begin, finish, programs, wait_until};
use serde_json::json;

use crate::{SMALL, environment};

const SIGNALS: [(&str, i32); 3] = [("HUP", 1), ("INT", 2), ("TERM", 15)];

/// A hook that starts a child, and one that left its process group; both say when they run.
const SLOW: &str = "cat > /dev/null
sleep 600 &
setsid sh -c 'echo $$ > \"$ANYHOOK_PROJECT_DIR/left\"; exec sleep 600' &
while [ ! -s \"$ANYHOOK_PROJECT_DIR/left\" ]; do sleep 0.01; done
echo \"$$ $! $(cat \"$ANYHOOK_PROJECT_DIR/left\")\" > \"$ANYHOOK_PROJECT_DIR/pids.new\"
mv \"$ANYHOOK_PROJECT_DIR/pids.new\" \"$ANYHOOK_PROJECT_DIR/pids\"
wait";

fn with_slow(matter: &str) -> TestEnv {
    let environment = environment(&programs::alone(SMALL));
    environment.user_hook("slow", &format!("trigger: before_tool\n{matter}"), SLOW);
    environment.user_hook("then", "trigger: before_tool", "touch \"$ANYHOOK_PROJECT_DIR/then\"");
    environment
}

fn send(signal: &str, process: &str) -> bool {
    let mut kill = Command::new("kill");
    kill.args([&format!("-{signal}"), process]).stderr(Stdio::null());
    kill.status().unwrap().success()
}

/// Starts a call, sends it a signal while its hook runs, and returns what came of it; no process of
/// the hook is left then.
fn interrupt(environment: &TestEnv, command: Command, signal: &str) -> CommandRun {
    let event = json!({
        "event_type": "before_tool", "session_id": "s", "cwd": environment.project(),
        "tool_name": "Shell", "tool_input": {"command": "ls"}
    });
    let child = begin(command, event.to_string().as_bytes());
    let pids = environment.project().join("pids");
    wait_until("the hook runs", || pids.exists());
    assert!(send(signal, &child.id().to_string()));
    let ran = finish(child);
    for pid in fs::read_to_string(pids).unwrap().split_ascii_whitespace() {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_gone = stat.is_empty() || stat.contains(") Z ");
        assert!(is_gone, "{signal}: {stat}");
    }
    ran
}

#[test]
fn it_ends_the_hook_and_a_guard_refuses() {
    for (signal, number) in SIGNALS {
        let environment = with_slow("on_failure: block");
        let command = environment.command(&["hook", "agent-hooks", "--deadline-ms", "60000"]);
        let ran = interrupt(&environment, command, signal);
        assert_eq!((ran.code, ran.json()["decision"].as_str()), (2, Some("deny")), "{ran:?}");
        let journal = environment.journal();
        assert_eq!(journal.len(), 1, "{journal:?}");
        assert_eq!(journal[0]["runs"][0]["outcome"], json!({"interrupted": number}));
        assert_eq!(journal[0]["verdict"]["decision"], "deny");
    }
}

#[test]
fn where_failures_pass_the_reply_is_one_the_host_understands() {
    for (signal, number) in SIGNALS {
        let environment = with_slow("");
        let command = environment.command(&["hook", "agent-hooks"]);
        let ran = interrupt(&environment, command, signal);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"), "{ran:?}");
        let runs = &environment.journal()[0]["runs"];
        for index in [0, 1] {
            assert_eq!(runs[index]["outcome"], json!({"interrupted": number}), "{runs}");
        }
        // What would have followed was not started.
        assert!(!environment.project().join("then").exists());
    }
}

/// What was started with `nohup` does not end with its terminal.
#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let environment = environment(&programs::alone(SMALL));
    environment.user_hook(
        "slow",
        "trigger: before_tool",
        "touch \"$ANYHOOK_PROJECT_DIR/pids\"; while [ ! -e \"$ANYHOOK_PROJECT_DIR/go\" ]; do sleep 0.01; done; exit 0",
    );
    let call = environment.command(&["hook", "agent-hooks"]);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(call.get_program());
    shell.args(call.get_args()).env_clear().current_dir(environment.project());
    for (name, value) in call.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let event = json!({"event_type": "before_tool", "tool_name": "Shell", "tool_input": {}});
    let child = begin(shell, event.to_string().as_bytes());
    wait_until("the hook runs", || environment.project().join("pids").exists());
    assert!(send("HUP", &child.id().to_string()));
    fs::write(environment.project().join("go"), "").unwrap();
    let ran = finish(child);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(environment.journal()[0]["runs"][0]["outcome"], json!({"exited": 0}));
}

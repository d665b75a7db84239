//! Running: entries, working directory, input, environment, output, time limits.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhook_testkit::{TestEnv, run, wait_until, write};
use serde_json::{Value, json};

use super::{
    BLOCK, by_way_of, end, is_alive, last_run, left, listed, seen, tool, trust_all, written,
};
use crate::environment;

/// Beyond a time limit, so much is allowed on a busy machine (the promise is 250 ms).
const SLACK: Duration = Duration::from_millis(1500);

/// Makes a hook whose `scripts` folder holds just these files.
fn with_scripts(environment: &TestEnv, files: &[(&str, &str, u32)]) {
    let folder = environment.user_hook("guard", "trigger: before_tool", "exit 0");
    fs::remove_dir_all(folder.join("scripts")).unwrap();
    for (name, text, mode) in files {
        write(&folder.join("scripts").join(name), text, *mode);
    }
}

/// Returns the reason of a block.
fn reason(environment: &TestEnv) -> String {
    let ran = environment.shell("ls");
    assert_eq!(ran.code, 2, "{ran:?}");
    ran.json()["reason"].as_str().unwrap().to_owned()
}

#[test]
fn the_entry_is_run_if_executable_else_run_sh_else_run_py() {
    let environment = environment();
    let run = ("run", "#!/bin/sh\necho run >&2; exit 2", 0o755);
    let shell = ("run.sh", "#!/bin/sh\necho run.sh >&2; exit 2", 0o755);
    let python = ("run.py", "import sys\nsys.stderr.write('run.py'); sys.exit(2)", 0o644);
    with_scripts(&environment, &[run, shell, python]);
    assert_eq!(reason(&environment), "run");
    with_scripts(&environment, &[("run", run.1, 0o644), shell, python]);
    assert_eq!(reason(&environment), "run.sh");
    with_scripts(&environment, &[("run", run.1, 0o644), python]);
    assert_eq!(reason(&environment), "run.py");
    with_scripts(&environment, &[("run", run.1, 0o644)]);
    assert_eq!(listed(&environment, "guard")["usable"], false);
    assert_eq!(environment.shell("ls").code, 0);
    with_scripts(&environment, &[("run.rb", "", 0o755), ("guard", run.1, 0o755)]);
    assert_eq!(listed(&environment, "guard")["usable"], false);
}

#[test]
fn trap_run_sh_without_run_bit_or_shebang_runs_under_bash() {
    let environment = environment();
    let text = "[[ x == x ]] && echo \"bash ${BASH_VERSION:+yes}\" >&2; exit 2";
    for (head, mode) in [("", 0o644), ("", 0o755), ("#!/bin/sh\n", 0o644)] {
        with_scripts(&environment, &[("run.sh", &format!("{head}{text}"), mode)]);
        assert_eq!(reason(&environment), "bash yes", "{head:?} {mode:o}");
    }
}

#[test]
fn trap_run_py_without_run_bit_or_shebang_runs_under_python() {
    let environment = environment();
    let text = "import sys\nprint(f'python {sys.version_info[0]}', file=sys.stderr)\nsys.exit(2)\n";
    for (head, mode) in [("", 0o644), ("", 0o755), ("#!/usr/bin/env python3\n", 0o644)] {
        with_scripts(&environment, &[("run.py", &format!("{head}{text}"), mode)]);
        assert_eq!(reason(&environment), "python 3", "{head:?} {mode:o}");
    }
}

#[test]
fn trap_an_executable_run_without_shebang_runs_under_sh() {
    let environment = environment();
    with_scripts(&environment, &[("run", "echo plain >&2\nexit 2\n", 0o755)]);
    assert_eq!(reason(&environment), "plain");
    with_scripts(&environment, &[("run", "\n", 0o755)]);
    assert_eq!(environment.shell("ls").code, 0);
    assert_eq!(last_run(&environment, "guard")["outcome"], json!({"exited": 0}));
}

#[test]
fn a_binary_is_an_entry_as_well() {
    let environment = environment();
    with_scripts(&environment, &[]);
    let scripts = environment.user_hooks().join("guard/scripts");
    fs::create_dir_all(&scripts).unwrap();
    let program =
        if fs::exists("/usr/bin/false").unwrap() { "/usr/bin/false" } else { "/bin/false" };
    fs::copy(program, scripts.join("run")).unwrap();
    assert_eq!(environment.shell("ls").code, 0);
    assert_eq!(last_run(&environment, "guard")["outcome"], json!({"exited": 1}));
}

#[test]
fn scripts_run_in_the_project_root() {
    let environment = environment();
    let inner = environment.project().join("src/deep");
    fs::create_dir_all(&inner).unwrap();
    environment.user_hook("look", "trigger: before_tool", "pwd > \"$HOME/place.txt\"");
    environment.event(&json!({"event_type": "before_tool", "work_dir": inner}));
    let place = fs::read_to_string(environment.home().join("place.txt")).unwrap();
    assert_eq!(place.trim(), environment.project().to_str().unwrap());
}

#[test]
fn without_a_project_scripts_run_in_the_work_dir_or_its_nearest_ancestor_that_is_there() {
    let environment = environment();
    let folder = environment.home().join("plain/folder");
    fs::create_dir_all(&folder).unwrap();
    environment.user_hook("look", "trigger: before_tool", "pwd > \"$HOME/place.txt\"");
    for work_dir in ["", "gone", "gone/further/down"] {
        let event = json!({"event_type": "before_tool", "work_dir": folder.join(work_dir)});
        assert_eq!(environment.event(&event).code, 0);
        let place = fs::read_to_string(environment.home().join("place.txt")).unwrap();
        assert_eq!(place.trim(), folder.to_str().unwrap(), "{work_dir}");
    }
    write(&folder.join("file"), "", 0o644);
    let event = json!({"event_type": "before_tool", "work_dir": folder.join("file")});
    assert_eq!(environment.event(&event).code, 0);
    assert_eq!(last_run(&environment, "look")["outcome"], json!({"exited": 0}));
    let event = json!({"event_type": "before_tool", "work_dir": "/no/such/folder"});
    environment.event(&event);
    let place = fs::read_to_string(environment.home().join("place.txt")).unwrap();
    assert_eq!(place.trim(), "/");
}

#[test]
fn a_project_root_that_is_gone_gives_way_to_its_nearest_ancestor() {
    let environment = environment();
    environment.user_hook("look", "trigger: before_tool", "pwd > \"$HOME/place.txt\"");
    environment.project_hook("guard", "trigger: before_tool\non_failure: block", "exit 0");
    trust_all(&environment);
    let event = json!({
        "event_type": "before_tool", "session_id": "s", "work_dir": environment.project(),
    });
    assert_eq!(environment.event(&event).code, 0);
    fs::remove_dir_all(environment.project()).unwrap();
    let mut command = environment.command(&["hook", "agent-hooks"]);
    command.current_dir(environment.home());
    let ran = run(command, event.to_string().as_bytes());
    assert_eq!(ran.code, 2, "what was trusted is gone: {ran:?}");
    let place = fs::read_to_string(environment.home().join("place.txt")).unwrap();
    assert_eq!(place.trim(), environment.home().to_str().unwrap());
}

#[test]
fn a_caller_whose_own_folder_is_gone_is_answered() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", BLOCK);
    let script = "mkdir gone && cd gone && rmdir ../gone && exec \"$@\"";
    let command =
        by_way_of(&["sh", "-c", script, "sh"], &environment.command(&["hook", "agent-hooks"]));
    assert_eq!(run(command, br#"{"event_type": "before_tool"}"#).code, 2);
}

#[test]
fn scripts_get_no_arguments() {
    let environment = environment();
    environment.user_hook("look", "trigger: before_tool", "echo \"$#\" > count.txt");
    environment.shell("ls");
    assert_eq!(written(&environment, "count.txt"), "0\n");
    with_scripts(&environment, &[("run.sh", "echo \"$#\" > count-sh.txt", 0o644)]);
    environment.shell("ls");
    assert_eq!(written(&environment, "count-sh.txt"), "0\n");
}

#[test]
fn trap_the_input_is_json_with_spaces_raw_utf_8_a_newline_and_the_end() {
    let environment = environment();
    environment.user_hook("look", "trigger: pre-tool-call", "cat > seen.json");
    let event = format!(
        r#"{{"context":{{"k":"v"}},"turn":3,"tool_use_id":"tool_123","zeta":{{"b":1,"a":[1,2.50,true,null]}},"tool_input":{{"command":"rm -rf /tmp","text":"\u00e9漢\ud83d\ude00\u2028/\t\"\\"}},"work_dir":"{}","tool_name":"Shell","session_id":"sess-abc123","timestamp":"2024-01-15T12:30:00+02:00","event_type":"before_tool"}}"#,
        environment.project().display()
    );
    environment.run_with_input(&["hook", "agent-hooks"], event);
    assert_eq!(
        written(&environment, "seen.json"),
        format!(
            "{{\"event_type\": \"pre-tool-call\", \"timestamp\": \"2024-01-15T10:30:00Z\", \"session_id\": \"sess-abc123\", \"work_dir\": \"{}\", \"tool_name\": \"Shell\", \"tool_input\": {{\"command\": \"rm -rf /tmp\", \"text\": \"é漢😀\u{2028}/\\t\\\"\\\\\"}}, \"tool_use_id\": \"tool_123\", \"files\": null, \"native\": null, \"turn\": 3, \"zeta\": {{\"b\": 1, \"a\": [1, 2.50, true, null]}}, \"context\": {{\"k\": \"v\"}}}}\n",
            environment.project().display()
        )
    );
}

#[test]
fn trap_the_specifications_example_script_blocks_what_it_is_written_for() {
    let environment = environment();
    let script = r#"#!/bin/bash
# Block dangerous commands hook

# Read event data from stdin
event_data=$(cat)

# Extract command from event
tool_input=$(echo "$event_data" | grep -o '"command": "[^"]*"' | head -1 | cut -d'"' -f4)

# Dangerous patterns
dangerous_patterns=("rm -rf /" "mkfs" "dd if=/dev/zero")

for pattern in "${dangerous_patterns[@]}"; do
    if echo "$tool_input" | grep -qE "\b${pattern}\b"; then
        echo "Dangerous command blocked: ${pattern} would destroy the system" >&2
        exit 2
    fi
done

# Command is safe
exit 0
"#;
    environment.user_hook(
        "block-dangerous-commands",
        "trigger: before_tool\nmatcher:\n  tool: Shell\n  pattern: \"rm -rf /|mkfs|dd if=/dev/zero|>:/dev/sda\"\ntimeout: 5000\npriority: 999",
        script,
    );
    let ran = environment.shell("rm -rf /tmp");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(
        ran.json()["reason"],
        "Dangerous command blocked: rm -rf / would destroy the system"
    );
    assert_eq!(environment.shell("mkfs /dev/sda").code, 2);
    assert_eq!(environment.shell("ls -l").code, 0);
}

#[test]
fn the_timestamp_is_rfc_3339_in_utc_also_when_it_is_ours() {
    let environment = environment();
    environment.user_hook(
        "look",
        "trigger: before_agent",
        "cat > seen.json; date -u +%Y-%m-%dT%H > now.txt",
    );
    environment.event(&json!({"event_type": "before_agent"}));
    let stamp = seen(&environment)["timestamp"].as_str().unwrap().to_owned();
    let shape: String =
        stamp.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    assert!(
        ["0000-00-00T00:00:00Z", "0000-00-00T00:00:00.000Z"].contains(&&*shape)
            || shape.starts_with("0000-00-00T00:00:00.") && shape.ends_with('Z'),
        "{stamp}"
    );
    let now = written(&environment, "now.txt");
    assert_eq!(&stamp[..10], &now[..10]);
}

#[test]
fn scripts_get_the_parents_environment_and_the_documented_variables() {
    let environment = environment();
    environment.user_hook("look", "trigger: [pre-tool-call, before_agent]", "env > env.txt");
    let read = || -> HashMap<String, String> {
        written(&environment, "env.txt")
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    };
    let send = |event: &Value| {
        let mut command = environment.command(&["hook", "agent-hooks"]);
        command.env("OF_THE_PARENT", "yes");
        assert_eq!(run(command, event.to_string().as_bytes()).code, 0);
    };
    let inner = environment.project().join("src");
    fs::create_dir(&inner).unwrap();
    send(&json!({
        "event_type": "before_tool", "tool_name": "Shell", "session_id": "sess-1", "work_dir": inner,
    }));
    let found = read();
    let project = environment.project().to_str().unwrap().to_owned();
    let folder = environment.user_hooks().join("look").to_str().unwrap().to_owned();
    let binary = fs::canonicalize(environment.command(&[]).get_program()).unwrap();
    for (name, value) in [
        ("OF_THE_PARENT", "yes"),
        ("HOME", environment.home().to_str().unwrap()),
        ("ANYHOOK_EVENT", "pre-tool-call"),
        ("ANYHOOK_HOOK_NAME", "look"),
        ("ANYHOOK_HOOK_DIR", &folder),
        ("ANYHOOK_PROJECT_DIR", &project),
        ("ANYHOOK_SESSION_ID", "sess-1"),
        ("ANYHOOK_HOST", "agent-hooks"),
        ("ANYHOOK_TOOL", "Shell"),
        ("ANYHOOK_BIN", binary.to_str().unwrap()),
        ("CLAUDE_PROJECT_DIR", &project),
    ] {
        assert_eq!(found.get(name).map(String::as_str), Some(value), "{name}");
    }
    send(&json!({"event_type": "before_agent"}));
    assert_eq!(read().get("ANYHOOK_EVENT").map(String::as_str), Some("before_agent"));
    assert_eq!(read().get("ANYHOOK_TOOL"), None, "on tool events only");
    let ran = environment.run(&["run", "before_agent", "--host", "codex"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(read().get("ANYHOOK_HOST").map(String::as_str), Some("codex"));
}

#[test]
fn a_tool_name_left_by_a_caller_is_not_handed_on_at_other_events() {
    let environment = environment();
    environment.user_hook("look", "trigger: before_agent", "env > env.txt");
    let mut command = environment.command(&["hook", "agent-hooks"]);
    // As in a script of a tool event that calls us.
    command.env("ANYHOOK_TOOL", "Shell");
    run(command, br#"{"event_type": "before_agent"}"#);
    assert!(!written(&environment, "env.txt").contains("ANYHOOK_TOOL"));
}

#[test]
fn a_script_can_call_the_binary_it_is_told() {
    let environment = environment();
    environment.user_hook("look", "trigger: before_tool", "\"$ANYHOOK_BIN\" --version >&2; exit 2");
    assert!(reason(&environment).starts_with("anyhook "), "{}", reason(&environment));
}

#[test]
fn a_script_that_does_not_read_five_megabytes_of_input_is_fine() {
    let environment = environment();
    let input = json!({"content": "x".repeat(5_000_000)});
    for script in ["exit 2", "exec <&-; exit 2", "head -c 10 > /dev/null; exit 2"] {
        environment.user_hook("guard", "trigger: before_tool", script);
        let ran = tool(&environment, "WriteFile", &input);
        assert_eq!(ran.code, 2, "{script}: {}", ran.stderr);
    }
    environment.user_hook("guard", "trigger: before_tool", "wc -c > count.txt");
    tool(&environment, "WriteFile", &input);
    assert!(written(&environment, "count.txt").trim().parse::<usize>().unwrap() > 5_000_000);
}

#[test]
fn a_script_may_write_tens_of_megabytes_before_and_after_its_answer() {
    let environment = environment();
    let flood = "yes 'a line of noise' | head -c 30000000";
    let answer = "echo '{\"decision\": \"deny\", \"reason\": \"found\"}'";
    for script in [
        format!("{flood}; echo; {answer}"),
        format!("{answer}; {flood}"),
        format!("{flood} >&2; {answer}; {flood} >&2"),
    ] {
        environment.user_hook("guard", "trigger: before_tool", &script);
        assert_eq!(reason(&environment), "found", "{script}");
    }
    environment.user_hook("guard", "trigger: before_tool", &format!("{flood} >&2; exit 2"));
    assert!(reason(&environment).starts_with("a line of noise"));
    environment.user_hook("guard", "trigger: before_tool", "head -c 30000000 /dev/zero");
    assert_eq!(environment.shell("ls").stdout, "{}\n");
}

#[test]
fn a_script_may_write_bytes_that_are_not_utf_8() {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool",
        r#"printf 'log \377\376\n{"decision": "deny", "reason": "a\377b"}\n\377\n'"#,
    );
    assert_eq!(reason(&environment), "a\u{fffd}b");
    environment.user_hook(
        "guard",
        "trigger: before_tool",
        "head -c 100000 /dev/urandom >&2; exit 1",
    );
    assert_eq!(environment.shell("ls").code, 0);
}

#[test]
fn a_script_that_takes_too_long_is_a_failure() {
    let environment = environment();
    environment.user_hook("slow", "trigger: before_tool\ntimeout: 300", "sleep 30; touch late");
    let began = Instant::now();
    let ran = environment.shell("ls");
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert!(began.elapsed() < Duration::from_millis(300) + SLACK, "{:?}", began.elapsed());
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{}\n"));
    assert_eq!(last_run(&environment, "slow")["outcome"], json!({"timed_out": 300}));
    assert!(last_run(&environment, "slow")["failure"].as_str().unwrap().contains("timed out"));
}

#[test]
fn trap_a_timeout_ends_every_descendant() {
    let environment = environment();
    environment.user_hook(
        "slow",
        "trigger: before_tool\ntimeout: 1000",
        r#"
stubborn='trap "" TERM HUP INT; echo $$ > "$0"; while :; do sleep 1; done'
sh -c 'echo $$ > child.pid; exec sleep 60' &
sh -c "$stubborn" stubborn.pid &
setsid sh -c "$stubborn" session.pid &
(setsid sh -c "$stubborn" daemon.pid > /dev/null 2>&1 < /dev/null &)
env -i PATH="$PATH" sh -c "$stubborn" bare.pid &
env -i PATH="$PATH" setsid sh -c "$stubborn" bare-session.pid &
(env -i PATH="$PATH" setsid sh -c "(sh -c '$stubborn' bare-daemon.pid &)" > /dev/null 2>&1 < /dev/null &)
trap '' TERM
echo $$ > own.pid
while :; do sleep 1; done
"#,
    );
    let began = Instant::now();
    assert_eq!(environment.shell("ls").code, 0);
    assert!(began.elapsed() < Duration::from_secs(1) + SLACK, "{:?}", began.elapsed());
    for name in
        ["own", "child", "stubborn", "session", "daemon", "bare", "bare-session", "bare-daemon"]
    {
        let file = format!("{name}.pid");
        assert!(left(&environment, &file), "{file} was not written in time");
        wait_until(&file, || !is_alive(&environment, &file));
    }
}

#[test]
fn a_timeout_ends_what_a_nested_call_of_ours_started() {
    let environment = environment();
    environment.user_hook(
        "inner",
        "trigger: notification",
        "trap '' TERM HUP; echo $$ > inner.pid; while :; do sleep 1; done",
    );
    environment.user_hook(
        "outer",
        "trigger: before_tool\ntimeout: 1000",
        "\"$ANYHOOK_BIN\" run notification",
    );
    assert_eq!(environment.shell("ls").code, 0);
    assert!(left(&environment, "inner.pid"), "not written in time");
    let ended = std::panic::catch_unwind(|| {
        wait_until("inner", || !is_alive(&environment, "inner.pid"));
    });
    if ended.is_err() {
        end(&environment, "inner.pid");
    }
    assert!(ended.is_ok(), "the inner hook outlived the outer one's time");
}

#[test]
fn a_script_that_ends_on_term_gets_the_chance_to_tidy_up() {
    let environment = environment();
    environment.user_hook(
        "slow",
        "trigger: before_tool\ntimeout: 500",
        "trap 'touch tidied; exit 0' TERM; echo > ready; while :; do sleep 0.02; done",
    );
    environment.shell("ls");
    assert!(left(&environment, "ready"), "not ready in time");
    assert!(left(&environment, "tidied"));
    assert_eq!(last_run(&environment, "slow")["outcome"], json!({"timed_out": 500}));
}

#[test]
fn trap_the_answer_comes_in_time_even_when_a_descendant_holds_the_pipes() {
    let environment = environment();
    environment.user_hook(
        "slow",
        "trigger: before_tool\ntimeout: 300",
        "(trap '' TERM; setsid sleep 60) & yes & sleep 60",
    );
    environment.user_hook("next", "trigger: before_tool\npriority: 1", "touch next");
    let began = Instant::now();
    assert_eq!(environment.shell("ls").code, 0);
    assert!(began.elapsed() < Duration::from_millis(300) + SLACK, "{:?}", began.elapsed());
    assert!(left(&environment, "next"));
}

#[test]
fn a_script_that_leaves_a_background_child_is_done_when_it_exits() {
    let environment = environment();
    environment.user_hook(
        "leave",
        "trigger: before_tool",
        r#"(echo $$ > /dev/null; while [ ! -e go ]; do sleep 0.02; done; echo '{"decision": "deny"}'; touch after) &
echo $! > background.pid
echo '{"additional_context": "early"}'"#,
    );
    let began = Instant::now();
    let ran = environment.shell("ls");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!((ran.code, ran.json()["additional_context"].as_str()), (0, Some("early")));
    assert_eq!(ran.json().get("decision"), None);
    assert!(is_alive(&environment, "background.pid"), "it keeps running");
    write(&environment.project().join("go"), "", 0o644);
    wait_until("the child's end", || !is_alive(&environment, "background.pid"));
    assert_eq!(last_run(&environment, "leave")["outcome"], json!({"leaked": 0}));
}

#[test]
fn trap_a_timeout_does_not_touch_other_hooks_background_processes() {
    let environment = environment();
    let stay = "trap '' PIPE; while [ ! -e go ]; do sleep 0.05; done";
    environment.user_hook(
        "first",
        "trigger: before_tool\npriority: 900",
        &format!(
            "sh -c '{}' & echo $! > plain.pid\nsetsid env -i PATH=\"$PATH\" sh -c 'echo $$ > bare.pid; {}' & while [ ! -s bare.pid ]; do sleep 0.01; done",
            stay.replace('\'', "\"\""),
            stay.replace('\'', "\"\""),
        ),
    );
    environment.user_hook(
        "aside",
        "trigger: before_tool\npriority: 800\nasync: true",
        "echo $$ > aside.pid; while [ ! -e go ]; do sleep 0.05; done; touch aside-done",
    );
    environment.user_hook("slow", "trigger: before_tool\ntimeout: 500", "sleep 60");
    assert_eq!(environment.shell("ls").code, 0);
    assert_eq!(last_run(&environment, "slow")["outcome"], json!({"timed_out": 500}));
    wait_until("the async hook", || {
        environment.project().join("aside.pid").metadata().is_ok_and(|file| file.len() > 0)
    });
    for file in ["plain.pid", "bare.pid", "aside.pid"] {
        assert!(is_alive(&environment, file), "{file}");
    }
    write(&environment.project().join("go"), "", 0o644);
    wait_until("the async hook's end", || left(&environment, "aside-done"));
}

#[test]
fn what_a_script_wrote_before_it_exits_is_read_to_the_end() {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool",
        "yes noise | head -c 60000; echo; printf '%s' '{\"decision\": \"deny\", \"reason\": \"end\"}'",
    );
    for _ in 0..20 {
        assert_eq!(reason(&environment), "end");
    }
}

#[test]
fn a_script_without_a_usable_interpreter_is_a_failure() {
    let environment = environment();
    environment.user_hook("guard", "trigger: before_tool", "#!/no/such/interpreter\n");
    assert_eq!(environment.shell("ls").code, 0);
    let failure = last_run(&environment, "guard")["failure"].clone();
    assert!(failure.as_str().unwrap().contains("not started"), "{failure}");
    environment.user_hook("guard", "trigger: before_tool\non_failure: block", "#!/no/such\n");
    assert_eq!(environment.shell("ls").code, 2);
}

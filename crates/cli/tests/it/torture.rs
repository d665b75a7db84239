//! Two hundred dispatches at once, with hooks that do everything a hook should not.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhook_testkit::{CommandRun, TestEnv, run, wait_until};
use serde_json::{Value, json};

use crate::environment;

const DISPATCHES: usize = 200;
const SESSIONS: usize = 10;
/// The variable that marks every process of one test.
const MARK: &str = "ANYHOOK_TORTURE";

/// What a command may ask for; each has a hook that does it.
const HORRORS: [(&str, &str, &str); 9] = [
    ("crash", "", "kill -SEGV $$"),
    ("kill", "", "kill -9 $$"),
    ("hang", "timeout: 300", "trap '' TERM; while :; do sleep 1000; done"),
    ("flood", "", "head -c 50000000 /dev/zero"),
    (
        "fork",
        "timeout: 300",
        "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do (trap '' TERM; exec sleep 1000) & done; wait",
    ),
    (
        "leave",
        "timeout: 300",
        "setsid sh -c 'trap \"\" TERM HUP; (setsid sleep 1000 &) & sleep 1000' & sleep 1000",
    ),
    ("orphan", "", "(sleep 1 &) & exit 0"),
    ("garbage", "", "head -c 65536 /dev/urandom; echo; echo '{\"decision\": '; echo '}{]['"),
    ("deaf", "", "exec <&-; exec >&-; exec 2>&-; exit 3"),
];

/// Installs the horrors, a guard that comes after all of them, and one hook that runs aside.
fn house_of_horrors() -> TestEnv {
    let environment = environment();
    for (name, matter, script) in HORRORS {
        environment.user_hook(
            name,
            &format!(
                "trigger: before_tool\npriority: 900\n{matter}\nmatcher:\n  pattern: \\b{name}\\b"
            ),
            script,
        );
    }
    environment.user_hook(
        "guard",
        "trigger: before_tool\npriority: 10\non_failure: block\ntimeout: 60000",
        "case $(cat) in *'rm -rf /'*) echo 'not the whole disk' >&2; exit 2;; esac",
    );
    environment.user_hook(
        "aside",
        "trigger: before_tool\npriority: 950\nasync: true\nmatcher:\n  pattern: aside",
        "cat > /dev/null; exit 0",
    );
    environment.user_hook(
        "tell",
        "trigger: session_end",
        "cat > \"$HOME/told-$ANYHOOK_SESSION_ID\"",
    );
    environment
}

/// The command of one dispatch: one or two horrors, and every third asks for the worst.
fn command_line(number: usize) -> String {
    let mut words = vec![HORRORS[number % HORRORS.len()].0];
    if number.is_multiple_of(4) {
        words.push(HORRORS[(number / 4) % HORRORS.len()].0);
    }
    if number.is_multiple_of(5) {
        words.push("aside");
    }
    if number.is_multiple_of(3) {
        words.push("rm -rf /");
    }
    words.join(" ")
}

fn session(number: usize) -> String {
    format!("session-{}", number % SESSIONS)
}

fn dispatch(environment: &TestEnv, mark: &str, event: &Value) -> CommandRun {
    let original = environment.command(&["hook", "agent-hooks"]);
    // Tests beside this one have time limits to keep.
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).arg(original.get_program()).args(original.get_args());
    command.current_dir(environment.project()).env_clear().env(MARK, mark);
    for (name, value) in original.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    run(command, event.to_string().as_bytes())
}

/// Returns the command lines of the processes that carry the mark.
fn marked(mark: &str) -> Vec<String> {
    let entry = format!("{MARK}={mark}");
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|process| {
            fs::read(process.path().join("environ")).is_ok_and(|variables| {
                variables.split(|byte| *byte == 0).any(|one| one == entry.as_bytes())
            })
        })
        .map(|process| {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            format!(
                "{} {}",
                process.file_name().to_string_lossy(),
                String::from_utf8_lossy(&line).replace('\0', " ")
            )
        })
        .collect()
}

/// Ends what a failed test would leave behind, by the mark alone.
struct CleanUp<'mark>(&'mark str);

impl Drop for CleanUp<'_> {
    fn drop(&mut self) {
        for process in marked(self.0) {
            let id = process.split(' ').next().unwrap_or_default().to_owned();
            let _ = Command::new("kill").args(["-9", &id]).status();
        }
    }
}

#[test]
fn two_hundred_dispatches_at_once() {
    let environment = house_of_horrors();
    let mark = environment.root().to_str().unwrap().to_owned();
    let _clean_up = CleanUp(&mark);
    let asked = dispatch_all(&environment, &mark);
    wait_until("the hooks that ran aside", || environment.journal().len() >= DISPATCHES + asked);
    assert_journal(&environment, asked);
    assert_counters(&environment, &mark);
}

/// Nothing of the hooks' processes outlives its time limit, however busy the machine is.
#[test]
fn two_hundred_dispatches_leave_nothing_behind() {
    let environment = house_of_horrors();
    let mark = environment.root().to_str().unwrap().to_owned();
    let _clean_up = CleanUp(&mark);
    dispatch_all(&environment, &mark);
    wait_until(&format!("the end of {:?}", marked(&mark)), || marked(&mark).is_empty());
}

/// Sends all events at once and looks at each reply; returns how many asked for a run aside.
fn dispatch_all(environment: &TestEnv, mark: &str) -> usize {
    let asked = (0..DISPATCHES).filter(|number| command_line(*number).contains("aside")).count();
    std::thread::scope(|scope| {
        for number in 0..DISPATCHES {
            scope.spawn(move || {
                let command = command_line(number);
                let event = json!({
                    "event_type": "before_tool", "session_id": session(number),
                    "tool_name": "Shell", "tool_input": {"command": command},
                });
                let ran = dispatch(environment, mark, &event);
                let bad = command.contains("rm -rf /");
                assert_eq!(ran.code, if bad { 2 } else { 0 }, "{command}: {ran:?}");
                let reply = ran.json();
                if bad {
                    assert_eq!(reply["decision"], "deny", "{command}: {ran:?}");
                    assert_eq!(reply["reason"], "not the whole disk", "{command}: {ran:?}");
                } else {
                    // Later sessions are told of hooks that have failed every time by then.
                    let told = reply["additional_context"].as_str().unwrap_or_default();
                    let is_told = told.contains("off, failing every time");
                    assert!(reply == json!({}) || is_told, "{command}: {ran:?}");
                    assert!(reply.get("decision").is_none(), "{command}: {ran:?}");
                }
            });
        }
    });
    asked
}

/// The journal has every dispatch once, whole, and with what each horror did.
fn assert_journal(environment: &TestEnv, asked: usize) {
    let journal = environment.journal();
    let (aside, dispatches): (Vec<&Value>, Vec<&Value>) =
        journal.iter().partition(|record| !record["of"].is_null());
    assert_eq!((dispatches.len(), aside.len()), (DISPATCHES, asked));
    let mut expected: BTreeMap<String, usize> = BTreeMap::new();
    (0..DISPATCHES).for_each(|number| *expected.entry(command_line(number)).or_default() += 1);
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for record in &dispatches {
        let about = record["about"].as_str().unwrap();
        *found.entry(about.to_owned()).or_default() += 1;
        for run in record["runs"].as_array().unwrap() {
            let name = run["hook"].as_str().unwrap();
            let failed = run["failure"].is_string();
            // The guard decides; what leaves a child behind or prints a flood has no opinion.
            let quiet = ["guard", "aside", "flood", "orphan"].contains(&name);
            assert_eq!(failed, !quiet, "{about}: {run}");
        }
        assert_eq!(record["verdict"]["decision"] == "deny", about.contains("rm -rf /"), "{record}");
    }
    assert_eq!(found, expected);
    for record in aside {
        assert_eq!(record["runs"][0]["outcome"]["exited"], 0, "{record}");
        assert!(dispatches.iter().any(|dispatch| dispatch["id"] == record["of"]), "{record}");
    }
    let log = environment.run(&["log", "-n", "0"]);
    assert_eq!((log.stdout.lines().count(), log.stderr.as_str()), (DISPATCHES + asked, ""));
}

/// Every session counted each of its steps, though many came at once.
fn assert_counters(environment: &TestEnv, mark: &str) {
    for number in 0..SESSIONS {
        let id = session(number);
        let ran =
            dispatch(environment, mark, &json!({"event_type": "session_end", "session_id": id}));
        assert_eq!(ran.code, 0, "{ran:?}");
        let told = fs::read(environment.home().join(format!("told-{id}"))).unwrap();
        let told: Value = serde_json::from_slice(&told).unwrap();
        assert_eq!(told["total_steps"], DISPATCHES / SESSIONS, "{told}");
    }
}

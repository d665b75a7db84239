//! Who may come in, and what whoever comes in can do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhook_testkit::{TestEnv, run, wait_until, write};
use serde_json::json;

use super::say;
use crate::environment;

const OTHER: u32 = 54_321;

fn started() -> TestEnv {
    let environment = environment();
    assert_eq!(environment.run(&["daemon", "start"]).code, 0);
    environment
}

fn works(environment: &TestEnv) -> bool {
    environment.run(&["agent", "list"]).code == 0
}

#[test]
fn only_the_user_gets_to_the_socket() {
    let environment = started();
    let mode = |path: &str| {
        fs::metadata(environment.state().join(path)).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(
        (mode("daemon"), mode("daemon/socket"), mode("daemon/store")),
        (0o700, 0o600, 0o700)
    );
    assert!(say(&environment, Some(OTHER), "").contains("PermissionError"));
}

#[test]
fn another_user_is_turned_away_even_where_rights_let_it_in() {
    let environment = started();
    let mut folder = environment.state().join("daemon/socket");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    while folder.pop() && folder.starts_with(environment.root()) {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let code = "
try:
    frame({'protocol': 1, 'anyhook': 'x'})
    frame('agents')
    print('got', receive())
except (BrokenPipeError, ConnectionResetError):
    print('got None')
";
    assert_eq!(say(&environment, Some(OTHER), code), "got None\n");
    let ours = say(&environment, None, code);
    assert!(ours.starts_with("got {'protocol': 1"), "{ours}");
    let log = environment.run(&["daemon", "logs"]).stdout;
    assert!(log.contains("rejected a connection from another user's process"), "{log}");
}

#[test]
fn an_agent_that_speaks_to_it_itself_is_refused_and_journaled() {
    let environment = started();
    let code = "
import ctypes, os
ctypes.CDLL(None).prctl(15, b'codex', 0, 0, 0)
frame({'protocol': 1, 'anyhook': 'x'})
receive()
frame({'resolve': {'id': '7k2m9x4q', 'choice': 'allow', 'by': 'ann'}})
print(os.getpid(), receive()['refused']['message'])
";
    let said = say(&environment, None, code);
    let (pid, message) = said.trim_end().split_once(' ').unwrap();
    assert_eq!(
        message,
        format!("only a person may do this, and this runs under Codex (process {pid})")
    );
    wait_until("the refusal in the journal", || !environment.all_records().is_empty());
    let record = environment.all_records().remove(0);
    assert_eq!(record["event"], "command:decision_resolve");
    assert_eq!(record["payload"]["outcome"], "refused");
    assert_eq!(record["payload"]["process"]["pid"].to_string(), pid);
    let program = record["payload"]["process"]["program"].as_str().unwrap();
    assert!(program.contains("python"), "{program}");
}

#[test]
fn an_agent_that_speaks_to_it_itself_runs_and_types_nothing() {
    let environment = started();
    let runbook = environment.home().join(".config/agents/runbooks/own.hcl");
    let text = "pipeline \"own\" {\n  step \"a\" {\n    run = \"touch ran\"\n  }\n}\n";
    write(&runbook, text, 0o644);
    // What a person trusted is no pass for another plan under its name.
    assert_eq!(environment.run(&["trust", &runbook.to_string_lossy()]).code, 0);
    let plan = environment.run(&["pipeline", "run", "own", "--dry-run"]);
    assert_eq!(plan.code, 0, "{plan:?}");
    let file = environment.root().join("plan.json");
    write(&file, &plan.stdout, 0o644);
    let code = format!(
        "
import ctypes
ctypes.CDLL(None).prctl(15, b'codex', 0, 0, 0)
frame({{'protocol': 1, 'anyhook': 'x'}})
receive()
plan = json.load(open('{}'))
order = {{'id': '7k2m9x4q', 'environment': {{}}, 'by': 'ann'}}
for request in [
    {{'run_pipeline': {{'plan': plan, 'environment': {{}}, 'by': 'ann'}}}},
    {{'resume_pipeline': order}},
    {{'send': {{'agent': '7k2m', 'text': 'x', 'by': 'ann'}}}},
    {{'thaw': {{'agent': '7k2m', 'by': 'ann'}}}},
]:
    frame(request)
    print(receive()['refused']['code'])
",
        file.display()
    );
    assert_eq!(say(&environment, None, &code), "not_a_person\n".repeat(4));
    let refused = || {
        let records = environment.all_records();
        let events = records.iter().map(|record| record["event"].as_str().unwrap().to_owned());
        events.filter(|event| event != "command:trust").collect::<Vec<_>>()
    };
    wait_until("the refusals in the journal", || refused().len() == 4);
    assert_eq!(
        refused(),
        [
            "command:pipeline_run",
            "command:pipeline_resume",
            "command:agent_send",
            "command:agent_thaw"
        ]
    );
    let all = environment.run(&["pipeline", "list", "--all", "--json"]).json();
    assert_eq!(all.as_array().unwrap().len(), 0, "nothing has begun");
}

#[test]
fn a_daemon_of_somebody_else_is_not_believed() {
    let environment = environment();
    let folder = environment.state().join("daemon");
    fs::create_dir_all(&folder).unwrap();
    for path in folder.ancestors().take_while(|path| path.starts_with(environment.root())) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let code = "
import os, socket, sys
os.setgid(54321); os.setuid(54321)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
listener.listen()
print('ready', flush=True)
connection, _ = listener.accept()
import time; time.sleep(1000)
";
    let mut server = std::process::Command::new("python3")
        .args(["-c", code])
        .arg(folder.join("socket"))
        .spawn()
        .unwrap();
    wait_until("the stranger to listen", || folder.join("socket").exists());
    wait_until("the stranger to be asked", || {
        let ran = environment.run(&["agent", "list"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        ran.stderr.contains("belongs to another user's process")
    });
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn what_is_no_request_ends_nothing_but_itself() {
    let environment = started();
    let process = environment.daemon();
    for code in [
        "connection.sendall(b'GET / HTTP/1.1\\r\\n\\r\\n')",
        "connection.sendall(b'\\xff' * 100000)",
        "connection.sendall(b'\\x00\\x00\\x00\\x05{}')",
        "frame({'protocol': 1, 'anyhook': 'x'}); connection.sendall(b'\\x7f\\xff\\xff\\xff')",
        "frame({'protocol': 'one'})",
        "frame([])",
        "connection.close()",
    ] {
        say(&environment, None, code);
    }
    let answers = say(
        &environment,
        None,
        "
frame({'protocol': 1, 'anyhook': 'x'})
receive()
for request in ['nonsense', {'resolve': {'id': 7}}, {'ask': {}}, None, {'follow': {'after': -1}}]:
    frame(request)
    print(receive()['refused']['code'])
frame('agents')
print(receive())
",
    );
    assert_eq!(answers, "bad_request\n".repeat(5) + "{'agents': []}\n");
    let others = "
import time
open_ones = []
for _ in range(300):
    one = socket.socket(socket.AF_UNIX)
    one.connect(sys.argv[1])
    open_ones.append(one)
frame({'protocol': 1, 'anyhook': 'x'})
print(receive()['protocol'])
";
    assert_eq!(say(&environment, None, others), "1\n", "those who say nothing stop nobody");
    assert!(works(&environment));
    assert_eq!(environment.daemon(), process);
}

#[test]
fn another_version_is_told_so() {
    let environment = started();
    let code = "
frame({'protocol': 99, 'anyhook': '9.9.9'})
print(receive()['protocol'], receive())
";
    assert_eq!(say(&environment, None, code), "1 None\n");
}

#[test]
fn it_listens_nowhere_else() {
    let environment = started();
    let process = environment.daemon().unwrap();
    let sockets: Vec<String> = fs::read_dir(format!("/proc/{process}/fd"))
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .filter_map(|link| {
            let text = link.to_string_lossy().into_owned();
            Some(text.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        })
        .collect();
    assert!(!sockets.is_empty());
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let inode = line.split_whitespace().nth(9).unwrap();
            assert!(!sockets.iter().any(|socket| socket == inode), "{table}: {line}");
        }
    }
}

#[test]
fn a_hostile_event_runs_nothing() {
    let environment = environment();
    let trap = environment.root().join("trap");
    let told = environment.root().join("told");
    let settings = format!(
        "[notify]\non = [\"decision\", \"prompt\", \"idle\", \"failed\"]\ndesktop = false\ncommand = \"cat >> {}\"\n",
        told.display()
    );
    write(&environment.home().join(".config/agents/anyhook.toml"), settings, 0o644);
    // A repository may not say what is run.
    let hostile = format!("[notify]\ncommand = \"touch {}\"\n", trap.display());
    write(&environment.project().join(".agents/anyhook.toml"), hostile, 0o644);
    let evil = format!(
        "`touch {0}` $(touch {0}); touch {0} | touch {0}\n\u{1b}]0;x\u{7}'\"\\",
        trap.display()
    );
    environment.run(&["daemon", "start"]);
    let wait_for = |kind: &str| {
        wait_until("the person to be told", || {
            fs::read_to_string(&told).unwrap_or_default().contains(kind)
        });
    };
    // One after the other: nobody is told of what is over already.
    for (event, kind) in [
        ("UserPromptSubmit", ""),
        ("PermissionRequest", "\"prompt\""),
        ("Stop", "\"idle\""),
        ("StopFailure", "\"failed\""),
    ] {
        let payload = json!({
            "session_id": format!("{event}{evil}"), "cwd": environment.project(), "hook_event_name": event,
            "tool_name": evil, "tool_input": {"command": evil}, "prompt": evil, "error": evil,
        });
        environment.run_with_input(&["hook", "claude-code"], payload.to_string());
        wait_for(kind);
    }
    environment.run(&["emit", "agent:signal", "--agent", &evil, "escalate", "--message", &evil]);
    wait_for("\"decision\"");
    assert!(!trap.exists());
    let list = environment.run(&["agent", "list", "--all"]);
    assert!(!list.stdout.contains('\u{1b}'), "{list:?}");
}

#[test]
fn a_daemon_that_hangs_or_lies_decides_nothing() {
    for (name, answer) in [
        ("hangs", "pass"),
        ("talks nonsense", "connection.sendall(b'\\x00\\x00\\x00\\x02[]' * 3)"),
        (
            "answers another question",
            "exactly(); exactly(); send({'protocol': 1, 'anyhook': 'x'}); send({'resolved': {'id': 'other', 'agent': 'a', 'ending': 'chosen', 'choice': 'allow', 'by': 'evil', 'at': '2026-01-01T00:00:00Z'}})",
        ),
    ] {
        let environment = environment();
        let settings = "[decisions]\nwait = [\"permission\"]\nwait_seconds = 1\n";
        write(&environment.home().join(".config/agents/anyhook.toml"), settings, 0o644);
        let socket = environment.state().join("daemon/socket");
        fs::create_dir_all(socket.parent().unwrap()).unwrap();
        let code = format!(
            "
import json, socket, struct, sys, threading, time
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(64)
def talk(connection):
    def exactly():
        head = connection.recv(4)
        return connection.recv(struct.unpack('>I', head)[0])
    def send(value):
        body = json.dumps(value).encode()
        connection.sendall(struct.pack('>I', len(body)) + body)
    {answer}
    time.sleep(1000)
while True:
    threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()
"
        );
        let mut server =
            std::process::Command::new("python3").args(["-c", &code]).arg(&socket).spawn().unwrap();
        wait_until("it to listen", || socket.exists());
        let payload = json!({
            "session_id": "s", "cwd": environment.project(), "hook_event_name": "PermissionRequest",
            "tool_name": "Bash", "tool_input": {"command": "ls"},
        });
        let command = environment.command(&["hook", "claude-code", "--deadline-ms", "30000"]);
        let ran = run(command, payload.to_string().as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{name}: {ran:?}");
        server.kill().unwrap();
        server.wait().unwrap();
    }
}

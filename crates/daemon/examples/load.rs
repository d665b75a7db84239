//! What a daemon bears: `cargo xtask bench --daemon` runs it.
//!
//! A real daemon process beside writers that append to the journal as hook processes do: first it
//! has nothing to do, then a thousand agents tell 10,000 events a second while somebody follows,
//! then agents execute calls that no hook was asked about, and at last it finds a full journal when it
//! starts. Prints one JSON object.
//!
//! Arguments: the program `anyhook`; seconds of load, 10 if left out. Needs `/proc`.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "its whole purpose; what cannot be set up cannot be measured; so many there are not"
)]

use std::fs;
use std::io::Write as _;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhook_engine::journal::Journal;
use anyhook_model::daemon::{DaemonStatus, Request, Response};
use anyhook_model::{EventKind, Payload, Record};
use anyhook_socket::{Client, ClientError, DaemonFolder};
use anyhook_testkit::{TestEnv, wait_within};
use jiff::Timestamp;
use serde_json::{Value, json};

const AGENTS: usize = 1000;
const WRITERS: usize = 4;
/// Events a second, of all writers.
const RATE: usize = 10_000;
/// So many records are there when the daemon starts.
const BACKLOG: usize = 200_000;
/// So many calls are executed without asking, one after the other.
const UNASKED: usize = 200;
const IDLE: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(120);

/// What an agent does, again and again.
const TURN: [(EventKind, &str); 4] = [
    (EventKind::BeforeAgent, "UserPromptSubmit"),
    (EventKind::BeforeTool, "PreToolUse"),
    (EventKind::AfterTool, "PostToolUse"),
    (EventKind::BeforeStop, "Stop"),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let binary = arguments.next().unwrap();
    let seconds: usize = arguments.next().map_or(10, |number| number.parse().unwrap());
    let environment = TestEnv::new(&binary);
    let daemon = Daemon::start(&environment);
    let idle = idle(&daemon);
    let load = load(&environment, &daemon, seconds);
    assert_eq!(environment.run(&["daemon", "stop"]).code, 0);
    drop(environment);
    let alarms = alarms(&TestEnv::new(&binary));
    let catch_up = catch_up(&TestEnv::new(&binary));
    let found = json!({"idle": idle, "load": load, "alarms": alarms, "catch_up": catch_up});
    println!("{found:#}");
}

/// The share of a processor that it needs for nothing.
fn idle(daemon: &Daemon) -> Value {
    let before = daemon.processor_time();
    thread::sleep(IDLE);
    let used = daemon.processor_time().saturating_sub(before);
    json!({"processor_percent": percent(used, IDLE), "peak_mib": daemon.peak_memory()})
}

/// Thousands of events a second, and somebody who follows.
fn load(environment: &TestEnv, daemon: &Daemon, seconds: usize) -> Value {
    // Whole turns, so that every agent ends with a stop.
    let turn = AGENTS / WRITERS * TURN.len();
    let each = (RATE * seconds / WRITERS).next_multiple_of(turn);
    let follower = thread::spawn({
        let folder = daemon.folder.clone();
        move || follow(&folder, each * WRITERS)
    });
    let (before, began) = (daemon.processor_time(), Instant::now());
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let journal = Journal::new(&environment.state());
            thread::spawn(move || write(&journal, writer, each))
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    let wrote = began.elapsed();
    let mut heard = follower.join().unwrap();
    let (whole, used) = (began.elapsed(), daemon.processor_time().saturating_sub(before));
    assert_eq!(daemon.idle_agents(), AGENTS, "every agent's last event was its stop");
    heard.lags.sort();
    let lag = |percent: usize| percentile(&heard.lags, percent);
    json!({
        "agents": AGENTS, "sent": each * WRITERS, "arrived": heard.lags.len(),
        "times_let_go": heard.times_let_go,
        "written_per_second": (each * WRITERS) as f64 / wrote.as_secs_f64(),
        "lag_ms": {"p50": lag(50), "p95": lag(95), "max": lag(100)},
        "processor_percent": percent(used, whole), "peak_mib": daemon.peak_memory(),
    })
}

/// From the line of a log about a call that no hook was asked about to its alarm in the journal.
fn alarms(environment: &TestEnv) -> Value {
    for arguments in [&["install", "claude-code"][..], &["daemon", "start"]] {
        let ran = environment.run(arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let folder = environment.home().join(".claude/projects/-p");
    fs::create_dir_all(&folder).unwrap();
    let mut times: Vec<Duration> = (0..UNASKED)
        .map(|number| {
            let id = format!("t{number}");
            let line = |kind: &str, block: Value| {
                json!({"type": kind, "sessionId": "s", "cwd": environment.project(),
                    "timestamp": Timestamp::now(), "message": {"content": [block]}})
            };
            let call = json!({"type": "tool_use", "id": id, "name": "Bash",
                "input": {"command": "make"}});
            let result = json!({"type": "tool_result", "tool_use_id": id, "content": ""});
            let lines = format!("{}\n{}\n", line("assistant", call), line("user", result));
            let mut log = fs::OpenOptions::new();
            let mut log = log.append(true).create(true).open(folder.join("s.jsonl")).unwrap();
            log.write_all(lines.as_bytes()).unwrap();
            let written = Instant::now();
            let is_alarm =
                |record: &Value| record["event"] == "call_unasked" && record["call"] == id.as_str();
            wait_within(TIMEOUT, "the alarm", || environment.journal().iter().any(is_alarm));
            written.elapsed()
        })
        .collect();
    times.sort();
    let time = |percent: usize| percentile(&times, percent);
    json!({"calls": UNASKED, "ms": {"p50": time(50), "p95": time(95), "max": time(100)}})
}

/// What came to somebody who follows.
struct Followed {
    /// From an event to whoever follows.
    lags: Vec<Duration>,
    times_let_go: usize,
}

/// Follows until so many events have come. One that is let go asks on.
fn follow(folder: &DaemonFolder, wanted: usize) -> Followed {
    let mut heard = Followed { lags: Vec::with_capacity(wanted), times_let_go: 0 };
    // From the first on: when it begins to follow, some may have come already.
    let mut last = Some(0);
    loop {
        let mut client = Client::connect(folder).unwrap();
        let before = last;
        let mut next = client.request(&Request::Follow { after: last, since: None });
        while let Ok(Response::Told(told)) = next {
            let now = SystemTime::now();
            assert!(last.is_none_or(|last| told.sequence > last), "in order");
            last = Some(told.sequence);
            if let Some(at) = told.event.report().and_then(|report| report.at) {
                heard.lags.push(now.duration_since(at.into()).unwrap_or_default());
            }
            if heard.lags.len() == wanted {
                return heard;
            }
            next = client.read();
        }
        // What the daemon has no more cannot come.
        let is_new = last > before;
        let (true, Err(ClientError::Refused(_))) = (is_new, next) else { return heard };
        heard.times_let_go += 1;
    }
}

/// Appends one record after the other, at this writer's part of the rate.
fn write(journal: &Journal, writer: usize, count: usize) {
    let pause = Duration::from_secs(1) / u32::try_from(RATE / WRITERS).unwrap();
    let began = Instant::now();
    for number in 0..count {
        let due = pause * u32::try_from(number).unwrap();
        let early = due.saturating_sub(began.elapsed());
        if early > Duration::from_millis(1) {
            thread::sleep(early);
        }
        journal.append(vec![record(writer, number)]).unwrap();
    }
}

/// A journal that is full when the daemon starts.
fn catch_up(environment: &TestEnv) -> Value {
    let journal = Journal::new(&environment.state());
    for batch in 0..BACKLOG / 100 {
        let numbers = batch * 100..(batch + 1) * 100;
        journal.append(numbers.map(|number| record(0, number)).collect()).unwrap();
    }
    let bytes = journal.size().unwrap();
    let began = Instant::now();
    let daemon = Daemon::start(environment);
    let answered = began.elapsed();
    let end = journal.reader_at_end().unwrap().position().cloned().unwrap();
    let end = format!("{}:{}", end.segment, end.offset);
    wait_within(TIMEOUT, "it to catch up", || {
        thread::sleep(Duration::from_millis(5));
        daemon.status().journal.as_deref() == Some(&end)
    });
    let took = began.elapsed();
    json!({
        "events": BACKLOG, "bytes": bytes, "seconds": took.as_secs_f64(),
        "first_answer_ms": answered.as_secs_f64() * 1e3,
        "events_per_second": BACKLOG as f64 / took.as_secs_f64(),
        "processor_seconds": daemon.processor_time().as_secs_f64(),
        "peak_mib": daemon.peak_memory(),
    })
}

/// An ordinary record of about a kilobyte and a half.
fn record(writer: usize, number: usize) -> Record {
    let each = AGENTS / WRITERS;
    let (kind, native) = TURN[number / each % TURN.len()].clone();
    let session = format!("0b9c2a52-6a3e-4a62-8f0e-{:012}", writer * each + number % each);
    let command = format!("cargo test --workspace -- {number} {}", "some_test ".repeat(40));
    let mut record =
        Record::new(anyhook_engine::new_id(), anyhook_engine::now(), "claude-code", kind);
    record.native_name = Some(native.to_owned());
    "/home/user/project".clone_into(&mut record.work_dir);
    record.project_dir = Some("/home/user/project".to_owned());
    let payload = json!({
        "session_id": session, "cwd": "/home/user/project", "permission_mode": "default",
        "transcript_path": format!("/home/user/.claude/projects/project/{session}.jsonl"),
        "hook_event_name": native, "tool_name": "Bash",
        "tool_input": {"command": command, "description": "Run all tests"},
        "tool_use_id": format!("toolu_{number:024}"),
    });
    record.session = Some(session);
    record.tool = Some("Shell".to_owned());
    record.about = Some(command);
    record.call = Some(format!("toolu_{number:024}"));
    record.payload = Some(Payload::new(payload.to_string().as_bytes()));
    record
}

/// A daemon that runs.
struct Daemon {
    folder: DaemonFolder,
    process: u32,
}

impl Daemon {
    fn start(environment: &TestEnv) -> Self {
        let ran = environment.run(&["daemon", "start"]);
        assert_eq!(ran.code, 0, "{ran:?}");
        let folder = DaemonFolder::in_state_dir(&environment.state());
        Self { folder, process: environment.daemon().unwrap() }
    }

    fn connect(&self) -> Client {
        Client::connect(&self.folder).unwrap()
    }

    fn status(&self) -> DaemonStatus {
        match self.connect().request(&Request::Status).unwrap() {
            Response::Status(status) => *status,
            other => panic!("{other:?}"),
        }
    }

    fn idle_agents(&self) -> usize {
        match self.connect().request(&Request::Agents).unwrap() {
            Response::Agents(agents) => agents.iter().filter(|agent| agent.state == "idle").count(),
            other => panic!("{other:?}"),
        }
    }

    /// The time that all its threads have had a processor. Threads that ended do not count.
    fn processor_time(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process)).unwrap();
        let nanoseconds = tasks.flatten().filter_map(|task| -> Option<u64> {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse().ok()
        });
        Duration::from_nanos(nanoseconds.sum())
    }

    /// The most memory it ever had, in MiB.
    fn peak_memory(&self) -> f64 {
        let text = fs::read_to_string(format!("/proc/{}/status", self.process)).unwrap();
        let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        let kib: f64 = line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap();
        kib / 1024.0
    }
}

/// Returns the time within which so many percent of sorted times are, in milliseconds.
fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let position = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(position).copied().unwrap_or_default().as_secs_f64() * 1e3
}

fn percent(used: Duration, of: Duration) -> f64 {
    used.as_secs_f64() / of.as_secs_f64() * 100.0
}

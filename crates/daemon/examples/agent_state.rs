//! How soon the daemon knows what an agent waits for: `cargo xtask bench --agents` runs it.
//!
//! In one session of Claude Code on a screen it provokes, round by round, a permission prompt, a
//! question and a stop; the other agents are run without a screen, and stop. A daemon runs beside
//! them, and somebody follows it. Clocks begin when the model's answer was sent as a whole (from
//! there on the agent could know) and when our hook process began. Prints one JSON object, in
//! milliseconds.
//!
//! Arguments: the program `anyhook`, the number of rounds.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "its whole purpose, and what cannot be set up cannot be measured"
)]

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhook_model::daemon::{PublishedEvent, Request, Response};
use anyhook_model::{BusEvent, PromptType, StateSource};
use anyhook_socket::{Client, DaemonFolder};
use anyhook_testkit::agents::{AGENT_PATIENCE, Agent, AgentSandbox, AgentScreen};
use anyhook_testkit::model_server::ModelTurn;
use anyhook_testkit::{TestEnv, wait_within, write};
use serde_json::{Value, json};

/// What an agent waits for, in the order of a round.
const KINDS: [&str; 3] = ["permission", "question", "idle"];

/// Two moments, and what lies between them.
type Leg = (&'static str, fn(&Moments) -> Duration);

/// What an agent takes, what we take, and both. The goal is for the second.
const LEGS: [Leg; 3] = [
    ("model's answer sent → our process begins", |at| between(at.sent, at.begun)),
    ("our process begins → daemon's state", |at| between(at.begun, at.told)),
    ("model's answer sent → daemon's state", |at| between(at.sent, at.told)),
];

/// When something was known, and by whom.
#[derive(Clone, Copy)]
struct Moments {
    /// The model's answer, from which it follows, was sent.
    sent: SystemTime,
    /// Our hook process began.
    begun: SystemTime,
    /// Somebody who follows the daemon had it: it was durable and in the state before that.
    told: SystemTime,
}

/// What was told of an agent.
#[derive(Clone, Copy)]
struct Heard {
    kind: &'static str,
    at: SystemTime,
    told: SystemTime,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let binary = arguments.next().unwrap();
    let rounds: usize = arguments.next().unwrap().parse().unwrap();
    let mut rows = on_screen(&binary, rounds);
    for agent in [Agent::Codex, Agent::GeminiCli, Agent::OpenCode] {
        rows.extend(without_screen(&binary, agent, rounds));
    }
    println!("{:#}", json!({"rounds": rounds, "rows": rows}));
}

/// Measures Claude Code, in one session.
fn on_screen(binary: &str, rounds: usize) -> Vec<Value> {
    let Some(bed) = bed(binary, Agent::ClaudeCode) else { return Vec::new() };
    let daemon = Daemon::follow(&bed);
    let script: Vec<ModelTurn> = (0..rounds)
        .flat_map(|round| [bed.shell_tool(&format!("touch file-{round}")), question(), rest()])
        .collect();
    let Some(screen) = bed.open(script) else { return Vec::new() };
    for round in 0..rounds {
        play(&screen, &daemon, round);
    }
    let heard = daemon.heard();
    let moments = |number: usize| {
        let heard = heard[number];
        let sent = screen.model().sent_at(number).unwrap();
        Moments { sent, begun: begun(bed.environment(), heard.at), told: heard.told }
    };
    let rows = KINDS.iter().enumerate().flat_map(|(kind, name)| {
        let all: Vec<_> = (0..rounds).map(|round| moments(round * KINDS.len() + kind)).collect();
        rows(Agent::ClaudeCode, name, &all)
    });
    rows.collect()
}

/// Plays a round: what is told last is what the agent waits for.
fn play(screen: &AgentScreen, daemon: &Daemon, round: usize) {
    screen.submit(&format!("this is round {round}."));
    for (kind, shown) in [(0, "Do you want to proceed?"), (1, "Enter to select")] {
        daemon.wait_for(round * KINDS.len() + kind);
        screen.wait_for(shown);
        screen.press_until("Enter", "the answer", |text| !text.contains(shown));
    }
    daemon.wait_for(round * KINDS.len() + 2);
}

/// Measures an agent that runs, stops and ends.
fn without_screen(binary: &str, agent: Agent, rounds: usize) -> Vec<Value> {
    let Some(bed) = bed(binary, agent) else { return Vec::new() };
    let daemon = Daemon::follow(&bed);
    let mut all = Vec::new();
    for _ in 0..rounds {
        let before = daemon.idle().len();
        let ran = bed.run("rest", [rest()]);
        assert_eq!(ran.exit_code, 0, "{ran:?}");
        wait_within(AGENT_PATIENCE, "the stop", || daemon.idle().len() > before);
        let heard = daemon.idle()[before];
        let sent = ran.sent.iter().flatten().max().copied().unwrap();
        all.push(Moments { sent, begun: begun(bed.environment(), heard.at), told: heard.told });
    }
    rows(agent, "idle", &all)
}

fn bed(binary: &str, agent: Agent) -> Option<AgentSandbox> {
    let bed = AgentSandbox::within(TestEnv::new(binary), agent)?;
    for arguments in [["install", agent.name()], ["daemon", "start"]] {
        let ran = bed.environment().run(&arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    note_begins(bed.environment(), binary);
    Some(bed)
}

/// Has every hook process note when it begins: the last thing before is that it is ours.
fn note_begins(environment: &TestEnv, binary: &str) {
    let begins = environment.root().join("started");
    // Agents call the small program where both are installed.
    for name in ["anyhook", "anyhook-hook"] {
        let installed = environment.home().join(".local/share/anyhook/bin").join(name);
        if fs::remove_file(&installed).is_err() {
            continue;
        }
        let program = Path::new(binary).with_file_name(name);
        let script = format!(
            "#!/bin/bash\necho \"$EPOCHREALTIME\" >>'{}'\nexec '{}' \"$@\"\n",
            begins.display(),
            program.display()
        );
        write(&installed, script, 0o755);
    }
}

/// Returns when the hook process began that had an event at `at`.
fn begun(environment: &TestEnv, at: SystemTime) -> SystemTime {
    let text = fs::read_to_string(environment.root().join("started")).unwrap();
    let moment = |line: &str| {
        let (seconds, fraction) = line.split_once(['.', ',']).unwrap();
        let since = format!("{seconds}{fraction}").parse().unwrap();
        SystemTime::UNIX_EPOCH + Duration::from_micros(since)
    };
    text.lines().map(moment).filter(|begun| *begun <= at).max().unwrap()
}

fn between(from: SystemTime, to: SystemTime) -> Duration {
    to.duration_since(from).unwrap_or_default()
}

fn rows(agent: Agent, kind: &str, all: &[Moments]) -> Vec<Value> {
    let row = |(leg, time): Leg| {
        let mut times: Vec<Duration> = all.iter().map(time).collect();
        times.sort();
        let of = |percent: usize| {
            let position = (times.len() * percent).div_ceil(100).max(1) - 1;
            (times[position].as_secs_f64() * 10_000.0).round() / 10.0
        };
        json!({"agent": agent.name(), "kind": kind, "leg": leg,
            "p50": of(50), "p95": of(95), "max": of(100)})
    };
    LEGS.into_iter().map(row).collect()
}

fn question() -> ModelTurn {
    let option = |label: &str| json!({"label": label, "description": format!("it is {label}")});
    let question = json!({"question": "Which colour?", "header": "Colour",
        "options": [option("red"), option("blue")], "multiSelect": false});
    ModelTurn::tool("AskUserQuestion", json!({"questions": [question]}))
}

fn rest() -> ModelTurn {
    ModelTurn::text("It rests.")
}

/// Somebody who follows the daemon.
struct Daemon {
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Daemon {
    fn follow(bed: &AgentSandbox) -> Self {
        let mut client =
            Client::connect(&DaemonFolder::in_state_dir(&bed.environment().state())).unwrap();
        client.wait_for_ever();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&heard);
        // Ends with the daemon.
        thread::spawn(move || {
            let mut next = client.request(&Request::Follow { after: None, since: None });
            while let Ok(Response::Told(told)) = next {
                let now = SystemTime::now();
                noted.lock().unwrap().extend(of(&told, now));
                next = client.read();
            }
        });
        Self { heard }
    }

    /// Returns what an agent waited for; what is told of the same twice in a row counts once.
    fn heard(&self) -> Vec<Heard> {
        let mut heard = self.heard.lock().unwrap().clone();
        heard.dedup_by_key(|heard| heard.kind);
        heard
    }

    fn idle(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().iter().filter(|heard| heard.kind == "idle").copied().collect()
    }

    fn wait_for(&self, number: usize) {
        let kind = KINDS[number % KINDS.len()];
        wait_within(AGENT_PATIENCE, kind, || self.heard().len() > number);
        assert_eq!(self.heard()[number].kind, kind, "something else came first");
    }
}

/// Returns what somebody waits for, told by the agent's own events.
fn of(told: &PublishedEvent, now: SystemTime) -> Option<Heard> {
    let report = told.event.report()?;
    if report.source != StateSource::Hook || report.fresh {
        return None;
    }
    let kind = match &told.event {
        BusEvent::AgentPrompt(prompt) if prompt.prompt_type == PromptType::Permission => KINDS[0],
        BusEvent::AgentPrompt(prompt) if prompt.prompt_type == PromptType::Question => KINDS[1],
        BusEvent::AgentIdle(_) => KINDS[2],
        _ => return None,
    };
    Some(Heard { kind, at: report.at?.into(), told: now })
}

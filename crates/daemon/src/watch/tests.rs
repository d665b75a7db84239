mod calls;
mod databases;
mod files;
mod restarts;
mod rights;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use anyhook_hosts::log::LogRoots;
use anyhook_model::StateSource;
use tempfile::TempDir;

use super::*;

/// A test that waits longer has failed.
const LIMIT: Duration = Duration::from_secs(60);

/// The reports of the recorded logs: host, log, session and what the agent did. Of uncertain
/// observations, all that are not retracted at once are reported here.
const RECORDED: &[(&str, &str, &str, &str)] = &[
    ("claude-code", "text", "text", "working idle"),
    ("claude-code", "tools", "tools", "working idle"),
    ("claude-code", "rate-limited", "rate-limited", "working failed(rate_limited)"),
    (
        "claude-code",
        "question",
        "question",
        "working idle working idle working prompt(question) working idle",
    ),
    ("claude-code", "interrupted", "interrupted", "working idle working idle"),
    ("claude-code", "subagent", "subagent", "working idle"),
    ("claude-code", "subagent-own", "subagent-own", ""),
    ("codex", "tools", "01a1e248-8930-7eb0-8f14-50fd4b45ff26", "working idle"),
    (
        "codex",
        "unauthorized",
        "01a1e248-93b9-7c73-a9b1-dd8edd7e52de",
        "working failed(unauthorized)",
    ),
    ("codex", "interrupted", "01a1e250-8a2d-7151-9a76-1f673eecee56", "working idle working idle"),
    ("gemini-cli", "tools", "8230bfaa-0813-44c1-bf24-5b5fec7d9831", "working idle"),
    (
        "gemini-cli",
        "cancelled",
        "fd6a2bff-c9fc-4bfe-868e-93e5d0af0510",
        "working idle working idle",
    ),
];

fn recorded(host: &str, log: &str) -> String {
    let hosts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hosts/src");
    let file = format!("{}/fixtures/logs/{log}.jsonl", host.replace('-', "_"));
    fs::read_to_string(hosts.join(file)).unwrap()
}

/// Returns where a host would write a log, below a home.
fn place(host: &str, log: &str, session: &str) -> PathBuf {
    match host {
        "claude-code" => format!(".claude/projects/-home-user-project/{session}.jsonl"),
        "codex" => {
            format!(".codex/sessions/2026/11/16/rollout-2026-11-16T02-56-06-{session}.jsonl")
        }
        "gemini-cli" => format!(".gemini/tmp/project/chats/session-2026-11-16T02-56-{log}.jsonl"),
        host => panic!("{host} has no file of lines"),
    }
    .into()
}

/// A home, its watcher, and the reports.
struct Scene {
    home: TempDir,
    options: WatchOptions,
    watcher: Option<Watcher>,
    out: Option<Receiver<LogUpdate>>,
    told: BTreeMap<String, Vec<String>>,
    /// The executed calls.
    calls: Vec<RanCall>,
    positions: LogPositions,
    barriers: usize,
}

impl Scene {
    fn new() -> Self {
        let options = WatchOptions {
            quiet: Duration::ZERO,
            pause: Duration::from_millis(1),
            // The system's notifications must be enough.
            seldom: Duration::from_secs(3600),
            finds_homes: false,
            ..WatchOptions::default()
        };
        Self {
            home: tempfile::tempdir().unwrap(),
            options,
            watcher: None,
            out: None,
            told: BTreeMap::new(),
            calls: Vec::new(),
            positions: LogPositions::default(),
            barriers: 0,
        }
    }

    fn watched() -> Self {
        let mut scene = Self::new();
        scene.watch();
        scene
    }

    /// Starts watching, or resumes from the stored positions.
    fn watch(&mut self) {
        self.stop();
        let homes = LogRoots { home: self.home.path().to_owned(), ..LogRoots::default() };
        let stored = serde_json::to_string(&self.positions).unwrap();
        let (send, receive) = sync_channel(1);
        let (places, positions) = (WatchPlaces::of(&homes), serde_json::from_str(&stored).unwrap());
        let watcher = Watcher::start_with(places, positions, send, self.options.clone()).unwrap();
        (self.watcher, self.out) = (Some(watcher), Some(receive));
    }

    /// Stops watching; reports that were not received yet are lost, as in a crash.
    fn stop(&mut self) {
        (self.watcher, self.out) = (None, None);
    }

    fn path(&self, inner: impl AsRef<Path>) -> PathBuf {
        let path = self.home.path().join(inner);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn append(&self, inner: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).open(self.path(inner)).unwrap();
        file.write_all(text.as_ref()).unwrap();
    }

    /// Waits until what was written before counts as old, by the clock of the file system.
    fn let_time_pass(&self) {
        let written = || {
            let path = self.home.path().join("clock");
            fs::write(&path, "x").unwrap();
            fs::metadata(path).unwrap().modified().unwrap()
        };
        let start = written();
        while written().duration_since(start).unwrap() < Duration::from_millis(50) {
            thread::yield_now();
        }
    }

    /// Receives the next report.
    fn next(&mut self, until: Instant) -> Option<LogUpdate> {
        let watched = loop {
            let left = until.saturating_duration_since(Instant::now());
            let watched = self.out.as_ref().unwrap().recv_timeout(left).ok()?;
            if watched.report.is_some() {
                break watched;
            }
            self.calls.extend(watched.calls);
            self.positions.note(watched.position);
        };
        let event = watched.report.as_ref().unwrap();
        let report = event.report().unwrap();
        assert_eq!(report.source, StateSource::Log);
        assert_eq!(report.agent, format!("{}:{}", report.host.as_ref()?, report.session.as_ref()?));
        assert!(Path::new(report.log.as_ref()?).starts_with(self.home.path()));
        let word = match event {
            BusEvent::AgentPrompt(prompt) => format!("prompt({})", prompt.prompt_type.name()),
            BusEvent::AgentFailed(failed) => format!("failed({})", failed.kind.name()),
            other => other.type_name().trim_start_matches("agent:").to_owned(),
        };
        self.told.entry(report.agent.clone()).or_default().push(word);
        self.positions.note(watched.position.clone());
        Some(watched)
    }

    fn told(&self, agent: &str) -> String {
        self.told.get(agent).map(|words| words.join(" ")).unwrap_or_default()
    }

    /// Waits until exactly this was reported about an agent.
    #[track_caller]
    fn expect(&mut self, agent: &str, expected: &str) {
        let until = Instant::now() + LIMIT;
        while self.told(agent) != expected {
            assert!(expected.starts_with(&self.told(agent)), "{agent}: {}", self.told(agent));
            let told = self.next(until);
            assert!(told.is_some(), "{agent}: not {expected:?} but {:?}", self.told(agent));
        }
    }

    /// Waits until everything that was written before is read, and reported if there is anything.
    #[track_caller]
    fn catch_up(&mut self) {
        self.barriers += 1;
        // Logs that changed at the same time are read in order of their names.
        let session = format!("zzz-{}", self.barriers);
        self.append(place("claude-code", "", &session), WORK);
        self.expect(&format!("claude-code:{session}"), "working");
    }
}

const WORK: &str = concat!(
    r#"{"type":"user","timestamp":"2026-11-16T02:55:56.455Z","promptSource":"typed","#,
    r#""message":{"content":"do it"}}"#,
    "\n"
);
const REST: &str = concat!(
    r#"{"type":"user","timestamp":"2026-11-16T02:56:56.455Z","#,
    r#""message":{"content":"[Request interrupted by user]"}}"#,
    "\n"
);

#[test]
fn recorded_logs_are_told_however_they_are_written() {
    for is_told in [true, false] {
        let mut scene = Scene::new();
        scene.options.is_told = is_told;
        scene.options.often = Duration::from_millis(20);
        scene.watch();
        let logs: Vec<(PathBuf, String)> = RECORDED
            .iter()
            .map(|(host, log, session, _)| (place(host, log, session), recorded(host, log)))
            .collect();
        // All at once, in pieces that split lines and characters.
        let mut written = vec![0; logs.len()];
        let mut size = 1;
        while logs.iter().zip(&written).any(|((_, text), written)| *written < text.len()) {
            for ((path, text), written) in logs.iter().zip(&mut written) {
                size = size * 7 % 6151;
                let end = (*written + size).min(text.len());
                scene.append(path, &text.as_bytes()[*written..end]);
                *written = end;
            }
            while scene.next(Instant::now()).is_some() {}
        }
        for (host, _, session, expected) in RECORDED {
            scene.expect(&format!("{host}:{session}"), expected);
        }
        scene.catch_up();
        for (host, _, session, expected) in RECORDED {
            assert_eq!(scene.told(&format!("{host}:{session}")), *expected);
        }
    }
}

#[test]
fn a_report_tells_all_there_is() {
    let mut scene = Scene::watched();
    let (host, log, session) = ("codex", "unauthorized", "01a1e248-93b9-7c73-a9b1-dd8edd7e52de");
    scene.append(place(host, log, session), recorded(host, log));
    let told: Vec<LogUpdate> =
        (0..2).map(|_| scene.next(Instant::now() + LIMIT).unwrap()).collect();
    let report = told[0].report.as_ref().unwrap().report().unwrap();
    assert_eq!(report.agent, format!("codex:{session}"));
    assert_eq!(report.work_dir.as_deref(), Some("/home/user/project"));
    assert_eq!(report.at, Some("2026-11-16T02:56:09.699Z".parse().unwrap()));
    let path = scene.path(place(host, log, session));
    assert_eq!(report.log.as_deref(), path.to_str());
    let Some(BusEvent::AgentFailed(failed)) = &told[1].report else { panic!("{told:#?}") };
    assert!(failed.message.as_ref().unwrap().contains("401 Unauthorized"), "{failed:?}");
}

#[test]
fn what_is_only_likely_is_held_back() {
    let mut scene = Scene::new();
    scene.options.quiet = Duration::from_secs(3600);
    scene.watch();
    let log = place("claude-code", "", "s");
    // The time is now, so that nothing is old enough.
    let now = jiff::Timestamp::now();
    let end = format!(
        "{{\"type\":\"assistant\",\"timestamp\":\"{now}\",\"message\":{{\"stop_reason\":\"end_turn\",\
         \"content\":[{{\"type\":\"text\",\"text\":\"done\"}}]}}}}\n"
    );
    scene.append(&log, format!("{WORK}{end}"));
    scene.catch_up();
    assert_eq!(scene.told("claude-code:s"), "working");
    // A gate makes it continue: it never rested.
    scene.append(&log, WORK);
    scene.catch_up();
    assert_eq!(scene.told("claude-code:s"), "working");
    let certain =
        format!("{{\"type\":\"system\",\"subtype\":\"turn_duration\",\"timestamp\":\"{now}\"}}\n");
    scene.append(&log, format!("{end}{certain}"));
    scene.expect("claude-code:s", "working idle");
}

#[test]
fn it_stops_when_nobody_listens() {
    let mut scene = Scene::watched();
    for number in 0..20 {
        scene.append(place("claude-code", "", &format!("s{number}")), WORK);
    }
    // The first is received, the channel is full; then the watcher is dropped.
    scene.next(Instant::now() + LIMIT).unwrap();
    drop(scene.watcher.take());
    // The other way round: the receiver is dropped first.
    let mut scene = Scene::watched();
    scene.append(place("claude-code", "", "s"), WORK);
    scene.out = None;
    drop(scene.watcher.take());
}

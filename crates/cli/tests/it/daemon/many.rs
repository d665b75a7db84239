//! Many agents and many events: all are known, none is lost.

use anyhook_engine::journal::Journal;
use anyhook_engine::new_id;
use anyhook_model::daemon::{RefusalCode, Request, Response};
use anyhook_model::{EventKind, Record};
use anyhook_socket::{Client, ClientError, DaemonFolder};

use anyhook_testkit::wait_until;

use crate::environment;

const AGENTS: usize = 1000;
const EVENTS: usize = 20;

#[test]
fn a_thousand_agents_are_known() {
    let environment = environment();
    environment.run(&["daemon", "start"]);
    let process = environment.daemon().unwrap();
    let journal = Journal::new(&environment.state());
    for event in 0..EVENTS {
        let records: Vec<Record> = (0..AGENTS)
            .map(|agent| {
                let kind = match event {
                    0 => EventKind::BeforeAgent,
                    19 if agent % 2 == 0 => EventKind::BeforeStop,
                    _ => EventKind::BeforeTool,
                };
                let mut record = Record::new(new_id(), anyhook_engine::now(), "codex", kind);
                record.session = Some(format!("session-{agent}"));
                record.about = Some("x".repeat(200));
                record
            })
            .collect();
        journal.append(records).unwrap();
    }
    // It answers while it still reads.
    let known = || environment.run(&["agent", "list", "--json"]).json();
    let is_idle = |agent: &&serde_json::Value| agent["state"] == "idle";
    wait_until("all to be read", || {
        known().as_array().unwrap().iter().filter(is_idle).count() == AGENTS / 2
    });
    let agents = known();
    let states: Vec<&str> =
        agents.as_array().unwrap().iter().map(|agent| agent["state"].as_str().unwrap()).collect();
    assert_eq!(states.len(), AGENTS);
    assert_eq!(states.iter().filter(|state| **state == "idle").count(), AGENTS / 2);
    let daemon = environment.run(&["daemon", "status", "--json"]).json();
    assert!(daemon["events"].as_u64().unwrap() >= (AGENTS * EVENTS) as u64);
    let memory = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = memory.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kib < 256 * 1024, "{line}");
}

/// More than a follower's queue holds: it gets the rest by asking again, and misses nothing.
#[test]
fn whoever_asks_for_much_gets_all_of_it() {
    const EVENTS: usize = 9000;
    let environment = environment();
    let journal = Journal::new(&environment.state());
    let record = |number: usize| {
        let kind = EventKind::BeforeTool;
        let mut record = Record::new(new_id(), anyhook_engine::now(), "codex", kind);
        record.session = Some("s".to_owned());
        record.about = Some(number.to_string());
        record
    };
    journal.append((0..EVENTS).map(record).collect()).unwrap();
    environment.run(&["daemon", "start"]);
    let (mut told, mut last) = (Vec::new(), 0);
    while told.len() < EVENTS {
        let mut client =
            Client::connect(&DaemonFolder::in_state_dir(&environment.state())).unwrap();
        let mut next = client.request(&Request::Follow { after: Some(last), since: None });
        let refused = loop {
            match next {
                Ok(Response::Told(event)) => {
                    last = event.sequence;
                    told.push(event.event.report().unwrap().about.clone().unwrap());
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => break error,
            }
            if told.len() == EVENTS {
                break ClientError::NoAnswer;
            }
            next = client.read();
        };
        if told.len() < EVENTS {
            let ClientError::Refused(refusal) = refused else { panic!("{refused}") };
            assert_eq!(refusal.code, RefusalCode::Busy);
        }
    }
    assert!(told.iter().enumerate().all(|(number, about)| *about == number.to_string()));
}

#[test]
fn what_was_over_before_anybody_looked_is_no_news() {
    let environment = environment();
    let told = environment.root().join("told");
    let settings = format!(
        "[notify]\non = [\"prompt\", \"idle\"]\ndesktop = false\ncommand = \"echo x >> {}\"\n",
        told.display()
    );
    anyhook_testkit::write(
        &environment.home().join(".config/agents/anyhook.toml"),
        settings,
        0o644,
    );
    let journal = Journal::new(&environment.state());
    let record = |kind, command: usize| {
        let mut record = Record::new(new_id(), anyhook_engine::now(), "claude-code", kind);
        record.session = Some("s".to_owned());
        record.about = Some(format!("command {command}"));
        record
    };
    for command in 0..40 {
        journal
            .append(vec![
                record(EventKind::PermissionRequest, command),
                record(EventKind::AfterTool, command),
            ])
            .unwrap();
    }
    journal.append(vec![record(EventKind::BeforeStop, 40)]).unwrap();
    let lines = || std::fs::read_to_string(&told).unwrap_or_default().lines().count();
    wait_until("the person to be told", || {
        environment.run(&["agent", "list"]);
        lines() > 0
    });
    environment.run(&["daemon", "stop"]);
    assert_eq!(lines(), 1, "that it is idle now");
}

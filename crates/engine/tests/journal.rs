//! The journal with real processes: many writers at once, and writers that are killed.
//!
//! The writers are this program itself, started again to run [`writer`].

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhook_engine::journal::Journal;
use anyhook_engine::settings::JournalSettings;
use anyhook_model::{EventKind, Record, RecordId};

/// Small enough that many segments are closed on the way.
fn journal(state: &Path) -> Journal {
    Journal::with(state, JournalSettings { segment_kib: 256, ..JournalSettings::default() })
}

/// Starts a writer of `count` records named `NAME-INDEX`, which says each that is written.
fn start_writer(state: &Path, name: &str, count: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["writer", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env("ANYHOOK_TEST_STATE", state)
        .env("ANYHOOK_TEST_NAME", name)
        .env("ANYHOOK_TEST_COUNT", count.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Not a test but a process of the others.
#[test]
#[ignore = "started by the other tests"]
fn writer() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let Ok(state) = std::env::var("ANYHOOK_TEST_STATE") else { return };
    let (name, count) = (variable("ANYHOOK_TEST_NAME"), variable("ANYHOOK_TEST_COUNT"));
    let journal = journal(Path::new(&state));
    let mut out = std::io::stdout();
    for index in 0..count.parse().unwrap() {
        let id = format!("{name}-{index}");
        let mut record = Record::new(
            RecordId::from_text(&id),
            anyhook_engine::now(),
            "agent-hooks",
            EventKind::BeforeTool,
        );
        record.about = Some("x".repeat(index % 300));
        // One in fifty is long: a line of several pages, and a text beside it.
        if index % 50 == 0 {
            record.verdict.reason = Some(format!("{name} {index} ").repeat(2_000));
        }
        journal.append(vec![record]).unwrap();
        writeln!(out, "wrote {id}").unwrap();
    }
}

/// Returns the ids that a writer says it has written; kills it after so many.
fn acknowledged(mut writer: Child, kill_after: Option<usize>) -> Vec<String> {
    let mut ids = Vec::new();
    for line in BufReader::new(writer.stdout.take().unwrap()).lines().map_while(Result::ok) {
        // The first is on the line on which the harness names the test.
        ids.extend(line.split_once("wrote ").map(|(_, id)| id.to_owned()));
        if Some(ids.len()) == kill_after {
            writer.kill().unwrap();
        }
    }
    let status = writer.wait().unwrap();
    assert_eq!(status.success(), kill_after.is_none());
    ids
}

/// Returns all ids of the journal in order, by writer.
fn written(journal: &Journal) -> BTreeMap<String, Vec<usize>> {
    let mut written: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    journal
        .reader()
        .read_on(&mut |record| {
            let (name, index) = record.id.as_str().rsplit_once('-').unwrap();
            written.entry(name.to_owned()).or_default().push(index.parse().unwrap());
            journal.restored(record).unwrap();
        })
        .unwrap();
    written
}

#[test]
fn sixty_four_processes_append_a_thousand_records_each() {
    let state = tempfile::tempdir().unwrap();
    let journal = journal(state.path());
    let writers: Vec<Child> =
        (0..64).map(|name| start_writer(state.path(), &format!("w{name}"), 1000)).collect();
    for writer in writers {
        assert_eq!(acknowledged(writer, None).len(), 1000);
    }
    let written = written(&journal);
    assert_eq!(written.len(), 64);
    for (name, indices) in written {
        assert!(indices.into_iter().eq(0..1000), "{name}: all there, in order");
    }
    assert!(journal.segments().unwrap().len() > 10, "segments were closed on the way");
    journal.keep(anyhook_engine::now()).unwrap();
    let verified = journal.verify(&mut |_| ()).unwrap();
    assert_eq!((verified.records, verified.torn), (64_000, 0));
    assert!(verified.whole, "{:?}", verified.broken);
}

/// Writers are killed at any moment, until ten thousand records are there.
#[test]
fn what_was_written_survives_writers_that_are_killed() {
    let state = tempfile::tempdir().unwrap();
    let journal = journal(state.path());
    let mut acknowledged_ids: HashSet<String> = HashSet::new();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut round = 0;
    while acknowledged_ids.len() < 10_000 {
        let readers: Vec<_> = (0..8)
            .map(|name| {
                // As far apart as it comes: each is killed somewhere else.
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let kill_after = 1 + usize::try_from(random % 300).unwrap();
                let writer = start_writer(state.path(), &format!("r{round}w{name}"), 100_000);
                std::thread::spawn(move || acknowledged(writer, Some(kill_after)))
            })
            .collect();
        for reader in readers {
            acknowledged_ids.extend(reader.join().unwrap());
        }
        // The keeper is killed, too: by being away half of the time.
        if round % 2 == 0 {
            journal.keep(anyhook_engine::now()).unwrap();
        }
        round += 1;
    }
    let written = written(&journal);
    let found: HashSet<String> = written
        .iter()
        .flat_map(|(name, indices)| indices.iter().map(move |index| format!("{name}-{index}")))
        .collect();
    let lost: Vec<&String> = acknowledged_ids.difference(&found).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    for (name, indices) in &written {
        assert!(indices.iter().copied().eq(0..indices.len()), "{name}: in order");
    }
    journal.keep(anyhook_engine::now()).unwrap();
    let verified = journal.verify(&mut |_| ()).unwrap();
    assert!(verified.whole, "{:?}", verified.broken);
    assert_eq!(usize::try_from(verified.records).unwrap(), found.len());
}

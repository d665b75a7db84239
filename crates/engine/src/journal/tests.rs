//! Tests of the journal as a whole: reading back, crashes, seals, retention.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhook_model::{EventKind, RecordId};
use jiff::{SignedDuration, Timestamp};

use super::retention::{RetentionResult, Seals};
use super::*;

fn record(id: &str) -> Record {
    let mut record =
        Record::new(RecordId::from_text(id), crate::now(), "agent-hooks", EventKind::BeforeTool);
    record.about = Some("x".repeat(300));
    record
}

fn ids(reader: &mut JournalReader) -> Vec<String> {
    let mut ids = Vec::new();
    reader.read_on(&mut |record| ids.push(record.id.to_string())).unwrap();
    ids
}

fn fill(journal: &Journal, name: &str, count: usize) {
    for index in 0..count {
        journal.append(vec![record(&format!("{name}{index}"))]).unwrap();
    }
}

/// A journal whose segments hold a handful of records each.
fn small(state: &Path) -> Journal {
    Journal::with(state, JournalSettings { segment_kib: 2, ..JournalSettings::default() })
}

fn problems(journal: &Journal) -> Vec<String> {
    let verified = journal.verify(&mut |_| ()).unwrap();
    let word = |broken: &anyhook_model::report::BrokenPlace| {
        let line = broken.line.map_or_else(String::new, |line| format!(":{line}"));
        format!("{}{line}: {}", broken.file, broken.why)
    };
    verified.broken.iter().map(word).collect()
}

#[test]
fn a_journal_can_be_read_in_portions() {
    let state = tempfile::tempdir().unwrap();
    let journal = small(state.path());
    fill(&journal, "r", 25);
    let expected: Vec<String> = (0..25).map(|index| format!("r{index}")).collect();
    for portion in [1, 2, 7, 25, 26] {
        let (mut reader, mut found) = (journal.reader(), Vec::new());
        loop {
            let before = found.len();
            let more =
                reader.read_some(portion, &mut |record| found.push(record.id.to_string())).unwrap();
            assert!(found.len() - before <= portion);
            if !more {
                break;
            }
            // Resuming from the position misses nothing and returns nothing twice.
            reader = journal.reader_at(reader.position().unwrap().clone());
        }
        assert_eq!(found, expected, "{portion} at a time");
    }
}

#[test]
fn records_come_back_in_order_and_can_be_followed() {
    let state = tempfile::tempdir().unwrap();
    let journal = small(state.path());
    let mut reader = journal.reader();
    assert_eq!(ids(&mut reader), [] as [&str; 0]);
    journal.append(vec![record("a")]).unwrap();
    assert_eq!(ids(&mut reader), ["a"]);
    journal.append(vec![record("b"), record("c")]).unwrap();
    assert_eq!(ids(&mut reader), ["b", "c"]);
    assert_eq!(ids(&mut reader), [] as [&str; 0]);
    fill(&journal, "d", 20);
    let expected: Vec<String> = (0..20).map(|index| format!("d{index}")).collect();
    assert_eq!(ids(&mut reader), expected, "across segments");
    assert!(journal.segments().unwrap().len() > 3);
    let again = journal.reader_at(reader.position().unwrap().clone());
    journal.append(vec![record("e")]).unwrap();
    assert_eq!(ids(&mut { again }), ["e"]);
}

#[test]
fn the_first_form_is_read_before_the_second() {
    let state = tempfile::tempdir().unwrap();
    let journal = Journal::new(state.path());
    fill(&journal, "new", 1);
    let old = r#"{"v":1,"id":"old","at":"2026-01-01T00:00:00Z","host":"codex","event":"before_tool","work_dir":"/","other_events":0,"verdict":{},"took_us":5}"#;
    fs::write(journal.folder().join("2026-01-01.jsonl"), format!("{old}\n{{\"v\":\n\n")).unwrap();
    let mut reader = journal.reader();
    assert_eq!(ids(&mut reader), ["old", "new0"]);
    assert_eq!(reader.damaged(), 1);
    let verified = journal.verify(&mut |_| ()).unwrap();
    assert_eq!((verified.records, verified.unchecked, verified.torn), (2, 1, 1));
    assert!(verified.broken.is_empty());
}

#[test]
fn nobody_else_can_read_it() {
    let state = tempfile::tempdir().unwrap();
    let journal = Journal::new(state.path());
    let mut long = record("a");
    long.verdict.reason = Some("x".repeat(10_000));
    journal.append(vec![long]).unwrap();
    journal.keep(Timestamp::now()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = journal.folder();
    assert_eq!(mode(folder), 0o700);
    for file in ["00000001.jsonl", "seals.jsonl"] {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
    let hour = fs::read_dir(folder.join("long")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_dir(&hour).unwrap().next().unwrap().unwrap().path();
    assert_eq!((mode(&hour), mode(&text)), (0o700, 0o600));
}

/// The last records cut at every byte: complete ones survive, and reading and writing continue.
#[test]
fn a_crash_at_any_byte_costs_no_whole_record() {
    let state = tempfile::tempdir().unwrap();
    let journal = Journal::new(state.path());
    let mut short = record("a");
    short.about = None;
    journal.append(vec![short.clone(), short.clone(), short]).unwrap();
    let path = journal.folder().join("00000001.jsonl");
    let whole = fs::read(&path).unwrap();
    let ends: Vec<usize> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        // A record is complete once its line break is there.
        let complete = ends.iter().filter(|end| cut > **end && **end > 0).count();
        assert_eq!(ids(&mut journal.reader()).len(), complete, "cut at {cut}");
        journal.append(vec![record("b")]).unwrap();
        let found = ids(&mut journal.reader());
        assert_eq!(found.last().map(String::as_str), Some("b"), "cut at {cut}");
        // A cut that removed only the line break left the record complete.
        assert!((complete + 1..=complete + 2).contains(&found.len()), "cut at {cut}");
        assert_eq!(problems(&journal), [] as [&str; 0], "cut at {cut}");
    }
}

#[test]
fn closed_segments_are_sealed_once() {
    let state = tempfile::tempdir().unwrap();
    let journal = small(state.path());
    fill(&journal, "a", 20);
    let closed = journal.segments().unwrap().len() - 1;
    let now = Timestamp::now();
    let sealed = |sealed| Some(RetentionResult { sealed, ..RetentionResult::default() });
    assert_eq!(journal.keep(now).unwrap(), sealed(closed));
    assert_eq!(journal.keep(now).unwrap(), sealed(0));
    let seals = Seals::read(journal.folder()).unwrap();
    assert_eq!((seals.lines.len(), seals.broken), (closed, None));
    fill(&journal, "b", 10);
    journal.keep(now).unwrap();
    let verified = journal.verify(&mut |_| ()).unwrap();
    assert_eq!((verified.records, verified.broken.len()), (30, 0));
    assert_eq!(verified.sealed + 1, verified.segments);
}

#[test]
fn every_change_is_found() {
    let state = tempfile::tempdir().unwrap();
    let journal = small(state.path());
    fill(&journal, "a", 20);
    journal.keep(Timestamp::now()).unwrap();
    let folder = journal.folder().to_owned();
    let change = |file: &str, edit: &dyn Fn(&str) -> String| {
        let path = folder.join(file);
        let before = fs::read_to_string(&path).unwrap();
        fs::write(&path, edit(&before)).unwrap();
        let found = problems(&journal);
        fs::write(&path, before).unwrap();
        assert_eq!(problems(&journal), [] as [&str; 0]);
        found
    };
    let letter = |text: &str| text.replacen("xx", "xy", 1);
    assert_eq!(change("00000001.jsonl", &letter), ["00000001.jsonl:2: its checksum differs"]);
    let open = segment::current(&folder).unwrap();
    assert_eq!(change(open.as_str(), &letter).len(), 1, "the open segment, too");
    let without_first = |text: &str| text.split_once("\n\n").unwrap().1.to_owned();
    let not_sealed = ["00000002.jsonl: it differs from what was sealed"];
    assert_eq!(change("00000002.jsonl", &without_first), not_sealed);
    let without_end = |text: &str| text[..text.len() - 30].to_owned();
    assert_eq!(change("00000002.jsonl", &without_end), not_sealed);
    let chain = "the seal chain is broken here";
    let first_seal_gone = |text: &str| text.split_once("\n\n").unwrap().1.to_owned();
    assert!(change("seals.jsonl", &first_seal_gone)[0].ends_with(chain));
    let records = |text: &str| text.replacen("\"records\":", "\"records\":1", 1);
    assert!(change("seals.jsonl", &records)[0].ends_with(chain));

    fs::remove_file(folder.join("00000002.jsonl")).unwrap();
    assert!(problems(&journal)[0].starts_with("00000002.jsonl: it is missing, with "));
}

#[test]
fn a_long_text_that_is_gone_is_found() {
    let state = tempfile::tempdir().unwrap();
    let journal = Journal::new(state.path());
    let mut long = record("a");
    long.verdict.reason = Some("x".repeat(10_000));
    journal.append(vec![long.clone()]).unwrap();
    assert_eq!(problems(&journal), [] as [&str; 0]);
    let mut read = None;
    journal.reader().read_on(&mut |record| read = Some(record)).unwrap();
    assert_eq!(journal.restored(read.unwrap()).unwrap(), long);
    fs::remove_dir_all(journal.folder().join("long")).unwrap();
    assert!(problems(&journal)[0].contains("record a: the text of /verdict/reason"));
}

/// Too old and too large: dropped, but not what a follower has not read yet.
#[test]
fn what_a_follower_has_not_read_is_kept() {
    let state = tempfile::tempdir().unwrap();
    let journal = small(state.path());
    fill(&journal, "a", 20);
    let mut follower = Follower::named(&journal, "daemon").unwrap();
    let later = Timestamp::now() + SignedDuration::from_hours(24 * 91);
    let held = journal.keep(later).unwrap().unwrap();
    assert_eq!((held.dropped, held.held_by), (0, vec!["daemon".to_owned()]));
    assert_eq!(ids(&mut journal.reader()).len(), 20);

    let mut read = 0;
    follower.read_on(&mut |_| read += 1).unwrap();
    follower.remember().unwrap();
    assert_eq!(read, 20);
    drop(follower);
    let kept = journal.keep(later).unwrap().unwrap();
    assert!(kept.dropped > 2 && kept.held_by.is_empty(), "{kept:?}");
    assert_eq!(journal.segments().unwrap().len(), 1, "the open one stays");
    let verified = journal.verify(&mut |_| ()).unwrap();
    assert_eq!((verified.broken.len(), verified.dropped), (0, kept.dropped));
    fill(&journal, "b", 1);
    let mut again = Follower::named(&journal, "daemon").unwrap();
    let mut found = Vec::new();
    again.read_on(&mut |record| found.push(record.id.to_string())).unwrap();
    assert_eq!(found, ["b0"]);
}

#[test]
fn a_follower_counts_as_long_as_its_process_lives() {
    let state = tempfile::tempdir().unwrap();
    let journal = small(state.path());
    fill(&journal, "a", 1);
    let follower = Follower::of_this_process(&journal, journal.reader()).unwrap();
    let names = || follower::list(journal.folder()).unwrap().len();
    assert_eq!(names(), 1);
    drop(follower);
    assert_eq!(names(), 0);
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let gone =
        follower::Bookmark { position: None, process: Some(child.id()), at: Timestamp::now() };
    let file = journal.folder().join("followers/process-of-old");
    fs::write(&file, serde_json::to_vec(&gone).unwrap()).unwrap();
    assert_eq!(names(), 0);
    assert!(!file.exists());
}

#[test]
fn too_much_is_dropped_with_its_long_texts() {
    let state = tempfile::tempdir().unwrap();
    let settings = JournalSettings { segment_kib: 2, keep_mib: 1, ..JournalSettings::default() };
    let journal = Journal::with(state.path(), settings);
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    for hour in 0..100 {
        let mut long = record(&format!("{hour}"));
        long.at = start + SignedDuration::from_hours(hour);
        long.verdict.reason = Some(format!("{hour:6}").repeat(5_000));
        journal.append(vec![long]).unwrap();
    }
    journal.keep(start + SignedDuration::from_hours(100)).unwrap();
    let mut left = 0;
    journal
        .reader()
        .read_on(&mut |record| {
            left += 1;
            journal.restored(record).unwrap();
        })
        .unwrap();
    let hours = fs::read_dir(journal.folder().join("long")).unwrap().count();
    assert!((5..60).contains(&left) && hours < 85, "{left} records, {hours} hours");
    assert_eq!(problems(&journal), [] as [&str; 0]);
}

#[test]
fn segments_before_a_time_are_not_read() {
    let state = tempfile::tempdir().unwrap();
    let journal = small(state.path());
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    for day in 0..50 {
        let mut one = record(&format!("{day}"));
        one.at = start + SignedDuration::from_hours(24 * day);
        journal.append(vec![one]).unwrap();
    }
    journal.keep(start).unwrap();
    let since = start + SignedDuration::from_hours(24 * 40);
    let found = ids(&mut journal.reader_since(since).unwrap());
    assert!((10..20).contains(&found.len()), "{}", found.len());
    assert_eq!(found.last().map(String::as_str), Some("49"));
}

/// Someone removed it all: a follower of the old one reads the new one.
#[test]
fn a_new_journal_is_read_from_its_beginning() {
    let state = tempfile::tempdir().unwrap();
    let journal = small(state.path());
    fill(&journal, "a", 20);
    let mut reader = journal.reader();
    assert_eq!(ids(&mut reader).len(), 20);
    fs::remove_dir_all(journal.folder()).unwrap();
    assert_eq!(ids(&mut reader), [] as [&str; 0]);
    fill(&journal, "b", 2);
    assert_eq!(ids(&mut reader), ["b0", "b1"]);
    let open = segment::current(journal.folder()).unwrap();
    fs::remove_file(journal.folder().join(open.as_str())).unwrap();
    fill(&journal, "c", 1);
    assert_eq!(ids(&mut reader), ["c0"]);
}

/// The next file exists, and the link does not lead to it yet: writers still append here.
#[test]
fn a_reader_does_not_leave_before_the_link_does() {
    let state = tempfile::tempdir().unwrap();
    let journal = small(state.path());
    fill(&journal, "a", 2);
    let next = journal.folder().join("00000002.jsonl");
    fs::write(&next, "").unwrap();
    let mut reader = journal.reader();
    assert_eq!(ids(&mut reader).len(), 2);
    fill(&journal, "b", 1);
    assert_eq!(ids(&mut reader), ["b0"]);
    let link = journal.folder().join("current");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("00000002.jsonl", &link).unwrap();
    fill(&journal, "c", 1);
    assert_eq!(ids(&mut reader), ["c0"]);
}

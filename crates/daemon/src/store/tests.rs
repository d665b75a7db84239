//! Tests of the store in a single process. Crashes and a full disk: `tests/store.rs`.

mod damage;
mod versions;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Small segments, so that few entries fill several.
const SMALL: StoreOptions = StoreOptions { sync: false, segment_bytes: 200, snapshot_every: 4 };
/// Segments that only end with a snapshot.
const LARGE: StoreOptions = StoreOptions { sync: false, segment_bytes: 1 << 20, snapshot_every: 4 };

/// Creates a folder, in memory if possible: a disk would only slow the tests down.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn entry(number: u64) -> Value {
    json!({ "number": number, "text": "ä\n\"" })
}

fn entries(from: u64, to: u64) -> Vec<Value> {
    (from..=to).map(entry).collect()
}

/// Returns the numbers in what was recovered: the state is the list of all numbers up to it.
fn numbers(recovered: &RecoveredStore) -> Vec<u64> {
    let mut numbers: Vec<u64> = match &recovered.snapshot {
        None => Vec::new(),
        Some(state) => serde_json::from_value(state.clone()).unwrap(),
    };
    for (sequence, value) in &recovered.entries {
        assert_eq!(*sequence, numbers.len() as u64 + 1);
        assert_eq!(*value, entry(*sequence));
        numbers.push(*sequence);
    }
    numbers
}

fn up_to(last: u64) -> Vec<u64> {
    (1..=last).collect()
}

/// Returns the files of the store with their content.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("lock"))
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

fn names(folder: &Path) -> Vec<String> {
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    contents(folder).iter().map(|(path, _)| name(path)).collect()
}

/// Replaces the content of a folder.
fn restore(folder: &Path, files: &[(PathBuf, Vec<u8>)]) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir(folder).unwrap();
    for (path, bytes) in files {
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn what_was_appended_is_there_again() {
    let scratch = scratch();
    let folder = scratch.path().join("a/store");
    let (mut store, recovered) = Store::open(&folder, StoreOptions::default()).unwrap();
    assert_eq!(recovered, RecoveredStore::default());
    assert_eq!(store.append(&entries(1, 3)).unwrap(), 3);
    assert_eq!(store.append(&entries(1, 0)).unwrap(), 3);
    assert_eq!(store.append(&entries(4, 4)).unwrap(), 4);
    drop(store);
    let (store, recovered) = Store::open(&folder, StoreOptions::default()).unwrap();
    assert_eq!((store.last(), store.folder()), (4, &*folder));
    assert_eq!(numbers(&recovered), up_to(4));
    assert_eq!(recovered.notes, Vec::<String>::new());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("lock")), 0o600);
    assert_eq!(mode(&folder.join(segment_name(1))), 0o600);
}

#[test]
fn a_file_is_lines_of_plain_json() {
    let scratch = scratch();
    let (mut store, _) = Store::open(scratch.path(), LARGE).unwrap();
    store.append(&entries(1, 2)).unwrap();
    let text = fs::read_to_string(scratch.path().join(segment_name(1))).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["anyhook"], &lines[0]["v"]), (&json!("store"), &json!(schema::VERSION)));
    assert_eq!((&lines[1]["n"], &lines[1].get("batch")), (&json!(1), &None));
    assert_eq!((&lines[2]["n"], &lines[2]["batch"]), (&json!(2), &json!(1)));
    assert_eq!(lines[2]["entry"], entry(2));
}

#[test]
fn only_one_at_a_time() {
    let scratch = scratch();
    let first = Store::open(scratch.path(), LARGE).unwrap();
    for error in [
        Store::open(scratch.path(), LARGE).unwrap_err(),
        Store::repair(scratch.path()).unwrap_err(),
    ] {
        let StoreError::Locked { pid, .. } = error else { panic!("{error}") };
        assert_eq!(pid, Some(std::process::id()));
    }
    drop(first);
    Store::open(scratch.path(), LARGE).unwrap();
}

#[test]
fn a_snapshot_takes_the_place_of_what_it_covers() {
    let scratch = scratch();
    let (mut store, _) = Store::open(scratch.path(), SMALL).unwrap();
    for number in 1..=12 {
        assert_eq!(store.wants_snapshot(), matches!(number, 5 | 9), "{number}");
        if store.wants_snapshot() {
            store.snapshot(&up_to(number - 1)).unwrap();
        }
        store.append(&[entry(number)]).unwrap();
    }
    // The older of two snapshots, and everything since then.
    assert_eq!(names(scratch.path()).first(), Some(&segment_name(5)));
    let snapshots = [snapshot_name(4), snapshot_name(8)];
    assert!(names(scratch.path()).ends_with(&snapshots), "{:?}", names(scratch.path()));
    drop(store);
    let (store, recovered) = Store::open(scratch.path(), SMALL).unwrap();
    assert_eq!(recovered.snapshot, Some(json!(up_to(8))));
    assert_eq!(numbers(&recovered), up_to(12));
    assert!(store.wants_snapshot());
}

#[test]
fn a_reader_that_lags_is_told_how_far_back_it_can_go() {
    let scratch = scratch();
    let (mut store, _) = Store::open(scratch.path(), SMALL).unwrap();
    let read = |store: &Store, after: u64| {
        let mut read = Vec::new();
        let reach = store.read_after(after, &mut |sequence, value| {
            assert_eq!(value, entry(sequence));
            read.push(sequence);
        });
        (reach.unwrap(), read)
    };
    assert_eq!(read(&store, 0), (HistoryReach::Complete, vec![]));
    for number in 1..=10 {
        store.append(&[entry(number)]).unwrap();
        if number % 4 == 0 {
            store.snapshot(&up_to(number)).unwrap();
        }
    }
    for after in 4..12 {
        assert_eq!(read(&store, after), (HistoryReach::Complete, (after + 1..=10).collect()));
    }
    for after in 0..4 {
        assert_eq!(read(&store, after), (HistoryReach::BeginsAt(5), vec![]));
    }
}

#[test]
fn what_could_not_be_read_again_is_refused() {
    let scratch = scratch();
    let (mut store, _) = Store::open(scratch.path(), LARGE).unwrap();
    let nested = |depth: usize| {
        (0..depth).fold(json!("]}[{\\\""), |inner, level| {
            if level % 2 == 0 { json!([inner]) } else { json!({ "a": inner }) }
        })
    };
    store.append(&[nested(127)]).unwrap();
    let before = contents(scratch.path());
    for error in [
        store.append(&[nested(1), nested(128)]).unwrap_err(),
        store.append(&[std::collections::BTreeMap::from([(vec![1], 2)])]).unwrap_err(),
        store.snapshot(&nested(128)).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::NotJson(_)), "{error}");
    }
    assert_eq!(contents(scratch.path()), before);
    store.append(&[nested(2)]).unwrap();
    drop(store);
    let (_, recovered) = Store::open(scratch.path(), LARGE).unwrap();
    assert_eq!(recovered.entries, [(1, nested(127)), (2, nested(2))]);
}

/// A disk that is permanently full, and one that fails: devices that behave like that.
#[test]
fn a_store_in_doubt_must_be_opened_again() {
    for (device, sync) in [("/dev/full", false), ("/dev/null", true)] {
        let scratch = scratch();
        let (mut store, _) = Store::open(scratch.path(), StoreOptions { sync, ..LARGE }).unwrap();
        store.append(&entries(1, 2)).unwrap();
        let real = std::mem::replace(
            &mut store.segment.file,
            OpenOptions::new().write(true).open(device).unwrap(),
        );
        let error = store.append(&entries(3, 3)).unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{device}: {error}");
        store.segment.file = real;
        for error in
            [store.append(&entries(3, 3)).unwrap_err(), store.snapshot(&up_to(2)).unwrap_err()]
        {
            assert!(matches!(error, StoreError::Poisoned { .. }), "{device}: {error}");
        }
        assert_eq!(store.last(), 2);
        drop(store);
        let (mut store, recovered) = Store::open(scratch.path(), LARGE).unwrap();
        assert_eq!(numbers(&recovered), up_to(2));
        assert_eq!(store.append(&entries(3, 3)).unwrap(), 3);
    }
}

/// A segment never contains entries from before and after a snapshot, so that each can be removed
/// without the other.
#[test]
fn a_segment_that_could_not_be_begun_is_begun_later() {
    let scratch = scratch();
    let (mut store, _) = Store::open(scratch.path(), LARGE).unwrap();
    store.append(&entries(1, 2)).unwrap();
    let obstacle = scratch.path().join(format!("{}.new", segment_name(3)));
    fs::create_dir(&obstacle).unwrap();
    store.snapshot(&up_to(2)).unwrap_err();
    store.append(&entries(3, 3)).unwrap_err();
    fs::remove_dir(&obstacle).unwrap();
    assert_eq!(store.append(&entries(3, 3)).unwrap(), 3);
    drop(store);
    assert!(scratch.path().join(segment_name(3)).exists());
    let (_, recovered) = Store::open(scratch.path(), LARGE).unwrap();
    assert_eq!(recovered.entries.len(), 1);
    assert_eq!(numbers(&recovered), up_to(3));
}

#[test]
fn what_is_written_ahead_is_no_entry_and_goes_when_a_segment_is_closed() {
    let scratch = scratch();
    let options = StoreOptions { sync: true, segment_bytes: 1000, snapshot_every: 0 };
    let (mut store, _) = Store::open(scratch.path(), options).unwrap();
    let length = |first: u64| fs::metadata(scratch.path().join(segment_name(first))).unwrap().len();
    store.append(&entries(1, 1)).unwrap();
    assert_eq!(length(1), 1000);
    store.append(&entries(2, 3)).unwrap();
    assert_eq!(length(1), 1000);
    let mut read = Vec::new();
    store.read_after(0, &mut |sequence, _| read.push(sequence)).unwrap();
    assert_eq!(read, [1, 2, 3]);
    let end = store.segment.end;

    // As after `kill -9`.
    let files = contents(scratch.path());
    drop(store);
    assert_eq!(length(1), end);
    fs::write(&files[0].0, &files[0].1).unwrap();
    let (mut store, recovered) = Store::open(scratch.path(), options).unwrap();
    assert_eq!((numbers(&recovered), recovered.notes.len()), (up_to(3), 0));
    store.append(&entries(4, 4)).unwrap();
    assert_eq!(length(1), 1000);
    store.snapshot(&up_to(4)).unwrap();
    assert!(length(1) < 1000 && length(1) > end);
    drop(store);
    assert_eq!(numbers(&Store::open(scratch.path(), options).unwrap().1), up_to(4));
}

#[test]
fn numbers_are_kept_to_the_digit() {
    let scratch = scratch();
    let (mut store, _) = Store::open(scratch.path(), LARGE).unwrap();
    let value: Value =
        serde_json::from_str("[1.50, 123456789012345678901234567890, 1e400]").unwrap();
    store.append(std::slice::from_ref(&value)).unwrap();
    store.snapshot(&value).unwrap();
    store.append(std::slice::from_ref(&value)).unwrap();
    drop(store);
    let (_, recovered) = Store::open(scratch.path(), LARGE).unwrap();
    assert_eq!(recovered.snapshot, Some(value.clone()));
    assert_eq!(recovered.entries, [(2, value)]);
}

#[derive(Clone, Debug)]
enum Act {
    Append(u64),
    Snapshot,
    Reopen,
    Read(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..6_u64).prop_map(Act::Append),
        1 => Just(Act::Snapshot),
        1 => Just(Act::Reopen),
        1 => (0..60_u64).prop_map(Act::Read),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is done, the store contains what a list would.
    #[test]
    fn a_store_is_a_list(acts in prop::collection::vec(act(), 1..40), segment_bytes in 50..600_u64) {
        let scratch = scratch();
        let options = StoreOptions { sync: false, segment_bytes, snapshot_every: 5 };
        let (mut store, _) = Store::open(scratch.path(), options).unwrap();
        let mut last = 0;
        for act in acts.into_iter().chain([Act::Reopen]) {
            match act {
                Act::Append(count) => {
                    last += count;
                    let appended = store.append(&entries(last - count + 1, last)).unwrap();
                    prop_assert_eq!(appended, last);
                }
                Act::Snapshot => store.snapshot(&up_to(last)).unwrap(),
                Act::Reopen => {
                    drop(store);
                    let (again, recovered) = Store::open(scratch.path(), options).unwrap();
                    prop_assert_eq!(numbers(&recovered), up_to(last));
                    prop_assert!(recovered.notes.is_empty());
                    store = again;
                }
                Act::Read(after) => {
                    let mut read = Vec::new();
                    match store.read_after(after, &mut |sequence, _| read.push(sequence)).unwrap() {
                        HistoryReach::Complete => {
                            prop_assert_eq!(read, (after + 1..=last).collect::<Vec<_>>());
                        }
                        HistoryReach::BeginsAt(oldest) => prop_assert!(oldest > after + 1 && read.is_empty()),
                    }
                }
            }
        }
    }
}

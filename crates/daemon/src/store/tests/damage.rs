//! Tests with truncated files, changed bytes and missing files.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::files::{segment_name, snapshot_name};
use super::super::{RecoveredStore, Store, StoreError};
use super::{LARGE, contents, entries, names, numbers, restore, scratch, up_to};

/// Fills a store: snapshots after 4 and 8, then entries 9, 10 and, together, 11 to 13.
fn fill(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut store, _) = Store::open(folder, LARGE).unwrap();
    store.append(&entries(1, 4)).unwrap();
    store.snapshot(&up_to(4)).unwrap();
    store.append(&entries(5, 8)).unwrap();
    store.snapshot(&up_to(8)).unwrap();
    store.append(&entries(9, 9)).unwrap();
    store.append(&entries(10, 10)).unwrap();
    store.append(&entries(11, 13)).unwrap();
    drop(store);
    let files = [segment_name(5), segment_name(9), snapshot_name(4), snapshot_name(8)];
    assert_eq!(names(folder), files);
    contents(folder)
}

fn open(folder: &Path) -> Result<RecoveredStore, StoreError> {
    let (mut store, recovered) = Store::open(folder, LARGE)?;
    // It can be used, and then contains what it should.
    let last = store.last();
    store.append(&entries(last + 1, last + 2)).unwrap();
    drop(store);
    let (_, again) = Store::open(folder, LARGE).unwrap();
    assert_eq!(numbers(&again), up_to(last + 2));
    assert!(again.notes.is_empty(), "{:?}", again.notes);
    Ok(recovered)
}

fn breaks(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

/// Returns how many bytes were moved away.
fn aside(folder: &Path) -> usize {
    let is_aside =
        |path: &Path| path.file_name().unwrap().to_str().unwrap().starts_with("damaged-");
    contents(folder).iter().filter(|(path, _)| is_aside(path)).map(|(_, bytes)| bytes.len()).sum()
}

#[test]
fn an_end_that_is_cut_off_anywhere_loses_what_is_cut_off() {
    let scratch = scratch();
    let folder = scratch.path().join("store");
    let files = fill(&folder);
    let (path, bytes) = &files[1];
    for length in 0..=bytes.len() {
        restore(&folder, &files);
        fs::write(path, &bytes[..length]).unwrap();
        let lines = breaks(&bytes[..length]) as u64;
        let torn = bytes[..length].iter().rev().take_while(|byte| **byte != b'\n').count();
        let recovered = open(&folder).unwrap_or_else(|error| panic!("{length}: {error}"));
        assert_eq!(numbers(&recovered), up_to(8 + lines.saturating_sub(1)), "{length}");
        assert_eq!(aside(&folder), torn, "{length}");
        assert_eq!(recovered.notes.len(), usize::from(torn > 0), "{length}: {recovered:?}");
    }
}

/// What may be lost when one byte of a file is changed:
///
/// - a snapshot: nothing; the log since the older one is there;
/// - the segment before the snapshot: it is an error, and nothing is lost by repairing;
/// - the last segment before its last append: it is an error, and everything before that entry
///   survives the repair;
/// - the last append: it is cut off from that entry on.
#[test]
fn a_changed_byte_anywhere_is_noticed() {
    let scratch = scratch();
    let folder = scratch.path().join("store");
    let files = fill(&folder);
    for (file, (path, bytes)) in files.iter().enumerate() {
        for (place, mask) in (0..bytes.len()).flat_map(|place| [(place, 1), (place, 0x80)]) {
            restore(&folder, &files);
            let mut changed = bytes.clone();
            changed[place] ^= mask;
            fs::write(path, &changed).unwrap();
            // The entry whose line it is in; 8 is the header.
            let hit = 8 + breaks(&bytes[..place]) as u64;
            let kept = match file {
                1 => up_to(hit.max(9) - 1),
                _ => up_to(13),
            };
            let must_refuse = file == 0 || file == 1 && hit < 11;
            let what = format!("{} byte {place}", path.display());
            match open(&folder) {
                Ok(recovered) => {
                    assert!(!must_refuse, "{what}");
                    assert_eq!(numbers(&recovered), kept, "{what}");
                    let is_seen = file != 2;
                    assert_eq!(
                        recovered.notes.len(),
                        usize::from(is_seen),
                        "{what}: {recovered:?}"
                    );
                }
                Err(error) => {
                    assert!(must_refuse, "{what}: {error}");
                    let StoreError::Damaged(damage) = error else { panic!("{what}: {error}") };
                    assert_eq!(&damage.file, path);
                    let begin = usize::try_from(damage.byte).unwrap();
                    assert!(begin <= place && !bytes[begin..place].contains(&b'\n'), "{what}");
                    let line = breaks(&bytes[..begin]) + 1;
                    assert_eq!(damage.line, line as u64);
                    let mut now = files.clone();
                    now[file].1 = changed;
                    assert_eq!(contents(&folder), now, "{what}: nothing may be touched");

                    assert!(Store::repair(&folder).unwrap().len() > 1, "{what}");
                    assert_eq!(Store::repair(&folder).unwrap(), Vec::<String>::new(), "{what}");
                    assert!(aside(&folder) > 0, "{what}");
                    assert_eq!(numbers(&open(&folder).unwrap()), kept, "{what}");
                }
            }
        }
    }
}

/// The end of a write may be missing where line breaks were written ahead.
#[test]
fn an_end_that_did_not_get_written_over_what_was_ahead() {
    let scratch = scratch();
    let folder = scratch.path().join("store");
    let files = fill(&folder);
    let (path, bytes) = &files[1];
    for length in 0..=bytes.len() {
        restore(&folder, &files);
        let mut filled = bytes[..length].to_vec();
        filled.resize(bytes.len() + 500, b'\n');
        fs::write(path, &filled).unwrap();
        // A line that lacked nothing but its line break has got one.
        let is_whole = length < bytes.len() && bytes[length] == b'\n';
        let lines = breaks(&bytes[..length]);
        let lines = (lines + usize::from(is_whole)) as u64;
        let torn = bytes[..length].iter().rev().take_while(|byte| **byte != b'\n').count();
        let is_torn = torn > 0 && !is_whole;
        let recovered = open(&folder).unwrap_or_else(|error| panic!("{length}: {error}"));
        assert_eq!(numbers(&recovered), up_to(8 + lines.saturating_sub(1)), "{length}");
        let is_noted = is_torn || length == 0;
        assert_eq!(recovered.notes.len(), usize::from(is_noted), "{length}: {recovered:?}");
        if is_torn && lines > 0 {
            assert_eq!(aside(&folder), torn + 1, "{length}");
        }
    }
}

/// Parts of the last write may reach the disk in any order.
#[test]
fn a_hole_in_the_last_append_is_a_torn_end() {
    let scratch = scratch();
    let folder = scratch.path().join("store");
    let files = fill(&folder);
    let (path, bytes) = &files[1];
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for (hole, last) in [(3, 10), (4, 11), (5, 12)] {
        restore(&folder, &files);
        let zeros = vec![0; lines[hole].len()];
        let mut with_hole = lines.clone();
        with_hole[hole] = &zeros;
        fs::write(path, with_hole.concat()).unwrap();
        assert_eq!(numbers(&open(&folder).unwrap()), up_to(last));
    }
}

#[test]
fn whole_lines_missing_in_the_middle_are_noticed() {
    let scratch = scratch();
    let folder = scratch.path().join("store");
    let files = fill(&folder);
    let (path, bytes) = &files[1];
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    lines.remove(1);
    restore(&folder, &files);
    fs::write(path, lines.concat()).unwrap();
    let error = open(&folder).unwrap_err().to_string();
    assert!(error.ends_with("found entry 10 where 9 was expected"), "{error}");
}

/// A header was on disk before any entry: a bad one is not a torn end, however few entries follow.
#[test]
fn a_bad_header_before_the_only_append_is_no_torn_end() {
    let scratch = scratch();
    let (mut store, _) = Store::open(scratch.path(), LARGE).unwrap();
    store.append(&entries(1, 2)).unwrap();
    drop(store);
    let path = scratch.path().join(segment_name(1));
    let mut bytes = fs::read(&path).unwrap();
    bytes[3] ^= 1;
    fs::write(&path, bytes).unwrap();
    let StoreError::Damaged(damage) = open(scratch.path()).unwrap_err() else { panic!() };
    assert_eq!((damage.line, damage.byte), (1, 0));
    Store::repair(scratch.path()).unwrap();
    assert_eq!(numbers(&open(scratch.path()).unwrap()), up_to(0));
}

/// What a snapshot covers was on disk before it: a log that does not reach that far is damaged.
#[test]
fn a_log_that_ends_before_its_snapshot_is_noticed() {
    for is_snapshot_good in [true, false] {
        let scratch = scratch();
        let (mut store, _) = Store::open(scratch.path(), LARGE).unwrap();
        store.append(&entries(1, 4)).unwrap();
        store.snapshot(&up_to(4)).unwrap();
        drop(store);
        fs::remove_file(scratch.path().join(segment_name(5))).unwrap();
        let path = scratch.path().join(segment_name(1));
        let text = fs::read_to_string(&path).unwrap();
        let cut: String = text.split_inclusive('\n').take(3).collect();
        fs::write(&path, &cut).unwrap();
        if !is_snapshot_good {
            fs::write(scratch.path().join(snapshot_name(4)), "{}\n").unwrap();
        }
        let StoreError::Damaged(damage) = open(scratch.path()).unwrap_err() else { panic!() };
        assert_eq!((damage.line, damage.byte), (4, cut.len() as u64));
        assert_eq!(damage.why, "entries 3 to 4 are missing at its end");
        Store::repair(scratch.path()).unwrap();
        let kept = if is_snapshot_good { 4 } else { 2 };
        assert_eq!(numbers(&open(scratch.path()).unwrap()), up_to(kept));
    }
}

/// Any set of files may be missing: opening the store fails, or nothing is lost.
#[test]
fn missing_files_are_noticed() {
    let scratch = scratch();
    let folder = scratch.path().join("store");
    let files = fill(&folder);
    for missing in 1..1_u32 << files.len() {
        restore(&folder, &files);
        for (index, (path, _)) in files.iter().enumerate() {
            if missing & 1 << index != 0 {
                fs::remove_file(path).unwrap();
            }
        }
        let all = missing == 0b1111;
        match open(&folder) {
            // The last segment or everything: nothing is left that could show it.
            Ok(recovered) if missing & 0b10 != 0 => {
                let last = if all { 0 } else { 8 };
                assert_eq!(numbers(&recovered), up_to(last), "{missing:b}");
            }
            Ok(recovered) => {
                assert_eq!(numbers(&recovered), up_to(13), "{missing:b}");
            }
            Err(StoreError::Damaged(_)) => {
                Store::repair(&folder).unwrap();
                let kept = numbers(&open(&folder).unwrap());
                assert!([0, 4, 8, 13].contains(&kept.len()), "{missing:b}: {kept:?}");
            }
            Err(error) => panic!("{missing:b}: {error}"),
        }
    }
}

#[test]
fn both_snapshots_lost_and_the_log_not_from_the_beginning() {
    let scratch = scratch();
    let folder = scratch.path().join("store");
    let files = fill(&folder);
    for index in [2, 3] {
        fs::write(&files[index].0, "{}\n").unwrap();
    }
    let error = open(&folder).unwrap_err();
    assert!(error.to_string().ends_with("entries 1 to 4 before it are missing"), "{error}");
    assert!(error.hint().contains("--repair"));
    let notes = Store::repair(&folder).unwrap();
    assert!(notes.len() > 4, "{notes:?}");
    assert_eq!(numbers(&open(&folder).unwrap()), up_to(0));
}

#[test]
fn the_only_snapshot_lost_and_the_log_from_the_beginning() {
    let scratch = scratch();
    let (mut store, _) = Store::open(scratch.path(), LARGE).unwrap();
    store.append(&entries(1, 4)).unwrap();
    store.snapshot(&up_to(4)).unwrap();
    store.append(&entries(5, 5)).unwrap();
    drop(store);
    fs::write(scratch.path().join(snapshot_name(4)), "").unwrap();
    let recovered = open(scratch.path()).unwrap();
    assert_eq!((recovered.snapshot.is_none(), recovered.notes.len()), (true, 1));
    assert_eq!(numbers(&recovered), up_to(5));
}

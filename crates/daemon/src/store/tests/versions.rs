//! Tests that older versions are migrated, and newer ones are not touched.

use std::collections::BTreeSet;
use std::fs;

use anyhook_flow::{DaemonState, NoticeName};
use anyhook_model::RecordId;
use serde_json::{Value, json};

use super::super::schema::{CURRENT, MigratedKind, Migration, StoreSchema, VERSION};
use super::super::{Store, StoreError, StoreOptions, files};
use super::contents;

const OPTIONS: StoreOptions =
    StoreOptions { sync: false, segment_bytes: 1 << 20, snapshot_every: 0 };

/// From 1 to 2 a number becomes an object, from 2 to 3 that gets a unit; a state is a sum.
const STEPS: [Migration; 2] = [
    Migration {
        from: 1,
        apply: |kind, value| match kind {
            MigratedKind::Entry => Ok(json!({ "value": value })),
            MigratedKind::Snapshot => Ok(json!({ "sum": value })),
        },
    },
    Migration {
        from: 2,
        apply: |_, mut value| {
            value.as_object_mut().ok_or("it is no object")?.insert("unit".into(), json!("m"));
            Ok(value)
        },
    },
];

fn schema(version: u32) -> StoreSchema {
    StoreSchema { version, migrations: &STEPS }
}

#[test]
fn two_older_versions_are_brought_to_the_third() {
    let scratch = tempfile::tempdir().unwrap();
    let open = |version| Store::open_as(scratch.path(), OPTIONS, schema(version)).unwrap();
    let (mut store, _) = open(1);
    store.append(&[1, 2]).unwrap();
    store.snapshot(&3).unwrap();
    store.append(&[3]).unwrap();
    drop(store);
    let (mut store, recovered) = open(2);
    assert_eq!(recovered.snapshot, Some(json!({ "sum": 3 })));
    assert_eq!(recovered.entries, [(3, json!({ "value": 3 }))]);
    assert_eq!(recovered.notes, ["migrated from version 1 to 2"]);
    store.append(&[json!({ "value": 4 })]).unwrap();
    drop(store);
    let (mut store, recovered) = open(3);
    assert_eq!(recovered.snapshot, Some(json!({ "sum": 3, "unit": "m" })));
    let new = |number: u64| json!({ "value": number, "unit": "m" });
    assert_eq!(recovered.entries, [(3, new(3)), (4, new(4))]);
    store.append(&[new(5)]).unwrap();
    let mut read = Vec::new();
    store.read_after(2, &mut |_, value| read.push(value)).unwrap();
    assert_eq!(read, [new(3), new(4), new(5)]);
    drop(store);
    assert_eq!(open(3).1.entries.len(), 3);
}

#[test]
fn what_cannot_be_brought_up_is_refused_and_left_alone() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open_as(scratch.path(), OPTIONS, schema(2)).unwrap();
    store.append(&["no object"]).unwrap();
    drop(store);
    let before = contents(scratch.path());
    let failed = |schema| Store::open_as(scratch.path(), OPTIONS, schema).unwrap_err();
    let error = failed(schema(3));
    assert!(
        error.to_string().ends_with("cannot be migrated from version 2: it is no object"),
        "{error}"
    );
    let error = failed(StoreSchema { version: 3, migrations: &STEPS[..1] });
    assert!(matches!(error, StoreError::Migration { from: 2, .. }), "{error}");
    assert_eq!(contents(scratch.path()), before);
}

#[test]
fn a_newer_version_is_refused_and_left_alone() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open_as(scratch.path(), OPTIONS, schema(VERSION + 1)).unwrap();
    store.append(&[1]).unwrap();
    drop(store);
    let newer = || {
        for error in [
            Store::open(scratch.path(), OPTIONS).unwrap_err(),
            Store::repair(scratch.path()).unwrap_err(),
        ] {
            assert!(matches!(error, StoreError::Newer { known: VERSION, .. }), "{error}");
            assert_eq!(error.hint(), "update anyhook");
        }
    };
    let before = contents(scratch.path());
    newer();
    assert_eq!(contents(scratch.path()), before);

    // A version that ends its lines in another way.
    let segment = scratch.path().join(files::segment_name(1));
    fs::write(&segment, "{\"anyhook\":\"store\",\"v\":7,\"first\":1,\"hash\":\"x\"}\n").unwrap();
    newer();

    // Only a snapshot.
    fs::remove_file(segment).unwrap();
    let snapshot = super::super::line::snapshot(VERSION + 1, 1, &Value::Null).unwrap();
    fs::write(scratch.path().join(files::snapshot_name(1)), snapshot).unwrap();
    newer();
}

/// What a daemon of version 1 stored while an agent ran in `tmux` and another waited for a person.
#[test]
fn the_state_of_version_1_is_read() {
    let stored: Value = serde_json::from_str(include_str!("version_1.json")).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open_as(scratch.path(), OPTIONS, schema(1)).unwrap();
    store.snapshot(&stored["snapshot"]).unwrap();
    store.append(stored["entries"].as_array().unwrap()).unwrap();
    drop(store);
    let (_, recovered) = Store::open(scratch.path(), OPTIONS).unwrap();
    let mut state: DaemonState = serde_json::from_value(recovered.snapshot.unwrap()).unwrap();
    for (_, entry) in recovered.entries {
        state.apply(&serde_json::from_value(entry).unwrap(), &BTreeSet::new());
    }
    let present: Vec<(&str, bool, usize)> = state
        .pipelines
        .open()
        .filter_map(|open| Some((open, open.present()?)))
        .map(|(open, visit)| (visit.step.as_str(), visit.has_session, open.jobs().count()))
        .collect();
    assert_eq!(present, [("b", true, 1); 3]);
    let owed = state.outbox.job_ids().filter_map(|id| state.job_context(&id));
    assert_eq!(
        owed.map(|request| request.step).collect::<Vec<_>>(),
        [Some("b".to_owned()), Some("b".to_owned()), Some("b".to_owned())]
    );
    assert_eq!(state.outbox.notices, [NoticeName::Alarm(RecordId::from_text("a1"))].into());
    assert_eq!(state.outbox.alarms.len(), 1);
    assert_eq!(state.outbox.journal_lines.len(), 1);
    assert_eq!(state.inquiries.open().count(), 1);
}

#[test]
fn every_older_version_has_its_step() {
    let steps: Vec<u32> = CURRENT.migrations.iter().map(|step| step.from).collect();
    assert_eq!(steps, (1..CURRENT.version).collect::<Vec<_>>());
}

//! Failpoints at which a test may end the daemon as `kill -9` would:
//! [`anyhook_engine::failpoints`].

pub use anyhook_engine::failpoints::{end, is_due, point};

/// Every failpoint of the daemon. A test compares it with the calls in the sources.
pub const POINTS: &[&str] = &[
    "start.store.opened",
    "start.resumed",
    "core.journal.read",
    "core.journal.remembered",
    "core.stored",
    "core.acted",
    "core.pipeline.environment",
    "core.job.asked",
    "core.types",
    "pipelines.job.done",
    "runner.notify.begun",
    "runner.notify.launched",
    "runner.journal.begun",
    "runner.journal.written",
    "task.begin.started",
    "task.keeper.claimed",
    "task.keeper.started",
    "task.keeper.over",
    "task.keeper.written",
    "store.append.begun",
    "store.append.half",
    "store.append.written",
    "store.append.synced",
    "store.rotate.begun",
    "store.rotate.written",
    "store.rotate.synced",
    "store.rotate.renamed",
    "store.rotate.done",
    "store.snapshot.begun",
    "store.snapshot.written",
    "store.snapshot.synced",
    "store.snapshot.renamed",
    "store.snapshot.folder_synced",
    "store.snapshot.rotated",
    "store.tidy.snapshot_removed",
    "store.tidy.segment_removed",
    "store.recover.surveyed",
    "store.recover.leftover_removed",
    "store.recover.snapshot_moved",
    "store.recover.tail_copied",
    "store.recover.tail_cut",
    "store.repair.surveyed",
    "store.repair.snapshot_moved",
    "store.repair.segment_moved",
    "store.repair.tail_moved",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Counts the failpoints in the sources below a folder, except in this file.
    fn points_below(folder: &Path, found: &mut BTreeMap<String, usize>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                points_below(&path, found);
            } else if !path.ends_with("src/failpoints.rs") {
                let text = fs::read_to_string(&path).unwrap();
                for call in ["failpoints::point(\"", "failpoints::is_due(\""] {
                    for rest in text.split(call).skip(1) {
                        let name = rest.split('"').next().unwrap_or_default();
                        *found.entry(name.to_owned()).or_default() += 1;
                    }
                }
            }
        }
    }

    #[test]
    fn the_list_is_what_the_sources_have() {
        let mut found = BTreeMap::new();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        points_below(&folder.join("src"), &mut found);
        for name in POINTS {
            assert_eq!(found.remove(*name), Some(1), "{name} must be in the code, once");
        }
        assert!(found.is_empty(), "not in the list: {found:?}");
    }
}

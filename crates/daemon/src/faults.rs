//! Points at which a test may end the process as `kill -9` would.
//!
//! `ANYHOOK_FAULT=store.append.written` ends it when it first comes by that point,
//! `ANYHOOK_FAULT=store.append.written:3` at the third time. Only builds with debug assertions or the
//! feature `faults` look at the variable: what is shipped has no such points.

/// Every point there is. A test compares it with the calls in the sources.
pub const POINTS: &[&str] = &[
    "life.store.opened",
    "life.resumed",
    "core.journal.read",
    "core.journal.remembered",
    "core.stored",
    "core.acted",
    "core.pipeline.environment",
    "core.job.asked",
    "core.types",
    "pipelines.job.done",
    "doer.notify.begun",
    "doer.notify.launched",
    "doer.journal.begun",
    "doer.journal.written",
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
    "workflow.state.begun",
    "workflow.state.kept",
    "workflow.state.written",
];

/// Ends the process here if `ANYHOOK_FAULT` says so.
#[inline]
pub fn point(name: &str) {
    if is_due(name) {
        end();
    }
}

/// Tells whether the process is to end at this point, and counts that it came by.
///
/// For a point in the middle of a system call: the caller does half of it and calls [`end`].
#[cfg(any(debug_assertions, feature = "faults"))]
pub fn is_due(name: &str) -> bool {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static FAULT: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSES: AtomicU64 = AtomicU64::new(0);

    debug_assert!(POINTS.contains(&name), "{name} is not listed");
    let fault = FAULT.get_or_init(|| parse(&std::env::var("ANYHOOK_FAULT").ok()?));
    let Some((due, pass)) = fault else { return false };
    due == name && PASSES.fetch_add(1, Ordering::Relaxed) + 1 == *pass
}

/// What is shipped ends nowhere.
#[cfg(not(any(debug_assertions, feature = "faults")))]
#[inline]
pub fn is_due(_name: &str) -> bool {
    false
}

/// Ends the process as `kill -9` would: no destructor runs, nothing is flushed.
pub fn end() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

/// Reads `NAME` or `NAME:PASS`.
#[cfg(any(debug_assertions, feature = "faults"))]
fn parse(text: &str) -> Option<(String, u64)> {
    match text.split_once(':') {
        Some((name, pass)) => Some((name.to_owned(), pass.parse().ok()?)),
        None => Some((text.to_owned(), 1)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Counts the points in the sources below a folder, this file aside.
    fn points_below(folder: &Path, found: &mut BTreeMap<String, usize>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                points_below(&path, found);
            } else if !path.ends_with("src/faults.rs") {
                let text = fs::read_to_string(&path).unwrap();
                for call in ["faults::point(\"", "faults::is_due(\""] {
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
        points_below(&folder.join("../cli/src/workflow"), &mut found);
        for name in POINTS {
            assert_eq!(found.remove(*name), Some(1), "{name} must be in the code, once");
        }
        assert!(found.is_empty(), "not in the list: {found:?}");
    }

    #[test]
    fn a_point_may_have_a_pass() {
        assert_eq!(parse("a.b"), Some(("a.b".to_owned(), 1)));
        assert_eq!(parse("a.b:3"), Some(("a.b".to_owned(), 3)));
        assert_eq!(parse("a.b:x"), None);
    }
}

//! Repairs damage that keeps a store from being opened.

use std::path::Path;

use super::error::StoreError;
use super::files::{self, segment_name, snapshot_name};
use super::recovery::{Remedy, ScanError, cut, survey};
use super::schema::{self, StoreSchema};
use super::writer::SegmentWriter;
use crate::failpoints;

/// Keeps what is valid and moves the rest away. Returns what was done, in words: nothing if the
/// store is intact.
pub(super) fn repair(folder: &Path) -> Result<Vec<String>, StoreError> {
    files::make_folder(folder)?;
    let _lock = files::lock(folder)?;
    let schema = schema::CURRENT;
    let mut notes = Vec::new();
    loop {
        let broken = match survey(folder, &schema) {
            Ok(_) => return Ok(notes),
            Err(ScanError::Broken(broken)) => broken,
            Err(ScanError::Other(error)) => return Err(error),
        };
        failpoints::point("store.repair.surveyed");
        notes.push(broken.damage.to_string());
        apply(folder, &schema, broken.remedy, &mut notes)?;
        files::sync_folder(folder)?;
    }
}

/// Applies a remedy. Each one removes files or bytes, or adds the missing segment: so this
/// terminates.
fn apply(
    folder: &Path,
    schema: &StoreSchema,
    remedy: Remedy,
    notes: &mut Vec<String>,
) -> Result<(), StoreError> {
    match remedy {
        Remedy::MoveSnapshots(snapshots) => {
            for through in snapshots {
                move_aside(folder, &snapshot_name(through), notes)?;
                failpoints::point("store.repair.snapshot_moved");
            }
        }
        Remedy::MoveSegments(segments) => move_segments(folder, segments, notes)?,
        Remedy::Cut { segment, end } => {
            // The last first: if interrupted, what is left still has no gap.
            let mut after = files::list(folder)?.segments;
            after.retain(|first| *first > segment);
            after.reverse();
            move_segments(folder, after, notes)?;
            let name = segment_name(segment);
            if let Some((bytes, aside)) = cut(&folder.join(&name), end)? {
                notes.push(format!("moved the last {bytes} bytes of `{name}` to `{aside}`"));
            }
            failpoints::point("store.repair.tail_moved");
        }
        Remedy::Begin(first) => drop(SegmentWriter::begin(folder, schema, first)?),
    }
    Ok(())
}

fn move_segments(
    folder: &Path,
    segments: Vec<u64>,
    notes: &mut Vec<String>,
) -> Result<(), StoreError> {
    for first in segments {
        move_aside(folder, &segment_name(first), notes)?;
        failpoints::point("store.repair.segment_moved");
    }
    Ok(())
}

fn move_aside(folder: &Path, name: &str, notes: &mut Vec<String>) -> Result<(), StoreError> {
    let aside = files::move_aside(&folder.join(name))?;
    notes.push(format!("renamed `{name}` to `{aside}`"));
    Ok(())
}

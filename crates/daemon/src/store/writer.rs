//! Writes the current segment: created atomically, filled ahead with line breaks, truncated.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::error::{StoreError, cannot};
use super::files::{self, segment_name};
use super::line;
use super::schema::StoreSchema;
use crate::failpoints;

/// The segment that is being written.
#[derive(Debug)]
pub(super) struct SegmentWriter {
    pub file: File,
    pub path: PathBuf,
    pub first: u64,
    /// Where the next line goes.
    pub end: u64,
    /// Where the file ends: in between are line breaks.
    pub reserved: u64,
}

/// How many bytes are filled ahead with line breaks if appends wait for the disk.
///
/// Overwriting them changes bytes of one file and no metadata of the file system, which would have
/// to wait for what all other processes have written.
const RESERVE: u64 = 1024 * 1024;

impl SegmentWriter {
    /// Creates a segment that begins with a sequence number.
    pub fn begin(folder: &Path, schema: &StoreSchema, first: u64) -> Result<Self, StoreError> {
        failpoints::point("store.rotate.begun");
        let path = folder.join(segment_name(first));
        let mut header = Vec::with_capacity(128);
        line::write_header(schema.version, first, &mut header);
        let unfinished = files::begin(&path, &header)?;
        failpoints::point("store.rotate.written");
        unfinished.file.sync_all().map_err(cannot("synced", &path))?;
        failpoints::point("store.rotate.synced");
        let file = unfinished.put(&path).map_err(cannot("renamed", &path))?;
        failpoints::point("store.rotate.renamed");
        files::sync_folder(folder)?;
        failpoints::point("store.rotate.done");
        let end = header.len() as u64;
        Ok(Self { file, path, first, end, reserved: end })
    }

    /// Writes lines at the end, followed by line breaks if there are none left there, but not
    /// beyond `fill_to`.
    pub fn write(&mut self, lines: &mut Vec<u8>, fill_to: u64) -> io::Result<()> {
        let length = lines.len();
        if failpoints::is_due("store.append.half") {
            let _ = self.file.write_all_at(&lines[..length / 2], self.end);
            failpoints::end();
        }
        let end = self.end + length as u64;
        if end > self.reserved && end < fill_to {
            let fill = RESERVE.min(fill_to - end);
            lines.resize(length + usize::try_from(fill).unwrap_or(0), b'\n');
            if self.file.write_all_at(lines, self.end).is_ok() {
                self.reserved = end + fill;
                return Ok(());
            }
            // There may be room for the lines alone.
            lines.truncate(length);
            self.cut()?;
        }
        self.file.write_all_at(lines, self.end)?;
        self.reserved = self.reserved.max(end);
        Ok(())
    }

    /// Truncates the file at the end of the lines.
    pub fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.end)?;
        self.reserved = self.end;
        Ok(())
    }
}

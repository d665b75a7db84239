//! The binary encoding of an index, and how it is written to disk.
//!
//! ```text
//! 0   "anyhook\0"       8 bytes
//! 8   version           4
//! 12  head's length     4
//! 16  checksum          8   XXH3 of the head
//! 24  the head              its key, what is watched, what decides which hooks are asked
//! …   the rest              the hooks in full, each with a checksum of its own in the head
//! ```
//!
//! Numbers are little-endian; a text is its length and its bytes. Only the head is read at every
//! event.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use xxhash_rust::xxh3::xxh3_64;

use crate::atomic_file::{AtomicFile, create_private_dir};
use crate::regular_file::open_own_with_stat;

/// The magic bytes every index begins with.
const MAGIC: &[u8; 8] = b"anyhook\0";
/// The version of the format. An index of another version is rebuilt.
///
/// - 1: the first.
/// - 2: built with trust by repository, and with replacement agreed to separately.
/// - 3: tool names match in any case, with the canonical names of those that agents have.
/// - 4: conditions of matchers, and whether a hook may change the input.
/// - 5: what a hook reads on standard input.
const VERSION: u32 = 5;
/// Where the head begins.
const HEAD: usize = 24;

/// Returns the checksum of bytes.
pub fn checksum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// Returns the file name of the index for a key.
pub fn name(whose: &str) -> String {
    format!("{:016x}", checksum(whose.as_bytes()))
}

/// Assembles an index.
pub fn assemble(head: &[u8], rest: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(HEAD + head.len() + rest.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&u32::try_from(head.len()).ok()?.to_le_bytes());
    bytes.extend_from_slice(&checksum(head).to_le_bytes());
    bytes.extend_from_slice(head);
    bytes.extend_from_slice(rest);
    Some(bytes)
}

/// Returns the length of the beginning of an index, up to the end of its head; `None` if it is not
/// an index of ours.
pub fn head_end(bytes: &[u8]) -> Option<usize> {
    let mut reader = Decoder(bytes);
    let is_ours = reader.take(MAGIC.len())? == MAGIC && reader.number()? == VERSION;
    let length = reader.size()?;
    is_ours.then_some(HEAD.checked_add(length)?)
}

/// Returns the range of the head of an index whose beginning was read, if it is complete.
pub fn head(bytes: &[u8]) -> Option<Range<usize>> {
    let sum = stamp(bytes)?;
    let head = HEAD..head_end(bytes)?;
    (checksum(bytes.get(head.clone())?) == sum).then_some(head)
}

/// Returns the checksum of the head, as stored: it changes if anything does.
pub fn stamp(bytes: &[u8]) -> Option<u64> {
    Decoder(bytes.get(HEAD - size_of::<u64>()..)?).mark()
}

/// Writes an index atomically: it is complete from the moment it is visible.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    AtomicFile::new(path).replace_in(bytes, || create_private_dir(folder))
}

/// Tests whether an index could be written; leaves nothing behind.
pub fn try_writing(folder: &Path) -> io::Result<()> {
    create_private_dir(folder)?;
    tempfile::NamedTempFile::new_in(folder)?.write_all(&[0; 4096])
}

/// Opens an index, if only we can have written it.
pub fn open(path: &Path) -> Option<File> {
    let (file, stat) = open_own_with_stat(path, OFlags::RDONLY).ok()?;
    let others_write = Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH);
    (!others_write).then_some(file)
}

/// Encodes numbers and texts.
#[derive(Debug, Default)]
pub struct Encoder(pub Vec<u8>);

impl Encoder {
    /// Adds a small number.
    pub fn byte(&mut self, number: u8) {
        self.0.push(number);
    }

    /// Adds a number.
    pub fn number(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// Adds a size; none of ours comes close to the limit.
    pub fn size(&mut self, size: usize) {
        self.number(u32::try_from(size).unwrap_or(u32::MAX));
    }

    /// Adds a mark.
    pub fn mark(&mut self, mark: u64) {
        self.0.extend_from_slice(&mark.to_le_bytes());
    }

    /// Adds a text.
    pub fn text(&mut self, text: &str) {
        self.size(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }
}

/// Decodes what [`Encoder`] wrote; returns `None` once something is missing.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'bytes>(pub &'bytes [u8]);

impl<'bytes> Decoder<'bytes> {
    /// Takes this many bytes.
    pub fn take(&mut self, length: usize) -> Option<&'bytes [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes a small number.
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// Takes a number.
    pub fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Takes a size.
    pub fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    /// Takes a mark.
    pub fn mark(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// Takes the bytes of a text; most are never needed as one.
    pub fn raw_text(&mut self) -> Option<&'bytes [u8]> {
        let length = self.size()?;
        self.take(length)
    }

    /// Takes a text.
    pub fn text(&mut self) -> Option<&'bytes str> {
        std::str::from_utf8(self.raw_text()?).ok()
    }
}

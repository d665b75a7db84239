//! Verifies the integrity of the journal: every seal, every record, every long text.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;

use anyhook_model::report::{BrokenPlace, VerifyReport};
use rustix::fs::OFlags;

use super::denied::Denials;
use super::line::LineFault;
use super::reader::read_segment;
use super::retention::{SEALS, Seals, digest};
use super::{Journal, JournalPosition, SegmentName, long_text, segment};
use crate::regular_file::open_regular;

/// Reports what is wrong with a whole file.
fn broken(file: &str, why: impl Into<String>) -> BrokenPlace {
    BrokenPlace { file: file.to_owned(), line: None, offset: None, why: why.into() }
}

impl Journal {
    /// Reads all of it; calls `progress` with the bytes read so far.
    pub fn verify(&self, progress: &mut dyn FnMut(u64)) -> io::Result<VerifyReport> {
        let mut verified = VerifyReport::default();
        // A concurrent retention run would remove segments while we read them.
        let lock = open_regular(&self.folder.join(SEALS), OFlags::RDONLY).ok();
        let _ = lock.as_ref().map(File::lock_shared);
        let seals = Seals::read(&self.folder)?;
        if let Some(line) = seals.broken {
            verified.broken.push(BrokenPlace {
                line: Some(line as u64),
                ..broken("seals.jsonl", "the seal chain is broken here")
            });
        }
        let segments = self.segments()?;
        let known: BTreeSet<&SegmentName> = segments.iter().collect();
        let by_segment = seals.by_segment();
        let mut missing: Vec<_> = by_segment
            .values()
            .filter(|seal| !seal.dropped && !known.contains(&seal.segment))
            .collect();
        missing.sort_by_key(|seal| seal.segment.clone());
        for seal in missing {
            let why = format!("it is missing, with {} records", seal.records);
            verified.broken.push(broken(seal.segment.as_str(), why));
        }
        verified.dropped = by_segment.values().filter(|seal| seal.dropped).count();
        let open = segment::current(&self.folder);
        let (mut denials, mut done) = (Denials::default(), 0);
        for name in &segments {
            verified.segments += 1;
            let before = verified.broken.len();
            let length = self.verify_segment(name, open.as_ref(), &mut verified, &mut denials)?;
            if let Some(seal) = by_segment.get(name).filter(|seal| !seal.dropped) {
                verified.sealed += 1;
                let is_as_sealed = digest(&self.path(name))? == (seal.sha256.clone(), seal.bytes);
                if !is_as_sealed && verified.broken.len() == before {
                    verified.broken.push(broken(name.as_str(), "it differs from what was sealed"));
                }
            }
            done += length;
            progress(done);
        }
        verified.denied_but_ran = denials.found();
        verified.whole = verified.broken.is_empty();
        Ok(verified)
    }

    fn verify_segment(
        &self,
        name: &SegmentName,
        open: Option<&SegmentName>,
        verified: &mut VerifyReport,
        denials: &mut Denials,
    ) -> io::Result<u64> {
        let from = JournalPosition { segment: name.clone(), offset: 0 };
        let end = read_segment(self, &from, &mut |found| {
            let checked = found.line.and_then(|line| line.record());
            let fault = match checked {
                Ok(record) => {
                    verified.records += 1;
                    verified.unchecked += u64::from(name.number().is_none());
                    verified.redacted += u64::from(!record.redacted.is_empty());
                    denials.take(&record);
                    let lost = record
                        .long
                        .iter()
                        .find_map(|text| long_text::read(text, record.at, &self.folder).err());
                    lost.map(|lost| format!("record {}: {lost}", record.id))
                }
                Err(LineFault::Torn) => {
                    verified.torn += 1;
                    None
                }
                // The first format had no checksums: a torn line looks like any other.
                Err(LineFault::NoRecord) if name.number().is_none() => {
                    verified.torn += 1;
                    None
                }
                Err(fault) => Some(fault.to_string()),
            };
            if let Some(why) = fault {
                verified.broken.push(BrokenPlace {
                    line: Some(found.number),
                    offset: Some(found.offset),
                    ..broken(name.as_str(), why)
                });
            }
        })?;
        let length = std::fs::metadata(self.path(name)).map_or(end, |metadata| metadata.len());
        if end < length && Some(name) != open {
            // The writer of the last line of a closed segment will not complete it.
            verified.torn += 1;
        }
        Ok(length)
    }
}

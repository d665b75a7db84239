//! Reads an existing index: checks whether it is current, and looks up the hooks for an event.
//!
//! It is read, not mapped: the few pages of a head are cheaper to read, and no one can crash a
//! guard by truncating a file that it has mapped.

use std::cell::OnceCell;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use anyhook_model::{Event, EventKind, SkipReason, Skipped, ToolCall};
use rustix::fs::{Mode, OFlags};

use super::build::{Details, HAS_CONDITIONS, MAY_CHANGE_INPUT, kind};
use super::encoding::{self, Decoder};
use super::file_stamp::{FileStamp, WatchExtent};
use super::{IndexKey, MatchedHooks};
use crate::discover::{HookStatus, InstalledHooks, MISMATCHES_NAMED, OmittedHooks};
use crate::hook::{self, EntryPoint, Hook, Level, Trust};
use crate::matcher::{self, CallTexts, Expression, Matcher, RequiredLiterals, conditions};
use crate::path_forms;
use crate::plan::{self, DueCheck, NotRunnable};
use crate::problem::{Problem, Severity};

/// How much is read first: the head of an index of a dozen hooks, and the length of a longer one.
const FIRST_READ: usize = 2 * 1024;
/// An index is not larger than this.
const LARGEST: usize = 256 * 1024 * 1024;

/// An index that was read, is complete, and has our key.
pub struct Index {
    file: File,
    /// The beginning of the file, with all of the head.
    bytes: Vec<u8>,
    /// The range of the head in it.
    head: Range<usize>,
}

/// How an index compares with one that was built just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They are equal.
    Same,
    /// They differ, and no edit since explains it.
    Different,
    /// They differ in what is watched, after an edit that is noticed when a hook has its turn.
    Outdated,
}

/// A hook as described in the head of an index.
#[derive(Clone, Copy)]
struct Indexed<'head> {
    rest: DetailsSpan,
    kinds: u32,
    /// The kind of the event that it is asked about.
    asked: u32,
    blocks_on_failure: bool,
    name: &'head [u8],
    base: &'head str,
    folder: &'head [u8],
    out: (u8, &'head [u8]),
    fault: Option<&'head [u8]>,
    hosts: Texts<'head>,
    tool: Need<'head>,
    pattern: Need<'head>,
    flags: u8,
    /// What its conditions need, if it has any.
    conditions: Option<IndexedPrefilter<'head>>,
}

/// What a call must contain so that a matcher's conditions may hold.
#[derive(Clone, Copy)]
struct IndexedPrefilter<'head> {
    programs: Texts<'head>,
    literals: Texts<'head>,
}

impl<'head> IndexedPrefilter<'head> {
    fn read(reader: &mut Decoder<'head>) -> Option<Self> {
        Some(Self { programs: Texts::read(reader)?, literals: Texts::read(reader)? })
    }

    fn may_match(&self, event: &Event) -> bool {
        let facts = conditions::of_event(event);
        let is_in = |texts: Texts<'_>, found: &dyn Fn(&str) -> bool| {
            texts.iter().any(|text| str::from_utf8(text).is_ok_and(found))
        };
        is_in(self.programs, &|program| facts.runs(program))
            || is_in(self.literals, &|literal| facts.names(literal, event))
    }
}

/// The size of a reference to the rest of a hook: two sizes and a mark.
const REST_PLACE: usize = 16;

/// Returns the key of an index; `None` if it is incomplete.
pub fn words(path: &std::path::Path) -> Option<String> {
    let mut bytes = Vec::new();
    io::Read::take(encoding::open(path)?, u64::try_from(LARGEST).ok()?)
        .read_to_end(&mut bytes)
        .ok()?;
    let head = encoding::head(&bytes)?;
    Decoder(&bytes[head]).text().map(str::to_owned)
}

/// Where the rest of a hook is stored, and its checksum.
#[derive(Clone, Copy)]
struct DetailsSpan {
    start: usize,
    length: usize,
    sum: u64,
}

/// What an expression needs.
#[derive(Clone, Copy)]
enum Need<'head> {
    NoExpression,
    Nothing,
    AnyOf(Texts<'head>),
    Exactly(Texts<'head>),
}

/// Texts stored one after another.
#[derive(Clone, Copy)]
struct Texts<'head> {
    count: usize,
    reader: Decoder<'head>,
}

impl<'head> Texts<'head> {
    fn read(reader: &mut Decoder<'head>) -> Option<Self> {
        let count = reader.size()?;
        let texts = Self { count, reader: *reader };
        for _ in 0..count {
            let length = reader.size()?;
            reader.take(length)?;
        }
        Some(texts)
    }

    fn iter(self) -> impl Iterator<Item = &'head [u8]> {
        let mut reader = self.reader;
        (0..self.count).map_while(move |_| reader.raw_text())
    }

    fn to_vec(self) -> Vec<String> {
        self.iter().map(text).collect()
    }
}

impl<'head> Need<'head> {
    fn read(reader: &mut Decoder<'head>) -> Option<Self> {
        let tag = reader.byte()?;
        let texts = Texts::read(reader)?;
        Some(match tag {
            0 => Self::NoExpression,
            1 => Self::Nothing,
            2 => Self::AnyOf(texts),
            3 => Self::Exactly(texts),
            _ => return None,
        })
    }

    fn expression(self, text: Option<String>, extent: matcher::MatchExtent) -> Option<Expression> {
        let needs = match self {
            Self::NoExpression => return None,
            Self::Nothing => RequiredLiterals::Nothing,
            Self::AnyOf(texts) => RequiredLiterals::AnyOf(texts.to_vec()),
            Self::Exactly(texts) => RequiredLiterals::Exactly(texts.to_vec()),
        };
        Some(Expression::trusted(text?, needs, extent))
    }
}

impl Index {
    /// Opens the index for a key: `None` if there is none, or it is incomplete, has another key, or
    /// is of another version.
    pub fn open(whose: &IndexKey) -> Option<Self> {
        let file = encoding::open(&whose.path)?;
        let mut bytes = Vec::with_capacity(FIRST_READ);
        rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes)).ok()?;
        let end = encoding::head_end(&bytes)?;
        if end > bytes.len() {
            let read = bytes.len();
            bytes.resize(Some(end).filter(|end| *end <= LARGEST)?, 0);
            file.read_exact_at(&mut bytes[read..], u64::try_from(read).ok()?).ok()?;
        }
        let head = encoding::head(&bytes)?;
        let is_ours = Decoder(&bytes[head.clone()]).text()? == whose.words;
        is_ours.then_some(Self { file, bytes, head })
    }

    /// Returns whether everything watched at every event is unchanged: then the index is used.
    pub fn is_current(&self) -> bool {
        let mut reader = Decoder(&self.bytes[self.head.clone()]);
        let mut look = || {
            reader.text()?;
            reader.text()?;
            HookFolders::open(&mut reader)?.are_as_they_were(&mut reader)
        };
        look().is_some()
    }

    /// Compares it with the bytes of another index.
    ///
    /// A hook whose script was changed since is not fully compared: before it has its turn, the
    /// hooks are read again.
    pub fn compare(&self, other: &[u8]) -> Comparison {
        self.compare_parts(other).unwrap_or(Comparison::Different)
    }

    fn compare_parts(&self, other: &[u8]) -> Option<Comparison> {
        let whole = self.whole()?;
        let (ours, others) = (Parts::of(&whole)?, Parts::of(other)?);
        if ours.hooks.len() != others.hooks.len() {
            return Some(Comparison::Different);
        }
        let mut has_stale = false;
        for (our, their) in ours.hooks.iter().zip(&others.hooks) {
            let is_stale = our.is_stale();
            has_stale |= is_stale;
            if our.head != their.head || (our.rest != their.rest && !is_stale) {
                return Some(Comparison::Different);
            }
        }
        Some(match ours.before == others.before {
            true => Comparison::Same,
            // A file that was added to a guard is watched from the next index on.
            false if has_stale => Comparison::Outdated,
            false => Comparison::Different,
        })
    }

    fn whole(&self) -> Option<Vec<u8>> {
        let length = usize::try_from(self.file.metadata().ok()?.len()).ok()?;
        let mut bytes = vec![0; Some(length).filter(|length| *length <= LARGEST)?];
        self.file.read_exact_at(&mut bytes, 0).ok()?;
        Some(bytes)
    }

    /// Treats bytes as an index with valid checksums: it may say anything, and nothing may go
    /// wrong.
    pub(super) fn of_bytes(head: &[u8], rest: &[u8]) -> Option<Self> {
        let bytes = encoding::assemble(head, rest)?;
        let mut file = crate::atomic_file::anonymous_temp_file().ok()?;
        io::Write::write_all(&mut file, &bytes).ok()?;
        let head = encoding::head(&bytes)?;
        Some(Self { file, bytes, head })
    }

    /// Returns what an event triggers; `None` if something has changed.
    pub fn lookup<'event>(
        &self,
        event: &'event Event,
        leaves: &OnceCell<CallTexts<'event>>,
    ) -> Option<MatchedHooks> {
        let mut reader = Decoder(&self.bytes[self.head.clone()]);
        let _whose = reader.text()?;
        let journal = serde_json::from_str(reader.text()?).ok();
        let bases = HookFolders::open(&mut reader)?;
        bases.are_as_they_were(&mut reader)?;
        let mut passed = OmittedHooks::default();
        // Where the due hooks are stored: they are read again if they may run.
        let (mut due, mut may_run, mut mismatches) = (Vec::new(), Vec::new(), Vec::new());
        let mut needs_all = false;
        let asked = kind(&event.kind);
        for _ in 0..reader.size()? {
            let place = reader;
            let hook = Indexed::read(&mut reader, &bases, asked)?;
            match plan::due(&hook, event) {
                Err(SkipReason::OtherEvent) => passed.other_events += 1,
                Err(why) => passed.skipped.push(hook.skipped(why)),
                Ok(broken) => {
                    due.push(place);
                    match hook.mismatch(event, broken.as_ref(), leaves) {
                        Some(_) if needs_all => {}
                        Some(_) if mismatches.len() == MISMATCHES_NAMED => passed.more_skipped += 1,
                        Some(why) => mismatches.push(hook.skipped(why)),
                        None => {
                            may_run.push(place);
                            needs_all |= hook.flags & MAY_CHANGE_INPUT != 0;
                        }
                    }
                }
            }
        }
        let mut installed = InstalledHooks { passed, ..InstalledHooks::default() };
        if needs_all {
            // What one changes, another may match, so all of them are needed.
            installed.passed.more_skipped = 0;
            may_run = due;
        } else {
            installed.passed.skipped.extend(mismatches);
        }
        if !may_run.is_empty() {
            let read = |mut place| Indexed::read(&mut place, &bases, asked);
            let hooks: Option<Vec<_>> = may_run.into_iter().map(read).collect();
            installed.hooks = self.in_full(&hooks?)?;
        }
        Some(MatchedHooks { installed, journal, stamp: encoding::stamp(&self.bytes) })
    }

    /// Reads hooks in full; `None` if what they would run has changed.
    fn in_full(&self, due: &[Indexed<'_>]) -> Option<Vec<HookStatus>> {
        let end = due.iter().map(|hook| hook.rest.start + hook.rest.length).max()?;
        let mut rest = vec![0; Some(end).filter(|end| *end <= LARGEST)?];
        let start = u64::try_from(self.head.end).ok()?;
        self.file.read_exact_at(&mut rest, start).ok()?;
        due.iter().map(|hook| hook.in_full(&rest)).collect()
    }
}

/// The parts of an index, as bytes.
struct Parts<'bytes> {
    /// Everything before the hooks.
    before: &'bytes [u8],
    hooks: Vec<HookParts<'bytes>>,
}

/// The parts of one hook, as bytes.
struct HookParts<'bytes> {
    head: &'bytes [u8],
    rest: &'bytes [u8],
}

impl<'bytes> Parts<'bytes> {
    fn of(bytes: &'bytes [u8]) -> Option<Self> {
        let range = encoding::head(bytes)?;
        let rest = bytes.get(range.end..)?;
        let head = bytes.get(range)?;
        let mut reader = Decoder(head);
        reader.text()?;
        reader.text()?;
        let bases = HookFolders::open(&mut reader)?;
        for _ in 0..reader.size()? {
            reader.mark()?;
            reader.take(2)?;
            c_path(&mut reader)?;
        }
        let count = reader.size()?;
        let before = head.get(..head.len() - reader.0.len())?;
        let mut hooks = Vec::new();
        for _ in 0..count {
            let start = reader;
            let DetailsSpan { start: from, length, sum } =
                Indexed::read(&mut reader, &bases, 0)?.rest;
            let used = start.0.len() - reader.0.len();
            let rest = rest.get(from..from.checked_add(length)?)?;
            // A hook whose checksum is wrong is ignored, whatever it says.
            let rest = if encoding::checksum(rest) == sum { rest } else { &[] };
            // Where the rest is stored, and its checksum, are not part of what the index says.
            hooks.push(HookParts { head: start.0.get(REST_PLACE..used)?, rest });
        }
        Some(Self { before, hooks })
    }
}

impl HookParts<'_> {
    /// Returns whether something changed that is checked when the hook has its turn.
    fn is_stale(&self) -> bool {
        let mut reader = Decoder(self.rest);
        reader.raw_text().is_none()
            || HookFolders(Vec::new()).are_as_they_were(&mut reader).is_none()
    }
}

/// The folders of hooks, open.
struct HookFolders<'head>(Vec<(&'head str, OwnedFd)>);

impl<'head> HookFolders<'head> {
    /// Opens the folders; `None` if one of them has changed.
    fn open(reader: &mut Decoder<'head>) -> Option<Self> {
        let mut bases = Vec::new();
        for _ in 0..reader.size()? {
            let mark = reader.mark()?;
            let path = c_path(reader)?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let folder = rustix::fs::open(path, flags, Mode::empty()).ok()?;
            if FileStamp::of(folder.as_fd()).ok()?.mark(WatchExtent::Whole) != mark {
                return None;
            }
            bases.push((path.to_str().ok()?, folder));
        }
        Some(Self(bases))
    }

    fn get(&self, place: u8) -> Option<(&'head str, Option<BorrowedFd<'_>>)> {
        if place == u8::MAX {
            return Some(("", None));
        }
        let (path, folder) = self.0.get(usize::from(place))?;
        Some((path, Some(folder.as_fd())))
    }

    /// Checks everything watched next in the index; `None` if something has changed.
    fn are_as_they_were(&self, reader: &mut Decoder<'_>) -> Option<()> {
        for _ in 0..reader.size()? {
            let mark = reader.mark()?;
            let extent =
                if reader.byte()? == 0 { WatchExtent::Whole } else { WatchExtent::Identity };
            let (_, folder) = self.get(reader.byte()?)?;
            if FileStamp::at(folder, c_path(reader)?).ok()?.mark(extent) != mark {
                return None;
            }
        }
        Some(())
    }
}

/// Returns a text that was written as UTF-8: the checksum guarantees that its bytes are unchanged.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn c_path<'head>(reader: &mut Decoder<'head>) -> Option<&'head CStr> {
    let length = reader.size()?;
    CStr::from_bytes_with_nul(reader.take(length)?).ok()
}

impl<'head> Indexed<'head> {
    fn read(reader: &mut Decoder<'head>, bases: &HookFolders<'head>, asked: u32) -> Option<Self> {
        let (start, length, sum) = (reader.size()?, reader.size()?, reader.mark()?);
        let mut hook = Self {
            rest: DetailsSpan { start, length, sum },
            kinds: reader.number()?,
            asked,
            blocks_on_failure: reader.byte()? != 0,
            name: reader.raw_text()?,
            base: bases.get(reader.byte()?)?.0,
            folder: reader.raw_text()?.strip_suffix(b"\0")?,
            out: (reader.byte()?, reader.raw_text()?),
            fault: {
                let is_faulty = reader.byte()? != 0;
                Some(reader.raw_text()?).filter(|_| is_faulty)
            },
            hosts: Texts::read(reader)?,
            tool: Need::read(reader)?,
            pattern: Need::read(reader)?,
            flags: reader.byte()?,
            conditions: None,
        };
        if hook.flags & HAS_CONDITIONS != 0 {
            hook.conditions = Some(IndexedPrefilter::read(reader)?);
        }
        Some(hook)
    }

    fn folder_text(&self) -> String {
        if self.base.is_empty() {
            return text(self.folder);
        }
        [self.base, "/", &text(self.folder)].concat()
    }

    fn skipped(&self, why: SkipReason) -> Skipped {
        Skipped::new(&text(self.name), || self.folder_text(), why)
    }

    /// Returns why the hook's matcher excludes it, as far as that is certain without compiling.
    fn mismatch<'event>(
        &self,
        event: &'event Event,
        broken: Option<&NotRunnable>,
        leaves: &OnceCell<CallTexts<'event>>,
    ) -> Option<SkipReason> {
        if matches!(broken, Some(NotRunnable::Unusable(_))) {
            return None;
        }
        let call = event.tool.as_ref().filter(|_| event.kind.has_matcher())?;
        let is_named = match self.tool {
            Need::NoExpression => true,
            Need::Nothing => return None,
            // Outside ASCII, only the expression knows which letters are cases of one another.
            _ if !call.names().all(str::is_ascii) => return None,
            Need::Exactly(names) => {
                has_name(call, names, |name, text| name.as_bytes().eq_ignore_ascii_case(text))
            }
            Need::AnyOf(parts) => has_name(call, parts, matcher::holds_in_any_case),
        };
        if !is_named {
            return Some(SkipReason::Tool);
        }
        if matches!(self.tool, Need::AnyOf(_)) {
            // Only the expression itself can tell.
            return None;
        }
        if let Need::AnyOf(literals) | Need::Exactly(literals) = self.pattern {
            let leaves = leaves.get_or_init(|| {
                path_forms::resolve(event);
                CallTexts::of(call)
            });
            if !leaves.contains_any(literals.iter()) {
                return Some(SkipReason::Pattern);
            }
        }
        let conditions = self.conditions.filter(|conditions| !conditions.may_match(event));
        conditions.map(|_| SkipReason::Conditions)
    }

    /// Reads the hook in full; `None` if what it would run has changed.
    fn in_full(&self, rest: &[u8]) -> Option<HookStatus> {
        let bytes = rest.get(self.rest.start..self.rest.start.checked_add(self.rest.length)?)?;
        if encoding::checksum(bytes) != self.rest.sum {
            return None;
        }
        let mut reader = Decoder(bytes);
        let details: Details = serde_json::from_str(reader.text()?).ok()?;
        HookFolders(Vec::new()).are_as_they_were(&mut reader)?;
        let level = Level::ALL.into_iter().find(|level| *level as u8 == details.level)?;
        let entry = details.script.map(|script| EntryPoint {
            script,
            interpreter: details.interpreter.as_deref().and_then(hook::interpreter),
        });
        let mut matcher = Matcher::from_parts(
            self.tool.expression(details.tool, matcher::MatchExtent::Whole),
            self.pattern.expression(details.pattern, matcher::MatchExtent::Anywhere),
        );
        matcher.set_conditions(&details.definition.matcher).ok()?;
        let problem = |fault| Problem::new("unusable", Severity::Unusable, text(fault));
        Some(HookStatus {
            hook: Hook {
                matcher,
                definition: details.definition,
                problems: self.fault.map(problem).into_iter().collect(),
                level,
                nesting: details.nesting,
                folder: details.folder,
                runs_from: details.runs_from,
                entry,
                trust: if level == Level::Project { Trust::Trusted } else { Trust::NotNeeded },
                // Which of two hooks with the same name is in effect was settled when the index was
                // built.
                replaces: false,
                record: None,
                root: details.root,
            },
            out: None,
        })
    }
}

fn has_name(call: &ToolCall, texts: Texts<'_>, is: impl Fn(&str, &[u8]) -> bool) -> bool {
    texts.iter().any(|text| call.names().any(|name| is(name, text)))
}

impl DueCheck for Indexed<'_> {
    fn out(&self) -> Option<SkipReason> {
        let (tag, by) = self.out;
        match tag {
            0 => None,
            2 => Some(SkipReason::Replaced(text(by))),
            3 => Some(SkipReason::Dropped(text(by))),
            _ => Some(SkipReason::Untrusted),
        }
    }

    fn waits_for(&self, _: &EventKind) -> bool {
        self.kinds & self.asked != 0
    }

    fn waits_for_nothing(&self) -> bool {
        self.kinds == 0
    }

    fn is_for(&self, host: &str) -> bool {
        self.hosts.count == 0 || self.hosts.iter().any(|named| named == host.as_bytes())
    }

    fn fault(&self) -> Option<String> {
        self.fault.map(text)
    }

    fn blocks_on_failure(&self) -> bool {
        self.blocks_on_failure
    }

    fn change(&self) -> Option<String> {
        None
    }
}

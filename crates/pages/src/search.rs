//! Finds records in the journal: those that fit, the newest first; and one with all that belongs to
//! it. Both read from the end, and stop when they are not wanted any more.

use std::io;
use std::ops::ControlFlow;

use anyhook_engine::journal::reader::ReadLine;
use anyhook_engine::journal::{Journal, JournalLine, JournalPosition, SegmentName};
use anyhook_model::json::any_leaf;
use anyhook_model::{EventKind, Record, RecordId};
use anyhook_terminal::pattern::Pattern;
use jiff::Timestamp;

use crate::record::Trace;

/// Records of one payload are written together: they are looked for within so many lines.
const FAMILY: usize = 64;
/// It is asked once in so many lines whether the search is still wanted.
const ASKED_EVERY: usize = 64;

/// Which records are found: those that fit all of these.
#[derive(Clone, Debug, Default)]
pub struct RecordSearch {
    /// Of this time or later.
    pub since: Option<Timestamp>,
    /// Of this time or earlier.
    pub until: Option<Timestamp>,
    /// Of the session whose id starts so.
    pub session: Option<String>,
    /// Of this host.
    pub host: Option<String>,
    /// Of a project: its path or its folder's name.
    pub project: Option<Pattern>,
    /// Of this event, in any spelling.
    pub event: Option<String>,
    /// Of this tool.
    pub tool: Option<String>,
    /// With this hook among those that ran.
    pub hook: Option<String>,
    /// With this verdict.
    pub verdict: Option<VerdictWord>,
    /// With this text in one of their values, ignoring case.
    pub text: Option<String>,
}

/// A verdict, or something else that hooks did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictWord {
    /// Denied, also where an `ask` could not be answered by anyone.
    Deny,
    /// A person was asked.
    Ask,
    /// Allowed without asking.
    Allow,
    /// No opinion.
    None,
    /// A stop that was let through because it had been blocked too often.
    Capped,
    /// A hook failed.
    Failed,
    /// The input was changed.
    Changed,
    /// Context was added.
    Context,
}

impl VerdictWord {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Deny,
        Self::Ask,
        Self::Allow,
        Self::None,
        Self::Capped,
        Self::Failed,
        Self::Changed,
        Self::Context,
    ];

    /// Their words, in the same order.
    pub const WORDS: [&'static str; 8] = {
        let mut words = [""; 8];
        let mut index = 0;
        while index < words.len() {
            words[index] = Self::ALL[index].word();
            index += 1;
        }
        words
    };

    /// Returns the word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
            Self::None => "none",
            Self::Capped => "capped",
            Self::Failed => "failed",
            Self::Changed => "changed",
            Self::Context => "context",
        }
    }

    /// Returns what a word means; `block` means `deny`.
    pub fn from_word(word: &str) -> Option<Self> {
        let word = if word == "block" { "deny" } else { word };
        Self::ALL.into_iter().find(|one| one.word() == word)
    }

    fn is_of(self, record: &Record) -> bool {
        match self {
            Self::Deny => record.denies(),
            Self::Ask | Self::Allow | Self::None => record.verdict.word() == self.word(),
            Self::Capped => record.verdict.capped,
            Self::Changed => record.verdict.input.is_some(),
            Self::Context => record.verdict.context.is_some(),
            Self::Failed => record.runs.iter().any(|run| run.failure.is_some()),
        }
    }
}

impl RecordSearch {
    /// Returns whether a record fits; long texts are looked up in `journal`.
    pub fn takes(&self, record: &Record, journal: &Journal) -> bool {
        let is = |asked: &Option<String>, told: Option<&str>| {
            asked.as_deref().is_none_or(|asked| told == Some(asked))
        };
        let begins =
            |session: &str| record.session.as_deref().is_some_and(|told| told.starts_with(session));
        self.since.is_none_or(|since| record.at >= since)
            && self.until.is_none_or(|until| record.at <= until)
            && self.session.as_deref().is_none_or(begins)
            && is(&self.host, Some(&record.host))
            && self.project.as_ref().is_none_or(|wanted| {
                wanted.matches_path(record.project_dir.as_ref().unwrap_or(&record.work_dir))
            })
            && is(&self.tool, record.tool.as_deref())
            && self.event.as_ref().is_none_or(|event| {
                let kind = EventKind::in_any_spelling(event);
                record.event == kind.map_or_else(|| EventKind::from_name(event), |(kind, _)| kind)
            })
            && self.hook.as_ref().is_none_or(|hook| record.runs.iter().any(|run| run.hook == *hook))
            && self.verdict.is_none_or(|verdict| verdict.is_of(record))
            && self.text.as_ref().is_none_or(|text| {
                let text = text.to_lowercase();
                let in_long =
                    || journal.restored(record.clone()).is_ok_and(|it| contains(&it, &text));
                contains(record, &text) || !record.long.is_empty() && in_long()
            })
    }

    /// Returns whether a line may be of a record that fits: faster than reading it as one.
    fn may_take(&self, line: &JournalLine<'_>) -> bool {
        let names = |key: &str, value: &Option<String>, end: &str| match value {
            // Others are written with escapes.
            Some(value) if value.bytes().all(is_unescaped) => {
                line.contains(&format!("\"{key}\":\"{value}{end}"))
            }
            _ => true,
        };
        line.is_first_form()
            || names("session", &self.session, "")
                && names("host", &self.host, "\"")
                && names("tool", &self.tool, "\"")
                && names("hook", &self.hook, "\"")
    }
}

fn is_unescaped(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte) && !b"\"\\/".contains(&byte)
}

/// Returns whether any value of a record contains a text.
fn contains(record: &Record, text: &str) -> bool {
    serde_json::to_value(record)
        .is_ok_and(|value| any_leaf(&value, &mut |leaf| leaf.to_lowercase().contains(text)))
}

/// Records that were found.
#[derive(Debug, Default)]
pub struct FoundRecords {
    /// The records, the newest first.
    pub records: Vec<Record>,
    /// Where to go on for older ones; `None` if all of the journal was read.
    pub older: Option<JournalPosition>,
    /// Whether the record was found before which they are, if there is one.
    pub is_past_start: bool,
    /// Whether the search ended early because it was not wanted any more.
    pub is_cut: bool,
    /// The time of the oldest record that was looked at.
    pub reached: Option<Timestamp>,
    /// How many lines were not records, of those that were read.
    pub damaged: usize,
}

/// Where a search begins.
#[derive(Clone, Copy, Debug)]
pub enum SearchStart<'start> {
    /// At the newest record.
    Newest,
    /// Before a position.
    Before(&'start JournalPosition),
    /// Before a record.
    BeforeRecord(&'start RecordId),
}

/// Returns up to `most` records that fit, the newest first. It ends early once `is_wanted` says so.
pub fn newest(
    journal: &Journal,
    search: &RecordSearch,
    most: usize,
    start: SearchStart<'_>,
    is_wanted: &dyn Fn() -> bool,
) -> io::Result<FoundRecords> {
    let (before, mut awaited) = match start {
        SearchStart::Newest => (None, None),
        SearchStart::Before(position) => (Some(position), None),
        SearchStart::BeforeRecord(id) => (None, Some(id)),
    };
    let first = match search.since {
        Some(since) => journal.reader_since(since)?.position().cloned(),
        None => None,
    };
    let mut found = FoundRecords::default();
    let mut lines = 0;
    for segment in journal.segments()?.into_iter().rev() {
        if before.is_some_and(|before| segment > before.segment) {
            continue;
        }
        if first.as_ref().is_some_and(|first| segment < first.segment) {
            break;
        }
        let offset = before.filter(|before| before.segment == segment);
        let from = JournalPosition {
            segment: segment.clone(),
            offset: offset.map_or(u64::MAX, |before| before.offset),
        };
        let ended = journal.read_back(&from, &mut |ReadLine { offset, line, .. }| {
            lines += 1;
            found.is_cut = lines % ASKED_EVERY == 0 && !is_wanted();
            if let Some(id) = awaited {
                let is_it = |line: JournalLine<'_>| {
                    line.contains(id.as_str()) && line.record().is_ok_and(|it| it.id == *id)
                };
                awaited = awaited.filter(|_| !line.is_ok_and(is_it));
            } else {
                let fits =
                    line.and_then(|line| search.may_take(&line).then(|| line.record()).transpose());
                match fits {
                    Ok(Some(record)) => {
                        found.reached = Some(record.at);
                        if search.takes(&record, journal) {
                            found.records.push(record);
                        }
                    }
                    Ok(None) => {}
                    Err(_) => found.damaged += 1,
                }
            }
            if found.records.len() < most && !found.is_cut {
                return ControlFlow::Continue(());
            }
            found.older = Some(JournalPosition { segment: segment.clone(), offset });
            ControlFlow::Break(())
        })?;
        if ended.is_break() {
            break;
        }
    }
    found.is_past_start = awaited.is_none();
    Ok(found)
}

/// Writes a position as a text, for addresses.
pub fn position_text(position: &JournalPosition) -> String {
    let name = position.segment.as_str();
    format!("{}.{}", name.strip_suffix(".jsonl").unwrap_or(name), position.offset)
}

/// Reads a position from its text.
pub fn position_from(text: &str) -> Option<JournalPosition> {
    let (name, offset) = text.rsplit_once('.')?;
    let segment = SegmentName::parse(&format!("{name}.jsonl"))?;
    Some(JournalPosition { segment, offset: offset.parse().ok()? })
}

/// The result of looking for a record.
#[derive(Debug)]
pub enum LookUp {
    /// It was found.
    Found(Box<Trace>),
    /// There is none of that id.
    Nothing,
    /// The search was not wanted any more.
    Cut,
}

/// Looks for the record of an id, from the newest on, and for what belongs to it: records of the
/// same payload, and of hooks that ran in the background.
pub fn look_up(journal: &Journal, id: &str, is_wanted: &dyn Fn() -> bool) -> io::Result<LookUp> {
    if id.is_empty() || !id.bytes().all(is_unescaped) {
        return Ok(LookUp::Nothing);
    }
    let (own, of) = (format!("\"id\":\"{id}\""), format!("\"of\":\"{id}\""));
    let mut later: Vec<Record> = Vec::new();
    let mut found: Option<(Record, JournalPosition)> = None;
    let (mut is_cut, mut lines) = (false, 0);
    for segment in journal.segments()?.into_iter().rev() {
        let from = JournalPosition { segment: segment.clone(), offset: u64::MAX };
        let ended = journal.read_back(&from, &mut |ReadLine { offset, line, .. }| {
            lines += 1;
            is_cut = lines % ASKED_EVERY == 0 && !is_wanted();
            if is_cut {
                return ControlFlow::Break(());
            }
            let Ok(line) = line else { return ControlFlow::Continue(()) };
            if !(line.is_first_form() || line.contains(&own) || line.contains(&of)) {
                return ControlFlow::Continue(());
            }
            let Ok(record) = line.record() else { return ControlFlow::Continue(()) };
            if record.id.as_str() == id {
                let position = JournalPosition { segment: segment.clone(), offset };
                found = Some((record, position));
                return ControlFlow::Break(());
            }
            if record.of.as_ref().is_some_and(|of| of.as_str() == id) {
                later.push(record);
            }
            ControlFlow::Continue(())
        })?;
        if ended.is_break() {
            break;
        }
    }
    let Some((record, position)) = found else {
        return Ok(if is_cut { LookUp::Cut } else { LookUp::Nothing });
    };
    let mut family = siblings(journal, &record, &position)?;
    later.reverse();
    family.extend(later);
    Ok(LookUp::Found(Box::new(Trace::new(journal, record, family))))
}

/// Returns the records of the same payload, itself included, in their order.
fn siblings(
    journal: &Journal,
    record: &Record,
    position: &JournalPosition,
) -> io::Result<Vec<Record>> {
    let first = record.with.as_ref().unwrap_or(&record.id);
    let belongs = |other: &Record| {
        let is = |id: Option<&RecordId>| id == Some(first);
        other.of.is_none() && (is(Some(&other.id)) || is(other.with.as_ref()))
    };
    let mut before = Vec::new();
    let mut seen = 0;
    if record.with.is_some() {
        let _ = journal.read_back(position, &mut |ReadLine { line, .. }| {
            seen += 1;
            let read = line.and_then(|line| line.record());
            let is_first = read.as_ref().is_ok_and(|other| other.id == *first);
            before.extend(read.ok().filter(belongs));
            if is_first || seen >= FAMILY {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        before.reverse();
    }
    let mut reader = journal.reader_at(position.clone());
    reader.read_some(FAMILY, &mut |other| {
        if belongs(&other) || other.id == record.id {
            before.push(other);
        }
    })?;
    Ok(before)
}

#[cfg(test)]
mod tests {
    use anyhook_engine::settings::JournalSettings;
    use anyhook_model::{EventKind, Payload};
    use jiff::SignedDuration;

    use super::*;

    fn record(number: usize) -> Record {
        let at = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(i64::try_from(number).unwrap());
        let id = RecordId::from_text(format!("r{number}"));
        let mut record = Record::new(id, at, "codex", EventKind::BeforeTool);
        record.tool = Some(if number.is_multiple_of(2) { "Shell" } else { "ReadFile" }.to_owned());
        record.session = Some(format!("session-{}", number % 3));
        record.project_dir = Some("/home/ann/shop".to_owned());
        record.payload = Some(Payload::new(format!("{{\"number\":{number}}}").as_bytes()));
        record
    }

    /// Segments of a kibibyte, so that there are many.
    fn journal(folder: &std::path::Path, records: usize) -> Journal {
        let settings = JournalSettings { segment_kib: 1, ..JournalSettings::default() };
        let journal = Journal::with(folder, settings);
        for number in 0..records {
            journal.append(vec![record(number)]).unwrap();
        }
        journal
    }

    fn ids(found: &FoundRecords) -> Vec<&str> {
        found.records.iter().map(|record| record.id.as_str()).collect()
    }

    #[test]
    fn pages_join_without_a_gap() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(folder.path(), 50);
        assert!(journal.segments().unwrap().len() > 3);
        let search = RecordSearch { tool: Some("Shell".to_owned()), ..RecordSearch::default() };
        let mut all: Vec<String> = Vec::new();
        let mut before = None;
        loop {
            let page = newest(&journal, &search, 7, start(before.as_ref()), &|| true).unwrap();
            all.extend(ids(&page).into_iter().map(str::to_owned));
            let Some(older) = page.older else { break };
            assert_eq!(position_from(&position_text(&older)), Some(older.clone()));
            before = Some(older);
        }
        let expected: Vec<String> =
            (0..50).rev().filter(|n| n % 2 == 0).map(|n| format!("r{n}")).collect();
        assert_eq!(all, expected);
    }

    fn start(before: Option<&JournalPosition>) -> SearchStart<'_> {
        before.map_or(SearchStart::Newest, SearchStart::Before)
    }

    #[test]
    fn a_search_may_begin_before_a_record() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(folder.path(), 30);
        let all = RecordSearch::default();
        let before = |id: &str| {
            let id = RecordId::from_text(id);
            newest(&journal, &all, 3, SearchStart::BeforeRecord(&id), &|| true).unwrap()
        };
        assert_eq!(ids(&before("r11")), ["r10", "r9", "r8"]);
        assert!(before("r11").is_past_start);
        assert_eq!((ids(&before("r1")).len(), before("r0").is_past_start), (1, true));
        let unknown = before("r99");
        assert_eq!((unknown.records.len(), unknown.is_past_start), (0, false));
    }

    #[test]
    fn a_search_that_is_not_wanted_says_where_to_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(folder.path(), 200);
        let search = RecordSearch { text: Some("nowhere".to_owned()), ..RecordSearch::default() };
        let cut = newest(&journal, &search, 5, SearchStart::Newest, &|| false).unwrap();
        assert!(cut.is_cut && cut.older.is_some() && cut.records.is_empty());
        let rest = newest(&journal, &search, 5, start(cut.older.as_ref()), &|| true).unwrap();
        assert!(!rest.is_cut && rest.older.is_none());
    }

    #[test]
    fn every_filter_selects() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(folder.path(), 12);
        let found = |search: RecordSearch| {
            let found = newest(&journal, &search, 100, SearchStart::Newest, &|| true).unwrap();
            found.records.len()
        };
        let all = RecordSearch::default;
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(found(all()), 12);
        assert_eq!(found(RecordSearch { session: text("session-1"), ..all() }), 4);
        assert_eq!(found(RecordSearch { host: text("claude-code"), ..all() }), 0);
        assert_eq!(found(RecordSearch { project: Some("shop".parse().unwrap()), ..all() }), 12);
        assert_eq!(found(RecordSearch { project: Some("other".parse().unwrap()), ..all() }), 0);
        assert_eq!(found(RecordSearch { event: text("PreToolUse"), ..all() }), 12);
        assert_eq!(found(RecordSearch { event: text("session_start"), ..all() }), 0);
        assert_eq!(found(RecordSearch { hook: text("guard"), ..all() }), 0);
        assert_eq!(found(RecordSearch { verdict: Some(VerdictWord::None), ..all() }), 12);
        assert_eq!(found(RecordSearch { verdict: Some(VerdictWord::Deny), ..all() }), 0);
        assert_eq!(found(RecordSearch { text: text("/HOME/ann"), ..all() }), 12);
        let at = |second| Some(Timestamp::from_second(second).unwrap());
        assert_eq!(found(RecordSearch { since: at(3), until: at(5), ..all() }), 3);
    }

    #[test]
    fn a_record_is_found_with_all_that_belongs_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let journal = journal(folder.path(), 3);
        let first = record(100);
        let mut second = record(101);
        second.with = Some(first.id.clone());
        journal.append(vec![first.clone(), second.clone()]).unwrap();
        journal.append(vec![record(102)]).unwrap();
        let mut outcome = record(103);
        outcome.of = Some(second.id.clone());
        journal.append(vec![outcome.clone()]).unwrap();
        let LookUp::Found(trace) = look_up(&journal, "r101", &|| true).unwrap() else {
            panic!("not found");
        };
        assert_eq!(trace.record.id, second.id);
        assert_eq!(trace.first.id, first.id);
        assert_eq!(trace.later.iter().map(|one| &one.id).collect::<Vec<_>>(), [&outcome.id]);
        assert!(matches!(look_up(&journal, "r1", &|| true).unwrap(), LookUp::Found(_)));
        for id in ["", "r", "r10", "\"", "nothing"] {
            let found = look_up(&journal, id, &|| true).unwrap();
            assert!(matches!(found, LookUp::Nothing), "{id}: {found:?}");
        }
    }
}

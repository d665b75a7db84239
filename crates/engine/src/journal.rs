//! The journal, first form: one JSON object a line, a file a day (UTC), in `journal/` of the state
//! folder.
//!
//! Each record is appended with a single write, which the system keeps whole among many writers. A
//! line torn by a crash or a full disk harms nobody: the next record starts on a line of its own,
//! and readers pass over what is no record.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhook_model::Record;

/// A line longer than this is no record.
const LINE_LIMIT: u64 = 8 * 1024 * 1024;

/// The journal in a state folder.
#[derive(Clone, Debug)]
pub struct Journal {
    folder: PathBuf,
}

impl Journal {
    /// Opens the journal under a state folder. Nothing is written yet.
    pub fn new(state: &Path) -> Self {
        Self { folder: state.join("journal") }
    }

    /// Appends a record.
    pub fn append(&self, record: &Record) -> io::Result<()> {
        let day = record.at.to_string();
        let path = self.folder.join(format!("{}.jsonl", day.get(..10).unwrap_or("undated")));
        let open = || OpenOptions::new().create(true).append(true).read(true).open(&path);
        let mut file = open().or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            fs::create_dir_all(&self.folder)?;
            open()
        })?;
        let mut line = Vec::with_capacity(1024);
        let length = file.metadata()?.len();
        let mut last = [b'\n'];
        if length > 0 && file.read_at(&mut last, length - 1).is_ok() && last != [b'\n'] {
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, record)?;
        line.push(b'\n');
        file.write_all(&line)
    }

    /// Returns the journal's files, oldest first.
    pub fn files(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
            .collect();
        files.sort();
        Ok(files)
    }

    /// Begins to read, from the oldest record on.
    pub fn reader(&self) -> JournalReader {
        JournalReader { journal: self.clone(), file: None, position: 0, damaged: 0 }
    }
}

/// Reads records in the order they were written; can be asked again for what came since.
#[derive(Debug)]
pub struct JournalReader {
    journal: Journal,
    /// The file being read.
    file: Option<PathBuf>,
    position: u64,
    damaged: usize,
}

impl JournalReader {
    /// Calls `take` with every record written since the last call.
    pub fn read_on(&mut self, take: &mut dyn FnMut(Record)) -> io::Result<()> {
        loop {
            let files = self.journal.files()?;
            let current = match &self.file {
                None => files.first(),
                Some(file) => Some(file),
            };
            let Some(current) = current.cloned() else { return Ok(()) };
            self.read_file(&current, take)?;
            let next = files.into_iter().find(|file| *file > current);
            self.file = Some(current);
            match next {
                None => return Ok(()),
                Some(next) => {
                    self.file = Some(next);
                    self.position = 0;
                }
            }
        }
    }

    /// Returns how many lines were no records.
    pub fn damaged(&self) -> usize {
        self.damaged
    }

    fn read_file(&mut self, path: &Path, take: &mut dyn FnMut(Record)) -> io::Result<()> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(self.position))?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = reader.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut line)? as u64;
            if length == 0 || line.last() != Some(&b'\n') && length < LINE_LIMIT {
                // The rest of a line may still come.
                return Ok(());
            }
            self.position += length;
            match serde_json::from_slice(&line) {
                Ok(record) => take(record),
                Err(_) if line.trim_ascii().is_empty() => {}
                Err(_) => self.damaged += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhook_model::record::JOURNAL_VERSION;
    use anyhook_model::{EventKind, RecordId, Verdict};

    use super::*;

    fn record(id: &str, at: &str) -> Record {
        Record {
            v: JOURNAL_VERSION,
            id: RecordId::from_text(id),
            of: None,
            at: at.parse().unwrap(),
            host: "agent-hooks".to_owned(),
            event: EventKind::BeforeTool,
            native_name: None,
            session: None,
            work_dir: "/".to_owned(),
            project_dir: None,
            tool: None,
            about: Some("x".repeat(500)),
            runs: Vec::new(),
            skipped: Vec::new(),
            other_events: 0,
            verdict: Verdict::default(),
            lost: Vec::new(),
            took_us: 5,
        }
    }

    fn ids(reader: &mut JournalReader) -> Vec<String> {
        let mut ids = Vec::new();
        reader.read_on(&mut |record| ids.push(record.id.to_string())).unwrap();
        ids
    }

    #[test]
    fn records_come_back_across_days_and_can_be_followed() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::new(state.path());
        let mut reader = journal.reader();
        assert_eq!(ids(&mut reader), [] as [&str; 0]);
        journal.append(&record("a", "2026-01-01T00:00:00Z")).unwrap();
        assert_eq!(ids(&mut reader), ["a"]);
        journal.append(&record("b", "2026-01-01T01:00:00Z")).unwrap();
        journal.append(&record("c", "2026-01-02T00:00:00Z")).unwrap();
        assert_eq!(ids(&mut reader), ["b", "c"]);
        assert_eq!(ids(&mut reader), [] as [&str; 0]);
    }

    #[test]
    fn a_torn_line_harms_nobody() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::new(state.path());
        journal.append(&record("a", "2026-01-01T00:00:00Z")).unwrap();
        let path = journal.files().unwrap().remove(0);
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let mut reader = journal.reader();
            assert_eq!(ids(&mut reader).len(), 0, "cut at {cut}");
            journal.append(&record("b", "2026-01-01T00:00:00Z")).unwrap();
            let found = ids(&mut journal.reader());
            assert_eq!(found.last().map(String::as_str), Some("b"), "cut at {cut}");
        }
    }

    #[test]
    fn many_writers_at_once() {
        let state = tempfile::tempdir().unwrap();
        let journal = Journal::new(state.path());
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let journal = &journal;
                scope.spawn(move || {
                    for index in 0..200 {
                        journal
                            .append(&record(&format!("{writer}-{index}"), "2026-01-01T00:00:00Z"))
                            .unwrap();
                    }
                });
            }
        });
        let mut reader = journal.reader();
        assert_eq!(ids(&mut reader).len(), 1600);
        assert_eq!(reader.damaged(), 0);
    }
}

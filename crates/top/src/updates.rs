//! What comes from outside: keys, records as they are written, and what the daemon says. Each has a
//! thread of its own, so that a long journal keeps no key waiting.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread;
use std::time::Duration;

use anyhook_engine::journal::{Follower, Journal, JournalReader};
use anyhook_model::Record;
use crossterm::event::{Event, read};
use jiff::Timestamp;

use crate::daemon_link::DaemonView;
use crate::key::KeyPress;

/// How often new records are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// So many records come at once at most.
const AT_ONCE: usize = 256;
/// So long the end waits for the journal to know that nobody follows any more.
const FAREWELL: Duration = Duration::from_secs(1);

/// What came.
#[derive(Debug)]
pub enum Update {
    /// A key was pressed.
    Key(KeyPress),
    /// The terminal has another size.
    Resized,
    /// Records were read.
    Records(Vec<Record>),
    /// The journal was read to its end; how many lines were no records, and what went wrong.
    Read {
        /// Lines that were no records.
        damaged: usize,
        /// What went wrong.
        trouble: Option<String>,
    },
    /// The daemon said something new, or does not answer any more.
    Daemon(DaemonView),
    /// A decision was made, or could not be; in words.
    Answered(Result<String, String>),
}

/// Begins to read keys.
pub fn keys(news: SyncSender<Update>) {
    // It ends with the process: nothing can wake it but a key.
    thread::spawn(move || {
        while let Ok(event) = read() {
            let came = match event {
                Event::Key(key) => KeyPress::of(&key).map(Update::Key),
                Event::Resize(..) => Some(Update::Resized),
                _ => None,
            };
            if came.is_some_and(|came| news.send(came).is_err()) {
                return;
            }
        }
    });
}

/// The journal being read, until this is dropped.
#[derive(Debug)]
pub struct JournalFollower {
    stop: Option<Sender<()>>,
    done: Receiver<()>,
}

impl JournalFollower {
    /// Begins to read records, those of `since` or later first.
    pub fn start(journal: Journal, since: Timestamp, news: SyncSender<Update>) -> Self {
        let ((stop, stopped), (done_sender, done)) = (channel(), channel());
        thread::spawn(move || {
            follow(&journal, since, &news, &stopped);
            // Nobody may wait for it any more.
            let _ = done_sender.send(());
        });
        Self { stop: Some(stop), done }
    }
}

impl Drop for JournalFollower {
    fn drop(&mut self) {
        self.stop.take();
        // If it is still reading, the end of the process says the same.
        let _ = self.done.recv_timeout(FAREWELL);
    }
}

/// Reads on and on, whatever goes wrong.
fn follow(journal: &Journal, since: Timestamp, news: &SyncSender<Update>, stopped: &Receiver<()>) {
    let mut source = None;
    let mut told = None;
    loop {
        let mut is_wanted = true;
        let read = read_on(&mut source, journal, since, &mut |records| {
            is_wanted = is_wanted && news.send(Update::Records(records)).is_ok();
        });
        let state = match read {
            Ok((damaged, note)) => (damaged, note),
            Err(error) => (0, Some(error.to_string())),
        };
        // The same again is no news.
        if told.as_ref() != Some(&state) {
            let (damaged, trouble) = state.clone();
            is_wanted = is_wanted && news.send(Update::Read { damaged, trouble }).is_ok();
            told = Some(state);
        }
        if !is_wanted || stopped.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

/// Reads what came. Returns how many lines were no records, and what a person should know.
fn read_on(
    source: &mut Option<RecordSource>,
    journal: &Journal,
    since: Timestamp,
    take: &mut dyn FnMut(Vec<Record>),
) -> io::Result<(usize, Option<String>)> {
    // What was there is looked at from `since` on; what comes is shown whatever its clock says.
    let is_first = source.is_none();
    let source = match source {
        Some(source) => source,
        None => source.insert(RecordSource::open(journal, since)?),
    };
    let mut records = Vec::new();
    let mut came = false;
    let read = source.read_on(&mut |record| {
        came = true;
        if is_first && record.at < since {
            return;
        }
        records.push(record);
        if records.len() == AT_ONCE {
            take(std::mem::take(&mut records));
        }
    });
    if !records.is_empty() {
        take(records);
    }
    read?;
    if came {
        source.remember()?;
    }
    Ok((source.damaged(), source.note()))
}

/// A reader that the journal keeps everything for, or where that cannot be, one that takes its
/// chance.
enum RecordSource {
    Kept(Follower),
    Loose(JournalReader, String),
}

impl RecordSource {
    fn open(journal: &Journal, since: Timestamp) -> io::Result<Self> {
        let reader = journal.reader_since(since)?;
        match Follower::of_this_process(journal, reader) {
            Ok(follower) => Ok(Self::Kept(follower)),
            // Who may read but not write can look on.
            Err(error) => {
                let note = format!("old records may be dropped before they are read: {error}");
                Ok(Self::Loose(journal.reader_since(since)?, note))
            }
        }
    }

    fn read_on(&mut self, take: &mut dyn FnMut(Record)) -> io::Result<()> {
        match self {
            Self::Kept(follower) => follower.read_on(take),
            Self::Loose(reader, _) => reader.read_on(take),
        }
    }

    fn remember(&self) -> io::Result<()> {
        match self {
            Self::Kept(follower) => follower.remember(),
            Self::Loose(..) => Ok(()),
        }
    }

    fn damaged(&self) -> usize {
        match self {
            Self::Kept(follower) => follower.damaged(),
            Self::Loose(reader, _) => reader.damaged(),
        }
    }

    fn note(&self) -> Option<String> {
        match self {
            Self::Kept(_) => None,
            Self::Loose(_, note) => Some(note.clone()),
        }
    }
}

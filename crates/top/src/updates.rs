//! Updates from outside: keys, records as they are written, and the daemon's state. Each has a
//! thread of its own, so that a long journal does not delay keys.

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

/// How often new records are checked for.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// At most this many records are sent at once.
const AT_ONCE: usize = 256;
/// How long to wait at the end for the journal to register that we no longer follow it.
const FAREWELL: Duration = Duration::from_secs(1);

/// An update.
#[derive(Debug)]
pub enum Update {
    /// A key was pressed.
    Key(KeyPress),
    /// The terminal was resized.
    Resized,
    /// Records were read.
    Records(Vec<Record>),
    /// The journal was read to its end; with how many lines were not records, and what failed.
    Read {
        /// Lines that were not records.
        damaged: usize,
        /// What went wrong.
        trouble: Option<String>,
    },
    /// The daemon's state changed, or it does not answer any more.
    Daemon(DaemonView),
    /// A decision was made, or could not be; with a message.
    Answered(Result<String, String>),
}

/// Starts to read keys.
pub fn keys(news: SyncSender<Update>) {
    // It ends with the process: only a key can wake it.
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
    /// Starts to read records, beginning with those since `since`.
    pub fn start(journal: Journal, since: Timestamp, news: SyncSender<Update>) -> Self {
        let ((stop, stopped), (done_sender, done)) = (channel(), channel());
        thread::spawn(move || {
            follow(&journal, since, &news, &stopped);
            // The receiver may be gone.
            let _ = done_sender.send(());
        });
        Self { stop: Some(stop), done }
    }
}

impl Drop for JournalFollower {
    fn drop(&mut self) {
        self.stop.take();
        // If it is still reading, the end of the process has the same effect.
        let _ = self.done.recv_timeout(FAREWELL);
    }
}

/// Reads continuously, whatever fails.
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
        // An unchanged state is not sent.
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

/// Reads new records. Returns how many lines were not records, and what a person should know.
fn read_on(
    source: &mut Option<RecordSource>,
    journal: &Journal,
    since: Timestamp,
    take: &mut dyn FnMut(Vec<Record>),
) -> io::Result<(usize, Option<String>)> {
    // Existing records are filtered by `since`; new ones are shown whatever their time is.
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

/// A reader for which the journal retains everything, or if that is not possible, one that may miss
/// records.
enum RecordSource {
    Kept(Follower),
    Loose(JournalReader, String),
}

impl RecordSource {
    fn open(journal: &Journal, since: Timestamp) -> io::Result<Self> {
        let reader = journal.reader_since(since)?;
        match Follower::of_this_process(journal, reader) {
            Ok(follower) => Ok(Self::Kept(follower)),
            // Without write permission it is still possible to read.
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

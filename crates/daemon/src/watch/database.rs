//! Reads a database as a log: read-only, without a lock that the agent waits for, and only when it
//! changed. The queries, and the meaning of the rows, are in the agent's folder in `anyhook-hosts`.
//!
//! A session's newest messages are looked up by index. Which sessions to read is known from the
//! time in their own row, which changes when a person sends a prompt, and from what they did last:
//! one that is working is read until it rests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use anyhook_hosts::log::{Activity, BegunCall, ExecutedCall, LogObservation, LogState};
use anyhook_hosts::log_database::{LogDatabase, PartCall};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use super::event_outlet::{EventOutlet, ReceiverGone};
use super::locations::WatchedHost;
use super::position::{DatabaseRow, FileId, LogPosition, LogPositions};
use crate::sqlite::{LONGEST, beside, open};

/// How many sessions are remembered, and read in a turn.
const SESSIONS: u32 = 1_000;

/// How many messages of a session are read in a turn.
const MESSAGES: u32 = 200;

/// How many parts are read for calls in a turn.
const PARTS: u32 = 500;

/// How many parts with calls that are not over are read again; the oldest are dropped first.
const OPEN_PARTS: usize = 64;

/// How long after a change it is read once more.
const FOLLOW_UP: Duration = Duration::from_millis(200);

/// How often a failed read is retried.
const RETRIES: u32 = 6;

/// A database of many sessions.
#[derive(Debug)]
pub(super) struct Database {
    host: WatchedHost,
    queries: &'static LogDatabase,
    path: PathBuf,
    file: FileId,
    mark: Option<Mark>,
    sessions: BTreeMap<String, DatabaseSession>,
    /// The times in the rows of the newest sessions when they were last read, in milliseconds.
    times: BTreeMap<String, i64>,
    /// Sessions without activity since then are ignored until they change.
    from: Timestamp,
    /// Sessions that were created later are read from their start.
    since: Timestamp,
    /// When to read it next.
    due: Option<Instant>,
    read: Option<Instant>,
    /// How often in a row it could not be read.
    failures: u32,
    /// Which parts were read for calls.
    calls: PartReader,
}

/// Reads the parts of all sessions' messages for calls, each until its call is over.
#[derive(Debug, Default)]
struct PartReader {
    /// The last part that was read; `None` until it is known where to begin.
    last: Option<String>,
    /// Parts up to there whose calls are not over, oldest first.
    open: Vec<String>,
}

/// The times and lengths of the files.
type Mark = [Option<(SystemTime, u64)>; 2];

#[derive(Debug, Default)]
struct DatabaseSession {
    row: Option<DatabaseRow>,
    state: LogState,
    doing: Option<Activity>,
}

impl DatabaseSession {
    fn is_at_rest(&self) -> bool {
        matches!(self.doing, Some(Activity::Idle | Activity::Failed(..)))
    }
}

/// Sessions that changed, and the times of all.
type Changed = (Vec<String>, BTreeMap<String, i64>);

/// Why reading stopped.
enum Halt {
    Failed,
    Over,
}

impl From<rusqlite::Error> for Halt {
    fn from(_: rusqlite::Error) -> Self {
        Self::Failed
    }
}

impl From<ReceiverGone> for Halt {
    fn from(_: ReceiverGone) -> Self {
        Self::Over
    }
}

impl Database {
    /// Creates the log; sessions without activity since `from` are ignored until they change, and
    /// those created after `since` are reported from their start.
    pub fn new(
        (host, queries): (WatchedHost, &'static LogDatabase),
        path: PathBuf,
        status: &fs::Metadata,
        (from, since): (Timestamp, Timestamp),
        positions: &mut LogPositions,
    ) -> Self {
        let file = FileId::of(status);
        let known = positions.take(&path.to_string_lossy(), None);
        let known = known.filter(|position| position.file == file);
        let is_new = status
            .created()
            .ok()
            .is_some_and(|born| Timestamp::try_from(born).is_ok_and(|born| born >= since));
        let calls = match known {
            Some(position) => PartReader {
                last: position.row.map(|row| row.id),
                open: position.state.begun.into_iter().map(|open| open.id).collect(),
            },
            // All of its calls are news.
            None if is_new => PartReader { last: Some(String::new()), open: Vec::new() },
            None => PartReader::default(),
        };
        let restored = positions.take_sessions(&path.to_string_lossy()).into_iter();
        let sessions = restored.filter(|position| position.file == file).filter_map(|position| {
            let LogPosition { session, row, state, doing, .. } = position;
            Some((session?, DatabaseSession { row, state, doing }))
        });
        Self {
            host,
            queries,
            sessions: sessions.collect(),
            path,
            file,
            mark: None,
            times: BTreeMap::new(),
            from,
            since,
            due: Some(Instant::now()),
            read: None,
            failures: 0,
            calls,
        }
    }

    /// Records that it may have changed.
    pub fn ring(&mut self, pause: Duration) {
        let now = Instant::now();
        let earliest = self.read.map_or(now, |read| (read + pause).max(now));
        self.failures = 0;
        self.due = Some(self.due.map_or(earliest, |due| due.min(earliest)));
    }

    /// Checks its files; schedules a read if they may have changed.
    pub fn look(&mut self, pause: Duration) {
        if self.mark.is_none() || self.mark != Some(mark(&self.path)) {
            self.ring(pause);
        }
    }

    /// Returns when to read it next.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Reads what is new, and reports it.
    pub fn turn(&mut self, outlet: &EventOutlet, pause: Duration) -> Result<(), ReceiverGone> {
        self.due = None;
        self.read = Some(Instant::now());
        let mark = mark(&self.path);
        // It was replaced by another database.
        if let Ok(status) = fs::metadata(&self.path)
            && FileId::of(&status) != self.file
        {
            self.file = FileId::of(&status);
            self.sessions.clear();
            self.times.clear();
            self.calls = PartReader { last: Some(String::new()), open: Vec::new() };
        }
        self.mark = None;
        match self.read_all(outlet) {
            Ok(false) if is_settled(&mark) => self.mark = Some(mark),
            Ok(false) => self.due = Some(Instant::now() + FOLLOW_UP),
            Ok(true) => self.ring(pause),
            // Busy, or being created: it is retried a few times, then when it changes.
            Err(Halt::Failed) if self.failures < RETRIES => {
                self.failures += 1;
                let wait = pause.max(Duration::from_millis(10)) * 2_u32.pow(self.failures);
                self.due = Some(Instant::now() + wait);
            }
            Err(Halt::Failed) => self.mark = Some(mark),
            Err(Halt::Over) => return Err(ReceiverGone),
        }
        Ok(())
    }

    /// Reads all sessions that may have changed; returns whether there is more.
    fn read_all(&mut self, outlet: &EventOutlet) -> Result<bool, Halt> {
        let Some(connection) = open(&self.path, self.queries.tables)? else { return Ok(false) };
        let has_more_parts = self.read_calls(&connection, outlet)?;
        let (changed, times) = self.changed(&connection)?;
        let at_work = self.sessions.iter().filter(|(_, session)| !session.is_at_rest());
        let mut due: Vec<String> = at_work.map(|(id, _)| id.clone()).collect();
        due.extend(changed);
        due.sort_unstable();
        due.dedup();
        let mut has_more = has_more_parts;
        for id in due {
            has_more |= self.read_session(&connection, &id, outlet)?;
        }
        self.times = times;
        self.forget();
        Ok(has_more)
    }

    /// Finds the sessions whose own row changed, and starts tracking new ones.
    fn changed(&mut self, connection: &Connection) -> Result<Changed, Halt> {
        let mut statement = connection.prepare(self.queries.sessions)?;
        let mut rows = statement.query([SESSIONS])?;
        let mut changed = Vec::new();
        let mut times = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            let folder: Option<String> = row.get(1)?;
            let (created, updated): (i64, i64) = (row.get(2)?, row.get(3)?);
            times.insert(id.clone(), updated);
            let is_known = self.sessions.contains_key(&id);
            let is_due = match self.times.get(&id) {
                Some(time) => *time != updated,
                None => is_known || updated >= self.from.as_millisecond(),
            };
            if !is_due {
                continue;
            }
            if !is_known {
                let mut state = LogState::of_session(&id);
                state.work_dir = folder.filter(|folder| folder.len() <= 4096);
                let is_new = created >= self.since.as_millisecond();
                let row = is_new.then(DatabaseRow::default);
                self.sessions.insert(id.clone(), DatabaseSession { row, state, doing: None });
            }
            changed.push(id);
        }
        Ok((changed, times))
    }

    /// Reads a session's messages from the last one that was read, which may have changed, or only
    /// the newest one; returns whether there are more.
    fn read_session(
        &mut self,
        connection: &Connection,
        id: &str,
        outlet: &EventOutlet,
    ) -> Result<bool, Halt> {
        let Some(session) = self.sessions.get_mut(id) else { return Ok(false) };
        let messages = messages(self.queries, connection, id, session.row.as_ref())?;
        let count = messages.len();
        for (number, (row, data)) in messages.into_iter().enumerate() {
            session.state.waits.clear();
            let mut says = self.host.0.read_log_line(&mut session.state, &data);
            if number + 1 == count
                && says.as_ref().is_some_and(|says| says.doing == Activity::Working)
            {
                for part in parts(self.queries, connection, &row.id)? {
                    says = self.host.0.read_log_line(&mut session.state, &part).or(says);
                }
            }
            session.row = Some(row);
            let Some(says) = says.filter(|says| session.doing.as_ref() != Some(&says.doing)) else {
                continue;
            };
            session.doing = Some(says.doing.clone());
            let position = LogPosition {
                path: self.path.to_string_lossy().into_owned(),
                session: Some(id.to_owned()),
                file: self.file,
                head: super::position::FileHead::default(),
                offset: 0,
                row: session.row.clone(),
                state: session.state.clone(),
                doing: session.doing.clone(),
                read: Timestamp::now(),
                since: self.since,
            };
            outlet.tell(self.host, LogObservation { is_certain: true, ..says }, position)?;
        }
        Ok(count == MESSAGES as usize)
    }

    /// Reports the calls that ended since the last turn; returns whether there are more.
    fn read_calls(&mut self, connection: &Connection, outlet: &EventOutlet) -> Result<bool, Halt> {
        let Some(last) = self.calls.last.clone() else {
            // What was done before the database was watched is not news.
            let mut newest = connection.prepare(self.queries.newest_part)?;
            let id: Option<String> = newest.query_row([], |row| row.get(0)).optional()?;
            self.calls.last = Some(id.unwrap_or_default());
            return Ok(false);
        };
        let mut parts = Vec::new();
        let mut one = connection.prepare(self.queries.part)?;
        for id in std::mem::take(&mut self.calls.open) {
            parts.extend(one.query_row((id, LONGEST), DatabasePart::read).optional()?);
        }
        let mut after = connection.prepare(self.queries.parts_after)?;
        let new = after.query_map((last, LONGEST, PARTS), DatabasePart::read)?;
        let new: Vec<DatabasePart> = new.collect::<Result<_, _>>()?;
        let has_more = new.len() == PARTS as usize;
        if let Some(newest) = new.last() {
            self.calls.last = Some(newest.id.clone());
        }
        parts.extend(new);
        for part in parts {
            match (self.queries.call_of_part)(&part.data) {
                PartCall::Nothing => {}
                PartCall::Open => {
                    if self.calls.open.len() >= OPEN_PARTS {
                        self.calls.open.remove(0);
                    }
                    self.calls.open.push(part.id);
                }
                PartCall::Executed(call) => {
                    let mut state = LogState::default();
                    state.began = part.began;
                    state.begun = self.calls.open.iter().map(|id| BegunCall::open(id)).collect();
                    let position = LogPosition {
                        path: self.path.to_string_lossy().into_owned(),
                        session: None,
                        file: self.file,
                        head: super::position::FileHead::default(),
                        offset: 0,
                        row: self.calls.last.clone().map(|id| DatabaseRow { id, time: 0 }),
                        state,
                        doing: None,
                        read: Timestamp::now(),
                        since: self.since,
                    };
                    let call = ExecutedCall { session: Some(part.session), ..*call };
                    let folder = part.folder.as_deref();
                    outlet.tell_calls(self.host, vec![call], folder, position)?;
                }
            }
        }
        Ok(has_more)
    }

    /// Forgets sessions at rest if there are too many; one that becomes active is found again.
    fn forget(&mut self) {
        let kept = SESSIONS as usize;
        if self.sessions.len() <= 2 * kept {
            return;
        }
        let time = |session: &DatabaseSession| session.row.as_ref().map_or(0, |row| row.time);
        let mut times: Vec<i64> = self.sessions.values().map(time).collect();
        times.sort_unstable();
        let oldest = times[times.len() - kept];
        self.sessions.retain(|_, session| !session.is_at_rest() || time(session) >= oldest);
    }
}

/// A part of a message.
#[derive(Debug)]
struct DatabasePart {
    id: String,
    /// The session that hooks are told.
    session: String,
    folder: Option<String>,
    data: String,
    /// When the session began.
    began: Option<Timestamp>,
}

impl DatabasePart {
    fn read(row: &rusqlite::Row<'_>) -> Result<Self, rusqlite::Error> {
        let began: Option<i64> = row.get(4)?;
        Ok(Self {
            id: row.get(0)?,
            session: row.get(1)?,
            folder: row.get(2)?,
            data: row.get(3)?,
            began: began.and_then(|began| Timestamp::from_millisecond(began).ok()),
        })
    }
}

/// Returns messages with their data, oldest first.
fn messages(
    queries: &LogDatabase,
    connection: &Connection,
    session: &str,
    from: Option<&DatabaseRow>,
) -> Result<Vec<(DatabaseRow, String)>, rusqlite::Error> {
    let read = |row: &rusqlite::Row<'_>| {
        let data: Option<String> = row.get(2)?;
        Ok((DatabaseRow { id: row.get(0)?, time: row.get(1)? }, data.unwrap_or_default()))
    };
    let Some(from) = from else {
        let mut statement = connection.prepare(queries.newest_message)?;
        return Ok(statement.query_row((session, LONGEST), read).optional()?.into_iter().collect());
    };
    let mut statement = connection.prepare(queries.messages_from)?;
    statement.query_map((session, from.time, &from.id, LONGEST, MESSAGES), read)?.collect()
}

/// Returns the data of a message's last parts, oldest first.
fn parts(
    queries: &LogDatabase,
    connection: &Connection,
    message: &str,
) -> Result<Vec<String>, rusqlite::Error> {
    let mut statement = connection.prepare(queries.last_parts)?;
    let mut parts: Vec<String> =
        statement.query_map((message, LONGEST), |row| row.get(0))?.collect::<Result<_, _>>()?;
    parts.reverse();
    Ok(parts)
}

fn mark(path: &Path) -> Mark {
    [path.to_path_buf(), beside(path, "-wal")].map(|path| {
        let status = fs::metadata(path).ok()?;
        Some((status.modified().ok()?, status.len()))
    })
}

/// Returns whether the files have not changed just now.
///
/// If they have, they are read once more: new data is written before it can be read, and the system
/// does not report the moment when it can. A further change may also look the same, as the clock of
/// a file system is coarse and the file next to the database is overwritten.
fn is_settled(mark: &Mark) -> bool {
    let ages = mark.iter().flatten().map(|(time, _)| time.elapsed().unwrap_or_default());
    ages.min().is_some_and(|age| age > Duration::from_secs(1))
}

//! Counts tokens and turns of agents, from the transcripts or databases that their hosts write.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use anyhook_hosts::log::{LogLocation, LogRoots};
use anyhook_hosts::log_database::LogDatabase;
use anyhook_hosts::usage::UsageTally;
use anyhook_model::daemon::{AgentView, Usage};
use rusqlite::{Connection, Statement};

use crate::sqlite::{self, LONGEST};

/// How many messages are counted at most; a session has fewer.
const MESSAGES: u32 = 1_000_000;

/// A longer part, in bytes, is not read: it is a person's input.
const PART: u32 = 64 * 1024;

/// How long a command waits for a database that is being written.
const TIMEOUT: Duration = Duration::from_millis(500);

/// At most this much of a transcript is read.
const TRANSCRIPT_LIMIT: u64 = 1024 * 1024 * 1024;

/// Returns the usage in an agent's transcript; `None` if there is none, or it contains none.
pub fn of_agent(agent: &AgentView) -> Option<Usage> {
    let log = Path::new(agent.log.as_deref()?);
    of_log(agent.host.as_deref()?, log, agent.session.as_deref())
}

/// Returns the usage in a host's transcript, or in its database for a session; `None` if there is
/// none, or it contains none.
pub fn of_log(host: &str, log: &Path, session: Option<&str>) -> Option<Usage> {
    let places = anyhook_hosts::find(host)?.log_places(&LogRoots::default());
    if let Some(queries) = places.iter().find_map(LogLocation::database) {
        return of_session(queries, log, session?);
    }
    let mut tally = UsageTally::of_host(host)?;
    let file = File::open(log).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut lines = BufReader::new(file.take(TRANSCRIPT_LIMIT));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).ok()? > 0 {
        tally.feed(&String::from_utf8_lossy(&line));
        line.clear();
    }
    tally.usage()
}

/// Returns the usage in the messages of a session; `None` if there are none, or they cannot be
/// read.
pub fn of_session(queries: &LogDatabase, database: &Path, session: &str) -> Option<Usage> {
    if !fs::metadata(database).ok()?.is_file() {
        return None;
    }
    let connection = sqlite::open(database, queries.tables).ok()??;
    connection.busy_timeout(TIMEOUT).ok()?;
    let usage = read(queries, &connection, session).ok()?;
    (!usage.is_empty()).then_some(usage)
}

fn read(queries: &LogDatabase, connection: &Connection, session: &str) -> rusqlite::Result<Usage> {
    let mut usage = Usage::default();
    let mut messages = connection.prepare(queries.all_messages)?;
    let mut of_message = connection.prepare(queries.all_parts)?;
    let mut rows = messages.query((session, LONGEST, MESSAGES))?;
    while let Some(row) = rows.next()? {
        let (id, data): (String, String) = (row.get(0)?, row.get(1)?);
        if (queries.count_message)(&mut usage, &data) {
            (queries.count_parts)(&mut usage, &parts(&mut of_message, &id)?);
        }
    }
    Ok(usage)
}

fn parts(statement: &mut Statement<'_>, message: &str) -> rusqlite::Result<Vec<String>> {
    statement.query_map((message, PART), |row| row.get(0))?.collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::*;

    /// Returns the queries of OpenCode's database.
    fn database() -> &'static LogDatabase {
        let homes = LogRoots::default();
        let place = anyhook_hosts::opencode::SPEC.log_places(&homes).remove(0);
        place.database().unwrap()
    }

    struct Recorded {
        folder: tempfile::TempDir,
        connection: Connection,
    }

    impl Recorded {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let connection = Connection::open(folder.path().join("opencode.db")).unwrap();
            connection.pragma_update(None, "journal_mode", "wal").unwrap();
            connection.pragma_update(None, "foreign_keys", false).unwrap();
            let logs = Self::logs();
            let schema = fs::read_to_string(logs.join("schema.sql")).unwrap();
            connection.execute_batch(&schema).unwrap();
            Self { folder, connection }
        }

        fn logs() -> PathBuf {
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../hosts/src/opencode/fixtures/logs")
        }

        /// Adds the final messages and parts of a recorded session; returns its id.
        fn add(&self, log: &str) -> String {
            let text = fs::read_to_string(Self::logs().join(format!("{log}.jsonl"))).unwrap();
            let mut session = String::new();
            for line in text.lines() {
                let step: Value = serde_json::from_str(line).unwrap();
                let text = |name: &str| step["row"][name].as_str().unwrap_or_default();
                match step["table"].as_str().unwrap() {
                    "session" => text("id").clone_into(&mut session),
                    "message" => self.message(text("id"), text("session_id"), text("data")),
                    _ => self.part(text("id"), text("message_id"), text("data")),
                }
            }
            session
        }

        fn message(&self, id: &str, session: &str, data: &str) {
            let sql = "INSERT OR REPLACE INTO message VALUES (?1, ?2, 1, 1, ?3)";
            self.connection.execute(sql, (id, session, data)).unwrap();
        }

        fn part(&self, id: &str, message: &str, data: &str) {
            let sql = "INSERT OR REPLACE INTO part VALUES (?1, ?2, 'session', 1, 1, ?3)";
            self.connection.execute(sql, (id, message, data)).unwrap();
        }

        fn usage(&self, session: &str) -> Option<Usage> {
            of_session(database(), &self.folder.path().join("opencode.db"), session)
        }
    }

    /// The model of these sessions read 100 tokens and wrote 10 at each request.
    #[test]
    fn what_real_sessions_tell() {
        let recorded = Recorded::new();
        let (text, tools) = (recorded.add("text"), recorded.add("tools"));
        let expected = |requests: u64| Usage {
            turns: Some(1),
            input_tokens: Some(100 * requests),
            output_tokens: Some(10 * requests),
            cache_read_tokens: Some(0),
            cache_write_tokens: Some(0),
        };
        assert_eq!(recorded.usage(&text), Some(expected(1)));
        assert_eq!(recorded.usage(&tools), Some(expected(3)));
        assert_eq!(recorded.usage("no such session"), None);
    }

    #[test]
    fn a_turn_is_what_a_person_asked() {
        let recorded = Recorded::new();
        for id in ["asked", "summed-up", "goes-on", "long", "not-yet"] {
            recorded.message(id, "s", r#"{"role": "user"}"#);
        }
        let parts = [
            ("asked", json!({"type": "text", "text": "read it"})),
            ("asked", json!({"type": "text", "text": "a file", "synthetic": true})),
            ("summed-up", json!({"type": "compaction", "auto": true})),
            ("goes-on", json!({"type": "text", "text": "go on", "synthetic": true})),
            ("long", json!({"type": "file", "url": "x".repeat(100_000)})),
        ];
        for (number, (message, data)) in parts.iter().enumerate() {
            recorded.part(&number.to_string(), message, &data.to_string());
        }
        assert_eq!(recorded.usage("s").unwrap().turns, Some(2));
    }

    #[test]
    fn a_file_that_is_not_such_a_database_tells_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        assert_eq!(of_session(database(), &path, "s"), None);
        fs::write(&path, "not a database").unwrap();
        assert_eq!(of_session(database(), &path, "s"), None);
        assert_eq!(of_session(database(), folder.path(), "s"), None);
        fs::remove_file(&path).unwrap();
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE message (id)").unwrap();
        assert_eq!(of_session(database(), &path, "s"), None);
    }
}

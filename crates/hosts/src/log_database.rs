//! Logs that an agent keeps in a database, read with `SQLite`: what is asked of it, and what its
//! rows mean.
//!
//! Who opens the database and runs the queries is the daemon. A query's parameters are numbered as
//! each field says; columns come in the order that it says.

use anyhook_model::daemon::Usage;

/// What is asked of an agent's database.
///
/// Data of a row that is longer than a limit comes as NULL or as empty text, never in part.
#[derive(Debug)]
pub struct LogDatabase {
    /// The tables it has; one without them is not the agent's, or not yet.
    pub tables: &'static [&'static str],
    /// The sessions that are not subagents', those changed last first: id, folder, and when it was
    /// made and changed in milliseconds. `?1` is how many.
    pub sessions: &'static str,
    /// The newest message of session `?1`: id, time, data of at most `?2` bytes.
    pub newest_message: &'static str,
    /// The messages of session `?1` from time `?2` and id `?3` on, oldest first: id, time, data of at
    /// most `?4` bytes. `?5` is how many.
    pub messages_from: &'static str,
    /// The last parts of message `?1`, newest first: data of at most `?2` bytes.
    pub last_parts: &'static str,
    /// All messages of session `?1`: id, data of at most `?2` bytes. `?3` is how many.
    pub all_messages: &'static str,
    /// All parts of message `?1`: data of at most `?2` bytes.
    pub all_parts: &'static str,
    /// Counts the tokens of a message's data; tells whether its parts are to be counted, too.
    pub count_message: fn(&mut Usage, &str) -> bool,
    /// Counts the turn that the data of the parts of a message stand for, if any.
    pub count_parts: fn(&mut Usage, &[String]),
}

impl PartialEq for LogDatabase {
    /// Every agent has one of its own.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for LogDatabase {}

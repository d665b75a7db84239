//! Logs that an agent keeps in a database, read with `SQLite`: the queries, and the meaning of
//! their rows.
//!
//! The daemon opens the database and runs the queries. The parameters of a query are numbered as
//! each field says; the columns are in the order that it says.

use anyhook_model::daemon::Usage;

use crate::log::ExecutedCall;

/// The queries for an agent's database.
///
/// Row data longer than a limit is returned as NULL or as an empty text, never in part.
#[derive(Debug)]
pub struct LogDatabase {
    /// The tables it has; a database without them is not the agent's, or not yet.
    pub tables: &'static [&'static str],
    /// The sessions that are not subagents', the most recently changed first: id, folder, and the
    /// times of creation and change in milliseconds. `?1` is the maximum number.
    pub sessions: &'static str,
    /// The newest message of session `?1`: id, time, data of at most `?2` bytes.
    pub newest_message: &'static str,
    /// The messages of session `?1` from time `?2` and id `?3` on, oldest first: id, time, data of
    /// at most `?4` bytes. `?5` is the maximum number.
    pub messages_from: &'static str,
    /// The last parts of message `?1`, newest first: data of at most `?2` bytes.
    pub last_parts: &'static str,
    /// All messages of session `?1`: id, data of at most `?2` bytes. `?3` is the maximum number.
    pub all_messages: &'static str,
    /// All parts of message `?1`: data of at most `?2` bytes.
    pub all_parts: &'static str,
    /// The newest part of any message: id.
    pub newest_part: &'static str,
    /// The parts of all sessions after part `?1`, oldest first: id, session that hooks are told,
    /// folder, data of at most `?2` bytes, and when the session was created in milliseconds. `?3` is
    /// the maximum number.
    pub parts_after: &'static str,
    /// Part `?1`, with the same columns; `?2` is the maximum length of its data.
    pub part: &'static str,
    /// Returns what a part's data says about a tool call.
    pub call_of_part: fn(&str) -> PartCall,
    /// Counts the tokens of a message's data; returns whether its parts must be counted, too.
    pub count_message: fn(&mut Usage, &str) -> bool,
    /// Counts the turn that the data of a message's parts represent, if any.
    pub count_parts: fn(&mut Usage, &[String]),
}

/// What a part of a message says about a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartCall {
    /// Nothing, or that it was not executed.
    Nothing,
    /// It is not over.
    Open,
    /// It was executed.
    Executed(Box<ExecutedCall>),
}

impl PartialEq for LogDatabase {
    /// Compares addresses: every agent has its own.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for LogDatabase {}

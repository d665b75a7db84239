//! OpenCode's database: its sessions, their messages, and the parts of these.
//!
//! Observed with 1.18.33: `session`, `message` and `part` have their ids and times in columns and
//! everything else as JSON in `data`. A session of a subagent has a parent.

use super::{log, usage};
use crate::log_database::LogDatabase;

pub(super) static DATABASE: LogDatabase = LogDatabase {
    tables: &["session", "message", "part"],
    sessions: "SELECT id, directory, time_created, time_updated FROM session \
        WHERE parent_id IS NULL AND octet_length(id) <= 200 \
        ORDER BY time_updated DESC LIMIT ?1",
    newest_message: "SELECT id, time_created, CASE WHEN octet_length(data) <= ?2 THEN data END \
        FROM message WHERE session_id = ?1 ORDER BY time_created DESC, id DESC LIMIT 1",
    messages_from: "SELECT id, time_created, CASE WHEN octet_length(data) <= ?4 THEN data END \
        FROM message WHERE session_id = ?1 AND (time_created, id) >= (?2, ?3) \
        ORDER BY time_created, id LIMIT ?5",
    last_parts: "SELECT CASE WHEN octet_length(data) <= ?2 THEN data ELSE '' END \
        FROM part WHERE message_id = ?1 ORDER BY id DESC LIMIT 8",
    all_messages: "SELECT id, data FROM message \
        WHERE session_id = ?1 AND octet_length(data) <= ?2 LIMIT ?3",
    all_parts: "SELECT CASE WHEN octet_length(data) <= ?2 THEN data ELSE '' END \
        FROM part WHERE message_id = ?1",
    newest_part: "SELECT id FROM part ORDER BY id DESC LIMIT 1",
    // A part's id begins with the time of its creation.
    parts_after: "SELECT part.id, coalesce(session.parent_id, session.id), session.directory, \
            CASE WHEN octet_length(part.data) <= ?2 THEN part.data ELSE '' END, \
            session.time_created \
        FROM part JOIN session ON session.id = part.session_id \
        WHERE part.id > ?1 ORDER BY part.id LIMIT ?3",
    part: "SELECT part.id, coalesce(session.parent_id, session.id), session.directory, \
            CASE WHEN octet_length(part.data) <= ?2 THEN part.data ELSE '' END, \
            session.time_created \
        FROM part JOIN session ON session.id = part.session_id WHERE part.id = ?1",
    call_of_part: log::call_of_part,
    count_message: usage::count_message,
    count_parts: usage::count_parts,
};

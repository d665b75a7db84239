//! Opens an agent's `SQLite` database without affecting the agent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// The longest data that is read, in bytes: also the limit for a line of a log.
pub(crate) const LONGEST: u32 = 16 * 1024 * 1024;

/// Opens a database read-only, without creating files next to it; `None` if it lacks a table, and
/// so is not the agent's, or not yet.
pub(crate) fn open(path: &Path, tables: &[&str]) -> rusqlite::Result<Option<Connection>> {
    let path_text = path.to_str().ok_or_else(|| rusqlite::Error::InvalidPath(path.to_owned()))?;
    // Without its index (`-shm`) no program has it open: then it does not change, and SQLite would
    // create the index.
    let is_open = beside(path, "-shm").exists();
    let way = if is_open { "readonly_shm=1" } else { "immutable=1" };
    let name = format!("file:{}?mode=ro&{way}", escaped(path_text));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(name, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    for table in tables {
        let sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1";
        let count: i64 = connection.query_row(sql, [table], |row| row.get(0))?;
        if count == 0 {
            return Ok(None);
        }
    }
    Ok(Some(connection))
}

/// Returns the path of a file next to a database.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Escapes a path for the URI of a database.
fn escaped(path: &str) -> String {
    path.replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

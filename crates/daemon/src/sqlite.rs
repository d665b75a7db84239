//! An agent's database, opened so that the agent notices nothing of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// Data that is longer is not read, in bytes: no line of a log is.
pub(crate) const LONGEST: u32 = 16 * 1024 * 1024;

/// Opens a database so that nothing is written, not even beside it; none if it lacks a table, and so
/// is not the agent's, or not yet.
pub(crate) fn open(path: &Path, tables: &[&str]) -> rusqlite::Result<Option<Connection>> {
    let path_text = path.to_str().ok_or_else(|| rusqlite::Error::InvalidPath(path.to_owned()))?;
    // Without its index no program has it open: then it does not change, and SQLite would make one.
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

/// Returns the path of a file that is kept beside a database.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Writes a path as it must be in the name of a database.
fn escaped(path: &str) -> String {
    path.replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

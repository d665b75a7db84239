//! What a durable entry costs in the daemon's store, and in `SQLite`: `cargo xtask bench` runs it.
//!
//! Prints one JSON object. Files go to the folder that is given as its argument, which should be on
//! a disk. The contenders take turns, so that a slow moment of the machine hits all of them alike.

#![expect(clippy::print_stdout, reason = "its whole purpose")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhook_daemon::store::{Store, StoreOptions};
use rusqlite::Connection;
use serde::Serialize;
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

const ROUNDS: usize = 5;
/// How many entries an append has, and how many appends there are a round, synced and not.
const BATCHES: [(usize, usize, usize); 3] = [(1, 300, 5000), (64, 200, 500), (1024, 20, 50)];
const RECOVERED: usize = 100_000;

/// An event as the daemon keeps them, about 250 bytes as JSON.
#[derive(Serialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: &'static str,
    agent: &'static str,
    source: &'static str,
    at: &'static str,
    host: &'static str,
    session: &'static str,
    work_dir: &'static str,
    tool: &'static str,
    about: String,
    pid: usize,
}

fn entry(number: usize) -> Entry {
    Entry {
        kind: "agent:working",
        agent: "claude-code:0b9c2a52-6a3e-4a62-8f0e-0123456789ab",
        source: "hook",
        at: "2026-01-01T09:30:00.123456Z",
        host: "claude-code",
        session: "0b9c2a52-6a3e-4a62-8f0e-0123456789ab",
        work_dir: "/home/user/project",
        tool: "Shell",
        about: format!("cargo test {number}"),
        pid: number,
    }
}

/// One way to keep entries.
enum Keeper {
    Store(Box<Store>),
    Sqlite(Connection),
}

#[derive(Clone, Copy)]
enum Kind {
    Store { sync: bool },
    Sqlite { synchronous: &'static str },
}

const CONTENDERS: [(&str, Kind, bool); 4] = [
    ("store_synced", Kind::Store { sync: true }, true),
    ("store", Kind::Store { sync: false }, false),
    ("sqlite_full", Kind::Sqlite { synchronous: "FULL" }, true),
    ("sqlite_normal", Kind::Sqlite { synchronous: "NORMAL" }, false),
];

impl Keeper {
    fn open(kind: Kind, folder: &Path) -> Outcome<Self> {
        match kind {
            Kind::Store { sync } => {
                let options = StoreOptions { sync, snapshot_every: 0, ..StoreOptions::default() };
                Ok(Self::Store(Box::new(Store::open(folder, options)?.0)))
            }
            Kind::Sqlite { synchronous } => {
                fs::create_dir_all(folder)?;
                let connection = Connection::open(folder.join("store.db"))?;
                connection.pragma_update(None, "journal_mode", "WAL")?;
                connection.pragma_update(None, "synchronous", synchronous)?;
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS log (n INTEGER PRIMARY KEY, entry TEXT NOT NULL)",
                    (),
                )?;
                Ok(Self::Sqlite(connection))
            }
        }
    }

    fn append(&mut self, entries: &[Entry]) -> Outcome<()> {
        match self {
            Self::Store(store) => drop(store.append(entries)?),
            Self::Sqlite(connection) => {
                let transaction = connection.transaction()?;
                {
                    let mut insert = transaction.prepare("INSERT INTO log (entry) VALUES (?1)")?;
                    for entry in entries {
                        insert.execute([serde_json::to_string(entry)?])?;
                    }
                }
                transaction.commit()?;
            }
        }
        Ok(())
    }
}

/// Opens anew and reads everything; returns how many entries there were.
fn recover(kind: Kind, folder: &Path) -> Outcome<usize> {
    match kind {
        Kind::Store { .. } => {
            let (_store, recovered) = Store::open(folder, StoreOptions::default())?;
            Ok(recovered.entries.len())
        }
        Kind::Sqlite { .. } => {
            let connection = Connection::open(folder.join("store.db"))?;
            let mut select = connection.prepare("SELECT n, entry FROM log ORDER BY n")?;
            let mut rows = select.query(())?;
            let mut entries: Vec<(i64, Value)> = Vec::new();
            while let Some(row) = rows.next()? {
                let text = row.get_ref(1)?.as_str()?;
                entries.push((row.get::<_, i64>(0)?, serde_json::from_str(text)?));
            }
            Ok(entries.len())
        }
    }
}

/// Times of single appends, in microseconds.
fn times(keeper: &mut Keeper, batch: usize, turns: usize) -> Outcome<Vec<f64>> {
    let mut times = Vec::with_capacity(turns);
    for turn in 0..turns {
        let entries: Vec<Entry> = (0..batch).map(|number| entry(turn * batch + number)).collect();
        let began = Instant::now();
        keeper.append(&entries)?;
        times.push(began.elapsed().as_secs_f64() * 1e6);
    }
    Ok(times)
}

fn summary(mut times: Vec<f64>, batch: usize) -> Value {
    times.sort_by(f64::total_cmp);
    let rank = |percent: usize| times[(times.len() * percent).div_ceil(100).max(1) - 1];
    let whole: f64 = times.iter().sum();
    // By the median as well: a disk that others use at the same time has bad moments.
    let count = |number: usize| f64::from(u32::try_from(number).unwrap_or(u32::MAX));
    json!({
        "entries_per_second": (count(batch * times.len()) / whole * 1e6).round(),
        "entries_per_second_by_median": (count(batch) / rank(50) * 1e6).round(),
        "p50_us": rank(50),
        "p99_us": rank(99),
    })
}

fn size(folder: &Path) -> Outcome<u64> {
    let mut size = 0;
    for file in fs::read_dir(folder)? {
        size += file?.metadata()?.len();
    }
    Ok(size)
}

fn main() -> Outcome<()> {
    let scratch = tempfile::tempdir()?;
    let folder =
        std::env::args_os().nth(1).map_or_else(|| scratch.path().to_owned(), PathBuf::from);
    let mut found = json!({ "entry_bytes": serde_json::to_vec(&entry(1234))?.len() });
    for (batch, synced, unsynced) in BATCHES {
        let mut keepers = Vec::new();
        for (name, kind, sync) in CONTENDERS {
            let folder = folder.join(format!("{name}-{batch}"));
            keepers.push((name, Keeper::open(kind, &folder)?, sync, Vec::new()));
        }
        for _ in 0..ROUNDS {
            for (_, keeper, sync, all) in &mut keepers {
                all.extend(times(keeper, batch, if *sync { synced } else { unsynced })?);
            }
        }
        for (name, _, _, times) in keepers {
            found[name][format!("batch_{batch}")] = summary(times, batch);
        }
    }
    for (name, kind, _) in CONTENDERS {
        let folder = folder.join(format!("{name}-recovery"));
        let mut keeper = Keeper::open(kind, &folder)?;
        times(&mut keeper, 1000, RECOVERED / 1000)?;
        drop(keeper);
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let began = Instant::now();
            let count = recover(kind, &folder)?;
            best = best.min(began.elapsed().as_secs_f64() * 1e3);
            if count != RECOVERED {
                return Err(format!("{name}: {count} entries").into());
            }
        }
        found[name]["recovery_ms"] = json!(best);
        found[name]["bytes"] = json!(size(&folder)?);
    }
    println!("{found}");
    Ok(())
}

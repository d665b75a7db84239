//! Claims on notices: who delivers a notice, and its outcome; one small file per notice.
//!
//! The file is created with `O_EXCL`, so exactly one of several processes gets it. Its owner holds
//! a lock on it while it delivers, which is released however the process ends: a claim that is
//! neither locked nor completed is in doubt.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhook_engine::atomic_file::AtomicFile;
use anyhook_engine::sha256_hex;
use anyhook_model::Notice;
use anyhook_model::notice::{NOTICE_VERSION, NoticeOutcome, NoticeState};
use jiff::Timestamp;

use super::text;

/// How long a claim is kept: a notice that recurs later is delivered again.
const KEEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// A claim is a few hundred bytes; we never read more than this.
const FILE_LIMIT: u64 = 64 * 1024;
/// The longest id that is used as a file name.
const NAME_LIMIT: usize = 128;
/// The longest id that is put into a header or a variable.
const ID_LIMIT: usize = 256;

/// A notice that this process has to deliver.
#[derive(Debug)]
pub struct NoticeClaim {
    path: PathBuf,
    outcome: NoticeOutcome,
    /// Held for its lock.
    _file: File,
}

impl NoticeClaim {
    /// Claims the notice; `None` if another process has.
    pub fn make(folder: &Path, notice: &Notice, now: Timestamp) -> io::Result<Option<Self>> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let path = folder.join(file_name(&notice.id));
        let options = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let mut file = match options {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(error),
        };
        // Where files cannot be locked, a notice that is being delivered looks like one in doubt:
        // no harm.
        let _ = file.lock();
        let outcome = NoticeOutcome {
            v: NOTICE_VERSION,
            id: notice.id.clone(),
            state: NoticeState::UnderWay,
            kind: Some(notice.kind),
            agent: Some(text::line(&notice.agent, text::NAME)),
            title: Some(text::line(&notice.title, text::TITLE)),
            claimed: Some(now),
            tried: None,
            ways: Vec::new(),
            answer: None,
        };
        // The file's existence is the claim. On a full disk its content is missing, but the notice
        // is not.
        let _ = serde_json::to_vec(&outcome).map(|bytes| file.write_all(&bytes));
        Ok(Some(Self { path, outcome, _file: file }))
    }

    /// Updates the outcome of the notice in the file.
    pub fn record(&mut self, change: impl FnOnce(&mut NoticeOutcome)) -> io::Result<()> {
        change(&mut self.outcome);
        AtomicFile::new(&self.path).replace(&serde_json::to_vec(&self.outcome)?)
    }

    /// Returns the outcome of the notice so far.
    pub fn into_outcome(self) -> NoticeOutcome {
        self.outcome
    }
}

/// Returns whether the notice has been claimed.
pub fn is_claimed(folder: &Path, id: &str) -> bool {
    folder.join(file_name(id)).exists()
}

/// Returns the outcome of every notice that is kept, the oldest first.
pub fn outcomes(folder: &Path) -> Vec<NoticeOutcome> {
    let mut outcomes: Vec<_> =
        files(folder).filter(|(name, _)| !name.starts_with('.')).filter_map(read).collect();
    outcomes.sort_by(|one, other| (one.claimed, &one.id).cmp(&(other.claimed, &other.id)));
    outcomes
}

/// Returns the outcome of one notice; `None` if it has not been claimed.
pub fn outcome(folder: &Path, id: &str) -> Option<NoticeOutcome> {
    let name = file_name(id);
    let path = folder.join(&name);
    path.exists().then(|| read((name, path))).flatten()
}

/// Removes claims that are older than seven days. Returns how many.
pub fn forget(folder: &Path, now: SystemTime) -> usize {
    files(folder)
        .filter(|(_, path)| {
            let changed = path.symlink_metadata().and_then(|data| data.modified());
            changed.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > KEEP))
        })
        .filter(|(name, path)| fs::remove_file(path).is_ok() && !name.starts_with('.'))
        .count()
}

fn files(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
}

fn read((name, path): (String, PathBuf)) -> Option<NoticeOutcome> {
    // It may have been removed by now, or not be a claim at all.
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|m| m.is_file()))?;
    let mut bytes = Vec::new();
    (&file).take(FILE_LIMIT).read_to_end(&mut bytes).ok()?;
    let mut outcome = serde_json::from_slice(&bytes).unwrap_or(NoticeOutcome {
        v: NOTICE_VERSION,
        id: name,
        state: NoticeState::InDoubt,
        kind: None,
        agent: None,
        title: None,
        claimed: None,
        tried: None,
        ways: Vec::new(),
        answer: None,
    });
    if outcome.tried.is_none() {
        let is_free = file.try_lock_shared().is_ok();
        outcome.state = if is_free { NoticeState::InDoubt } else { NoticeState::UnderWay };
    }
    Some(outcome)
}

/// Returns the file name of a notice: its id, or a hash of an id that is not a valid file name.
fn file_name(id: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if !id.is_empty() && id.len() <= NAME_LIMIT && id.chars().all(is_plain) {
        return id.to_owned();
    }
    hashed(id)
}

/// Returns the id if it fits into a header or a variable, or else a hash of it.
pub fn short_id(id: &str) -> String {
    if !id.is_empty() && id.len() <= ID_LIMIT && id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return id.to_owned();
    }
    hashed(id)
}

fn hashed(id: &str) -> String {
    format!("~{}", sha256_hex(id.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use anyhook_model::notice::{Channel, DeliveryResult};

    use super::*;
    use crate::notice::messages::tests::notice;

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn of_many_one_has_it() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("daemon/notices");
        let start = Barrier::new(16);
        let won = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        NoticeClaim::make(&folder, &notice("x"), now()).unwrap().is_some()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).filter(|won| *won).count()
        });
        assert_eq!(won, 1);
        assert!(is_claimed(&folder, "x") && !is_claimed(&folder, "y"));
    }

    #[test]
    fn a_claim_is_under_way_then_tried_and_without_its_owner_in_doubt() {
        let scratch = tempfile::tempdir().unwrap();
        let state = || outcomes(scratch.path()).first().map(|outcome| outcome.state);
        let mut claim = NoticeClaim::make(scratch.path(), &notice("x"), now()).unwrap().unwrap();
        assert_eq!(state(), Some(NoticeState::UnderWay));
        claim
            .record(|outcome| {
                outcome.state = NoticeState::Tried;
                outcome.tried = Some(now());
                outcome.ways = vec![DeliveryResult::delivered(Channel::Bell)];
            })
            .unwrap();
        drop(claim);
        let tried = outcomes(scratch.path()).remove(0);
        assert_eq!((tried.state, tried.is_delivered()), (NoticeState::Tried, true));
        assert!(NoticeClaim::make(scratch.path(), &notice("x"), now()).unwrap().is_none());

        drop(NoticeClaim::make(scratch.path(), &notice("y"), now()).unwrap());
        let doubt = outcomes(scratch.path()).remove(1);
        assert_eq!((doubt.id.as_str(), doubt.state), ("y", NoticeState::InDoubt));
        fs::write(scratch.path().join("torn"), "{\"v\": 1, \"id").unwrap();
        let torn = outcomes(scratch.path()).remove(0);
        assert_eq!((torn.id.as_str(), torn.state), ("torn", NoticeState::InDoubt));
    }

    #[test]
    fn an_id_that_is_no_file_name_stays_in_the_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("notices");
        let long = "x".repeat(5000);
        for id in ["../../x", "", ".", "a/b", ".hidden", "ä", &long, "a\0b"] {
            let claimed = NoticeClaim::make(&folder, &notice(id), now()).unwrap();
            assert!(claimed.is_some(), "{id}");
            assert!(NoticeClaim::make(&folder, &notice(id), now()).unwrap().is_none(), "{id}");
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 8);
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
        assert!(outcomes(&folder).iter().any(|outcome| outcome.id == "../../x"));
    }

    #[test]
    fn an_id_fits_a_header() {
        assert_eq!(short_id("idle/3/17/codex:s"), "idle/3/17/codex:s");
        for id in ["", "a b", "a\r\nX: y", "ä", &"x".repeat(257)] {
            assert!(short_id(id).starts_with('~') && short_id(id).len() == 65, "{id}");
        }
    }

    #[test]
    fn what_is_old_is_forgotten() {
        let scratch = tempfile::tempdir().unwrap();
        drop(NoticeClaim::make(scratch.path(), &notice("x"), now()).unwrap());
        fs::write(scratch.path().join(".left"), "").unwrap();
        assert_eq!(forget(scratch.path(), SystemTime::now()), 0);
        assert_eq!(forget(scratch.path(), SystemTime::now() + 2 * KEEP), 1);
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
        assert_eq!(forget(&scratch.path().join("nowhere"), SystemTime::now()), 0);
    }
}

//! Canaries: events that anyhook makes itself, to see that agents' entries work.
//!
//! Hooks, the journal and alarms treat them like any other event. Only what counts the work of agents
//! leaves them out, and it goes by the mark of the record that is set here: not for an event that
//! merely looks like one, but for one that was announced in the state folder; and never for a tool
//! call that was not denied.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhook_model::record::CANARY_SESSION;
use anyhook_model::{EventKind, StateDir};

use crate::atomic_file::{AtomicFile, create_private_dir};
use crate::dispatch::FinishedDispatch;
use crate::new_id;

/// The folder of agents that are run for a proof, from the state folder; see
/// [`StateDir::proof_scratch`].
const SCRATCH: &str = "proofs/scratch";
/// The announcement of an agent that runs there.
const RUN: &str = "run";
/// The file that a proof locks, in the folder of proofs.
pub const PROOF_LOCK: &str = "lock";
/// A longer session is none of ours.
const NAME_LIMIT: usize = 64;

/// A canary, or an agent's run, that is announced until this is dropped.
#[derive(Debug)]
pub struct Announcement {
    file: PathBuf,
}

impl Announcement {
    /// Announces one canary; returns its session, too.
    pub fn canary(state: &Path) -> io::Result<(String, Self)> {
        let session = format!("{CANARY_SESSION}{}", new_id());
        let announcement = Self::new(state, &session)?;
        Ok((session, announcement))
    }

    /// Announces that an agent is run in the scratch folder.
    pub fn run(state: &Path) -> io::Result<Self> {
        Self::new(state, RUN)
    }

    fn new(state: &Path, name: &str) -> io::Result<Self> {
        let folder = StateDir::new(state).canaries();
        create_private_dir(&folder)?;
        let file = folder.join(name);
        AtomicFile::new(&file).mode(0o600).replace(b"")?;
        Ok(Self { file })
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // One that stays announces a session that never comes again.
        let _ = fs::remove_file(&self.file);
    }
}

/// Returns whether an event is a canary that was announced, and no tool runs because of it.
///
/// For other events, this makes no system call.
pub(crate) fn is_one(state: &Path, finished: &FinishedDispatch) -> bool {
    let event = &finished.event;
    let Some(name) = announced_as(state, event.session.as_deref(), &event.work_dir) else {
        return false;
    };
    if name == RUN && !is_proof_under_way(state) {
        // The proof was killed, and could not remove its announcement.
        return false;
    }
    let is_tool = event.tool.is_some() || event.kind == EventKind::PermissionRequest;
    let announcement = StateDir::new(state).canaries().join(name);
    (!is_tool || finished.verdict.is_block())
        && fs::symlink_metadata(announcement).is_ok_and(|file| file.is_file())
}

/// Returns whether a proof holds its lock.
fn is_proof_under_way(state: &Path) -> bool {
    let lock = fs::File::open(StateDir::new(state).proofs().join(PROOF_LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock)))
}

/// Returns the name of the announcement that an event would have.
fn announced_as<'event>(
    state: &Path,
    session: Option<&'event str>,
    work_dir: &Path,
) -> Option<&'event str> {
    if work_dir.strip_prefix(state).is_ok_and(|inner| inner.starts_with(SCRATCH))
        && !session.is_some_and(|session| session.starts_with(CANARY_SESSION))
    {
        return Some(RUN);
    }
    let session = session?;
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-';
    (session.starts_with(CANARY_SESSION)
        && session.len() <= NAME_LIMIT
        && session.bytes().all(is_plain))
    .then_some(session)
}

#[cfg(test)]
mod tests {
    use anyhook_model::{Effect, Event, ToolCall, Verdict};

    use super::*;
    use crate::now;

    fn finished(kind: EventKind, session: &str, work_dir: &Path) -> FinishedDispatch {
        let mut event = Event::new(kind, "codex", work_dir, now());
        event.session = Some(session.to_owned());
        FinishedDispatch::of(event)
    }

    fn denied(mut finished: FinishedDispatch) -> FinishedDispatch {
        finished.verdict = Verdict { effect: Some(Effect::Deny), ..Verdict::default() };
        finished
    }

    #[test]
    fn a_name_alone_makes_no_canary() {
        let state = tempfile::tempdir().unwrap();
        let state = state.path();
        let (session, announcement) = Announcement::canary(state).unwrap();
        let of = |session: &str| {
            is_one(state, &denied(finished(EventKind::BeforeAgent, session, Path::new("/p"))))
        };
        assert!(of(&session));
        for other in ["anyhook-canary-", "anyhook-canary-x", "anyhook-canary-/../run", "run", "s"] {
            assert!(!of(other), "{other}");
        }
        drop(announcement);
        assert!(!of(&session), "it is over");
    }

    #[test]
    fn a_call_that_is_not_denied_is_no_canary() {
        let state = tempfile::tempdir().unwrap();
        let (session, _announcement) = Announcement::canary(state.path()).unwrap();
        for kind in [EventKind::BeforeTool, EventKind::PermissionRequest, EventKind::AfterTool] {
            let mut call = finished(kind, &session, Path::new("/p"));
            call.event.tool = Some(ToolCall::new("Shell", serde_json::json!({"command": "ls"})));
            assert!(!is_one(state.path(), &call));
            assert!(is_one(state.path(), &denied(call)));
        }
    }

    #[test]
    fn an_agent_in_the_scratch_folder_is_one_while_it_is_announced() {
        let state = tempfile::tempdir().unwrap();
        let project = StateDir::new(state.path()).proof_scratch().join("project");
        let of = |work_dir: &Path| {
            is_one(state.path(), &finished(EventKind::SessionStart, "of the agent", work_dir))
        };
        assert!(!of(&project), "not announced");
        let announcement = Announcement::run(state.path()).unwrap();
        assert!(!of(&project), "no proof is under way: one that was killed left it");
        let lock = fs::File::create(StateDir::new(state.path()).proofs().join(PROOF_LOCK)).unwrap();
        lock.lock().unwrap();
        assert!(of(&project) && !of(state.path()) && !of(Path::new("/p")));
        drop(announcement);
        assert!(!of(&project), "it is over");
    }
}

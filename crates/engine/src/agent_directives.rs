//! Agent directives: what the daemon asks of the hook processes of an agent it started, one small
//! file per agent.
//!
//! The hook path reads the file only where it may matter, and needs no daemon for it: at a stop,
//! and where a person could be asked, for an agent that has an id.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhook_model::agent_directives::{AgentDirectives, INSTRUCTIONS_VERSION};
use anyhook_model::{Effect, Event, EventKind, StateDir, Verdict};

use crate::atomic_file::{AtomicFile, create_private_dir};
use crate::regular_file::read_own;
use crate::settings::{DecisionSettings, WaitFor};
use crate::trust::short_hash;

/// Used in place of a hook's name as the decider where a pipeline holds its agent.
pub const PIPELINE: &str = "pipeline";

/// How long to wait for a person at most, if the host does not end the wait earlier: no one is at
/// the agent's own dialog.
const LONGEST_WAIT_SECONDS: u64 = 24 * 3600;

/// A longer file is not one of ours.
const SIZE_LIMIT: u64 = 1024 * 1024;

/// Returns an agent's file. Its name is the digest of the id, because an id may contain anything.
pub fn path(state: &Path, agent: &str) -> PathBuf {
    let name = format!("{}.json", short_hash(Path::new(agent)));
    StateDir::new(state).agents().join(name)
}

/// Writes an agent's directives, readable only by us; a reader sees either the old ones or the new
/// ones.
pub fn write(state: &Path, instructions: &AgentDirectives) -> io::Result<()> {
    let path = path(state, &instructions.agent);
    let folder = path.parent().unwrap_or(state);
    let bytes = serde_json::to_vec(instructions)?;
    AtomicFile::new(&path).synced(true).replace_in(&bytes, || create_private_dir(folder))
}

/// Removes an agent's directives, if there are any.
pub fn remove(state: &Path, agent: &str) -> io::Result<()> {
    match fs::remove_file(path(state, agent)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes the directives of all agents except these.
pub fn keep_only(state: &Path, agents: &[String]) -> io::Result<()> {
    let folder = StateDir::new(state).agents();
    let kept: Vec<PathBuf> = agents.iter().map(|agent| path(state, agent)).collect();
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        if !kept.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Reads an agent's directives. Returns `None` for a file that cannot be read or that belongs to
/// another agent.
pub fn read(state: &Path, agent: &str) -> Option<AgentDirectives> {
    let bytes = read_own(&path(state, agent), SIZE_LIMIT).ok()?;
    let found: AgentDirectives = serde_json::from_slice(&bytes).ok()?;
    (found.v == INSTRUCTIONS_VERSION && found.agent == agent).then_some(found)
}

/// Returns whether directives could hold an event back: an agent's own stop, not a subagent's.
pub(crate) fn may_hold(event: &Event, verdict: &Verdict) -> bool {
    event.kind == EventKind::BeforeStop && event.agent.is_none() && !verdict.is_block()
}

/// Holds a stop, if the directives say so.
pub(crate) fn hold(instructions: AgentDirectives, event: &Event, verdict: &mut Verdict) {
    if !instructions.concern(&event.host, event.session.as_deref()) {
        return;
    }
    if let Some(message) = instructions.hold_stop {
        verdict.effect = Some(Effect::Deny);
        verdict.by = Some(PIPELINE.to_owned());
        verdict.reason = Some(message);
    }
}

/// Asks a person and waits for them, whatever the settings say, if the directives say so.
pub(crate) fn ask(instructions: &AgentDirectives, event: &Event, settings: &mut DecisionSettings) {
    if instructions.ask_permission && instructions.concern(&event.host, event.session.as_deref()) {
        settings.wait = vec![WaitFor::Permission, WaitFor::Ask];
        settings.wait_seconds = LONGEST_WAIT_SECONDS;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use proptest::prelude::*;

    use super::*;

    fn of(agent: &str) -> AgentDirectives {
        AgentDirectives {
            v: INSTRUCTIONS_VERSION,
            agent: agent.to_owned(),
            hold_stop: Some("not yet".to_owned()),
            ..AgentDirectives::default()
        }
    }

    #[test]
    fn what_is_written_is_read_by_its_agent_until_it_is_removed() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(read(state.path(), "a"), None);
        write(state.path(), &of("a")).unwrap();
        assert_eq!(read(state.path(), "a"), Some(of("a")));
        assert_eq!(read(state.path(), "b"), None);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = path(state.path(), "a");
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        write(state.path(), &AgentDirectives { hold_stop: None, ..of("a") }).unwrap();
        assert_eq!(read(state.path(), "a").unwrap().hold_stop, None);
        remove(state.path(), "a").unwrap();
        remove(state.path(), "a").unwrap();
        assert_eq!(read(state.path(), "a"), None);
    }

    #[test]
    fn what_cannot_be_read_is_none() {
        let state = tempfile::tempdir().unwrap();
        write(state.path(), &of("a")).unwrap();
        let file = path(state.path(), "a");
        let newer = AgentDirectives { v: INSTRUCTIONS_VERSION + 1, ..of("a") };
        let texts = [serde_json::to_string(&newer), serde_json::to_string(&of("b"))];
        for text in texts.map(Result::unwrap).iter().map(String::as_str).chain(["", "{", "[]"]) {
            fs::write(&file, text).unwrap();
            assert_eq!(read(state.path(), "a"), None, "{text}");
        }
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert_eq!(read(state.path(), "a"), None);
    }

    proptest! {
        /// Whatever an id contains, its file is inside the folder and differs from any other
        /// agent's.
        #[test]
        fn an_id_is_a_files_name(one in ".{0,300}|(\\.\\./){1,4}x|/etc/x", other in ".{0,20}") {
            let state = Path::new("/s");
            let file = path(state, &one);
            prop_assert_eq!(file.parent(), Some(Path::new("/s/daemon/agents")));
            prop_assert!(file.file_name().unwrap().len() < 64);
            prop_assert_eq!(one == other, file == path(state, &other));
        }
    }
}

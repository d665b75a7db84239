//! The folders of a proof: a project in which every event is denied, and a home and a project for an
//! agent that is run. They are at a fixed place in the state folder, one proof at a time, so that
//! proofs leave nothing behind that grows.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhook_engine::atomic_file::create_private_dir;
use anyhook_engine::canary::PROOF_LOCK;
use anyhook_engine::file_lock::lock_within;
use anyhook_engine::now;
use anyhook_engine::places::{HOOKS, PROJECT_LEVEL};
use anyhook_engine::trust::TrustStore;
use anyhook_model::{EventKind, StateDir};

use crate::error::SetupError;

/// How long another proof is waited for.
const PATIENCE: Duration = Duration::from_secs(300);

/// The name of the hook that denies canaries.
const HOOK: &str = "anyhook-canary";

/// The reason of its denials, by which a model's request shows that the model was told.
pub const REASON: &str = "this call is the canary of anyhook doctor --prove, and must be denied";

/// The folders of a proof, removed when dropped; the hooks in them are trusted until then.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
    store: TrustStore,
    hooks: Vec<PathBuf>,
    /// Held until the end.
    _lock: File,
}

impl Scratch {
    /// Makes the folders, and waits for another proof to end.
    pub fn make(state: &Path) -> Result<Self, SetupError> {
        let places = StateDir::new(state);
        let proofs = places.proofs();
        create_private_dir(&proofs).map_err(SetupError::unusable(&proofs))?;
        let lock = lock(&proofs.join(PROOF_LOCK))?;
        let folder = places.proof_scratch();
        let mut scratch =
            Self { folder, store: TrustStore::new(state), hooks: Vec::new(), _lock: lock };
        // Another one may have been killed.
        scratch.clear();
        let every = EventKind::all().filter(|event| *event != EventKind::Notification);
        scratch.guard(&scratch.calls(), &every.collect::<Vec<_>>())?;
        Ok(scratch)
    }

    /// Makes the project and the home of an agent, in place of those of the last one.
    pub fn for_agent(&mut self) -> Result<(), SetupError> {
        for folder in [self.project(), self.home(), self.temporary()] {
            remove(&folder);
            create_private_dir(&folder).map_err(SetupError::unusable(&folder))?;
        }
        self.guard(&self.project(), &[EventKind::BeforeTool])
    }

    /// Returns the folder of all of it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the project in which every event is denied.
    pub fn calls(&self) -> PathBuf {
        self.folder.join("calls")
    }

    /// Returns the project in which an agent works, whose tools are denied.
    pub fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    /// Returns the home of such an agent.
    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// Returns where it puts temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// Makes a folder a repository with a hook that denies these events, and trusts the hook.
    fn guard(&mut self, project: &Path, events: &[EventKind]) -> Result<(), SetupError> {
        let repository = project.join(".git");
        let hook = project.join(PROJECT_LEVEL).join(HOOKS).join(HOOK);
        for folder in [&repository.join("objects"), &repository.join("refs"), &hook] {
            fs::create_dir_all(folder).map_err(SetupError::unusable(folder))?;
        }
        write(&repository.join("HEAD"), "ref: refs/heads/main\n")?;
        let (file, text) = (hook.join("HOOK.md"), hook_file(events));
        write(&file, &text)?;
        self.hooks.push(hook.clone());
        let staged = self.store.stage(&hook)?;
        // Nothing but what was just written is trusted.
        let is_ours = fs::read(staged.folder().join("HOOK.md"))
            .is_ok_and(|read| read == text.as_bytes())
            && fs::read_dir(staged.folder()).is_ok_and(|files| files.count() == 1);
        if !is_ours {
            return Err(SetupError::unusable(&file)(io::Error::other("it was changed")));
        }
        self.store.trust(staged, now())?;
        Ok(())
    }

    fn clear(&mut self) {
        for project in [self.calls(), self.project()] {
            let hook = project.join(PROJECT_LEVEL).join(HOOKS).join(HOOK);
            // What stays is trust in a hook that denies.
            let _ = self.store.forget(&hook);
        }
        self.hooks.clear();
        remove(&self.folder);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.clear();
    }
}

fn lock(path: &Path) -> Result<File, SetupError> {
    let unusable = SetupError::unusable(path);
    let file = File::options().create(true).truncate(false).write(true).open(path);
    let file = file.map_err(&unusable)?;
    match lock_within(PATIENCE, Duration::from_millis(20), || file.try_lock()) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(unusable(io::Error::other("another proof is under way")))
        }
        Err(TryLockError::Error(error)) => Err(unusable(error)),
    }
}

fn hook_file(events: &[EventKind]) -> String {
    let triggers: Vec<String> = events.iter().map(ToString::to_string).collect();
    format!(
        "---\nname: {HOOK}\ndescription: Denies the canaries of anyhook doctor --prove\n\
         trigger: [{}]\ndecision: deny\nreason: '{REASON}'\npriority: 1000\n---\n",
        triggers.join(", ")
    )
}

fn write(path: &Path, text: &str) -> Result<(), SetupError> {
    fs::write(path, text).map_err(SetupError::unusable(path))
}

/// Removes a folder; a process of an agent that is just being killed may still write there.
fn remove(folder: &Path) {
    for _ in 0..3 {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhook_engine::{Hook, Level};

    use super::*;

    #[test]
    fn nothing_is_left_of_it() {
        let state = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::make(state.path()).unwrap();
        scratch.for_agent().unwrap();
        let hooks = scratch.hooks.clone();
        assert_eq!(hooks.len(), 2);
        let store = TrustStore::new(state.path());
        for hook in &hooks {
            let loaded = Hook::load(hook, Level::Project);
            assert_eq!(loaded.fault(), None);
            assert!(!loaded.blocks_on_failure(), "it would set the marker of guards");
            assert!(store.latest(hook).is_some());
        }
        let folder = scratch.folder().to_owned();
        drop(scratch);
        assert!(!folder.exists());
        assert!(hooks.iter().all(|hook| store.latest(hook).is_none()));
    }
}

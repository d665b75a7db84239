//! The guard marker: says that a guard is installed whose failure blocks (the folder `guarded` in
//! the state folder).
//!
//! An agent's entry checks for it when anyhook itself did not answer, with nothing but `test -e`:
//! so the folder exists exactly while such a guard is installed for this user, and does not exist
//! for people without one, whose agent must keep working.
//!
//! Inside, each owner of guards has a file: `user` for the managed and the user's level, and one
//! for each project's hooks folder, which holds the project's path. The process that clears the
//! last one removes the folder with `rmdir`, which fails while another owner is left; no lock is
//! needed.
//!
//! It is maintained by every process that reads the hooks themselves: the event that finds no
//! index, and commands that change hooks. An event that the index answers pays nothing.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhook_model::{EventKind, Mode, StateDir};

use crate::atomic_file::create_private_dir;
use crate::digest::{hex, sha256};
use crate::discover::{HookStatus, InstalledHooks, ReadDepth};
use crate::hook::{Hook, Level, Trust};
use crate::places::Places;
use crate::regular_file::read_own;
use crate::roots::nested_folders;

/// The file of the managed and the user's level.
const USER: &str = "user";
/// How often setting it is retried while others clear theirs at the same time.
const TRIES: usize = 100;
/// A longer file does not hold a path.
const PATH_LIMIT: u64 = 64 * 1024;

/// Whose guards a part of the marker represents.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The managed and the user's level.
    User,
    /// A project's folder that holds `.agents/hooks`.
    Project(PathBuf),
}

impl Owner {
    fn file_name(&self) -> String {
        match self {
            Self::User => USER.to_owned(),
            Self::Project(folder) => hex(&sha256(folder.as_os_str().as_bytes())[..8]),
        }
    }

    /// Returns what the file holds: enough to find out later whether the project still exists.
    fn content(&self) -> &[u8] {
        match self {
            Self::User => b"",
            Self::Project(folder) => folder.as_os_str().as_bytes(),
        }
    }
}

/// Returns where the marker is.
pub fn path(state: &Path) -> PathBuf {
    StateDir::new(state).guarded()
}

/// Returns whether a guard whose failure blocks a tool call is installed.
pub fn is_set(state: &Path) -> bool {
    // If it cannot be checked, it is assumed to exist.
    !matches!(fs::symlink_metadata(path(state)), Err(error) if is_absent(&error))
}

/// Sets or clears an owner's part of the marker.
pub fn update(state: &Path, owner: &Owner, guarded: bool) -> io::Result<()> {
    if guarded { set(state, owner) } else { clear(state, owner) }
}

/// Updates the marker to match the hooks that were found for work in `work_dir` of the project at
/// `root`.
///
/// Where something could not be read, an owner's part is not cleared, since it may contain a guard.
pub fn follow(
    state: &Path,
    root: Option<&Path>,
    work_dir: &Path,
    installed: &InstalledHooks,
) -> io::Result<()> {
    let mut owners = BTreeMap::from([(Owner::User, GuardStrength::Nothing)]);
    let nested = root.map(|root| nested_folders(root, work_dir)).unwrap_or_default();
    for folder in root.into_iter().chain(nested.iter().map(PathBuf::as_path)) {
        owners.insert(Owner::Project(real(folder)), GuardStrength::Nothing);
    }
    for standing in &installed.hooks {
        let Some(owner) = owner_of(&standing.hook) else { continue };
        let found = owners.entry(owner).or_insert(GuardStrength::Nothing);
        *found = (*found).max(GuardStrength::of(standing));
    }
    let mut result = Ok(());
    for (owner, found) in owners {
        let updated = match found {
            GuardStrength::Guard => set(state, &owner),
            GuardStrength::Nothing if installed.notes.is_empty() => clear(state, &owner),
            GuardStrength::Nothing | GuardStrength::Unclear => Ok(()),
        };
        result = result.and(updated);
    }
    result
}

/// Reads the hooks for work in `work_dir` of the project at `root`, and updates the marker to
/// match: for commands that change hooks.
pub fn refresh(places: &Places, root: Option<&Path>, work_dir: &Path) -> io::Result<()> {
    let Some(state) = places.state.as_deref() else { return Ok(()) };
    let installed = InstalledHooks::find(places, root, work_dir, ReadDepth::WhatMayRun);
    follow(state, root, work_dir, &installed)?;
    forget_gone(state);
    Ok(())
}

/// Forgets projects that no longer exist.
pub fn forget_gone(state: &Path) {
    for entry in fs::read_dir(path(state)).into_iter().flatten().flatten() {
        if entry.file_name() == USER {
            continue;
        }
        let Ok(content) = read_own(&entry.path(), PATH_LIMIT) else { continue };
        let project = PathBuf::from(std::ffi::OsString::from_vec(content));
        if matches!(fs::symlink_metadata(&project), Err(error) if is_absent(&error)) {
            // Another process may have been faster; then there is nothing left to do.
            let _ = clear(state, &Owner::Project(project));
        }
    }
}

/// What was found for an owner: the strongest of its hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GuardStrength {
    Nothing,
    /// A hook that cannot be read, or not completely: it may be a guard.
    Unclear,
    Guard,
}

impl GuardStrength {
    fn of(standing: &HookStatus) -> Self {
        let HookStatus { hook, out } = standing;
        // A project's hook that replaces a user's does so in that project only.
        let counts = hook.level != Level::Project || out.is_none();
        if counts && is_tool_guard(hook) {
            Self::Guard
        } else if hook.fault().is_some() {
            Self::Unclear
        } else {
            Self::Nothing
        }
    }
}

/// Returns whether a hook's failure blocks a tool call.
pub fn is_tool_guard(hook: &Hook) -> bool {
    let definition = &hook.definition;
    let is_at_tools = [EventKind::BeforeTool, EventKind::PermissionRequest]
        .iter()
        .any(|kind| definition.spelling_of(kind).is_some());
    is_at_tools && hook.blocks_on_failure() && definition.mode == Mode::Enforce
}

fn owner_of(hook: &Hook) -> Option<Owner> {
    match hook.level {
        Level::Managed | Level::User => Some(Owner::User),
        Level::Project if hook.trust == Trust::Never => None,
        // FOLDER/.agents/hooks/NAME
        Level::Project => Some(Owner::Project(real(hook.folder.ancestors().nth(3)?))),
        Level::Program => None,
    }
}

/// Returns a folder's real path, with all links resolved.
fn real(folder: &Path) -> PathBuf {
    fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

fn set(state: &Path, owner: &Owner) -> io::Result<()> {
    let marker = path(state);
    let file = marker.join(owner.file_name());
    let mut tries = 0;
    loop {
        let opened = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
        match opened {
            // Only the file's existence matters; its content is needed only to forget it.
            Ok(mut file) => return file.write_all(owner.content()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
            // The folder does not exist yet, or another process has just cleared its own part and
            // removed it.
            Err(error) if error.kind() == ErrorKind::NotFound && tries < TRIES => {
                tries += 1;
                match create_private_dir(&marker) {
                    // Removed again before it was checked.
                    Err(error)
                        if matches!(
                            error.kind(),
                            ErrorKind::AlreadyExists | ErrorKind::NotFound
                        ) => {}
                    made => made?,
                }
            }
            Err(error) => return Err(error),
        }
    }
}

fn clear(state: &Path, owner: &Owner) -> io::Result<()> {
    let marker = path(state);
    match fs::remove_file(marker.join(OsStr::new(&owner.file_name()))) {
        Err(error) if !is_absent(&error) => return Err(error),
        _ => {}
    }
    match fs::remove_dir(&marker) {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty || is_absent(&error) => Ok(()),
        result => result,
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const GUARD: &str = "trigger: before_tool\non_failure: block\n";

    struct World {
        scratch: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            Self { scratch: tempfile::tempdir().unwrap() }
        }

        fn path(&self, inner: &str) -> PathBuf {
            self.scratch.path().join(inner)
        }

        fn places(&self) -> Places {
            Places {
                managed: self.path("etc"),
                user: Some(self.path("agents")),
                state: Some(self.path("state")),
                home: None,
                binary: None,
            }
        }

        fn hook(&self, folder: &str, front_matter: &str) -> PathBuf {
            let folder = self.path(folder);
            fs::create_dir_all(folder.join("scripts")).unwrap();
            let name = folder.file_name().unwrap().to_string_lossy();
            let text = format!("---\nname: {name}\ndescription: d\n{front_matter}---\n");
            fs::write(folder.join("HOOK.md"), text).unwrap();
            fs::write(folder.join("scripts/run.sh"), "exit 0\n").unwrap();
            folder
        }

        /// Reads all hooks and returns whether the marker is set afterwards.
        fn is_set(&self) -> bool {
            refresh(&self.places(), None, self.scratch.path()).unwrap();
            let is_set = is_set(&self.path("state"));
            assert_eq!(self.path("state/guarded").exists(), is_set);
            is_set
        }
    }

    #[test]
    fn it_is_there_exactly_while_a_guard_is() {
        let world = World::new();
        assert!(!world.is_set());
        let folder = world.hook("agents/hooks/guard", GUARD);
        assert!(world.is_set());
        assert!(world.is_set(), "a second reading changes nothing");
        let mode = fs::metadata(world.path("state/guarded")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        fs::remove_dir_all(folder).unwrap();
        assert!(!world.is_set());
    }

    #[test]
    fn only_what_blocks_tool_calls_counts() {
        for (front_matter, counts) in [
            (GUARD, true),
            ("trigger: pre-tool-call\non_failure: block\n", true),
            ("trigger: permission_request\non_failure: block\n", true),
            ("trigger: before_tool\n", false),
            ("trigger: before_tool\non_failure: allow\n", false),
            ("trigger: after_tool\non_failure: block\n", false),
            ("trigger: before_stop\non_failure: block\n", false),
            ("trigger: before_tool\non_failure: block\nmode: shadow\n", false),
            ("trigger: before_tool\non_failure: block\nasync: true\n", true),
            ("trigger: after_tool\non_failure: block\nasync: true\n", false),
        ] {
            let world = World::new();
            world.hook("agents/hooks/guard", front_matter);
            assert_eq!(world.is_set(), counts, "{front_matter}");
        }
    }

    #[test]
    fn a_guard_that_cannot_be_read_any_more_does_not_clear_it() {
        let world = World::new();
        let folder = world.hook("agents/hooks/guard", GUARD);
        assert!(world.is_set());
        fs::write(folder.join("HOOK.md"), "---\nname: [\n---\n").unwrap();
        assert!(world.is_set());
        fs::remove_file(folder.join("HOOK.md")).unwrap();
        assert!(world.is_set());
        fs::remove_dir_all(folder).unwrap();
        assert!(!world.is_set());
    }

    #[test]
    fn owners_do_not_clear_each_other() {
        let world = World::new();
        let state = world.path("state");
        let (one, other) = (world.path("one"), world.path("other"));
        let owners = [Owner::User, Owner::Project(one.clone()), Owner::Project(other.clone())];
        for owner in &owners {
            update(&state, owner, true).unwrap();
        }
        for owner in &owners {
            assert!(is_set(&state));
            update(&state, owner, false).unwrap();
            update(&state, owner, false).unwrap();
        }
        assert!(!is_set(&state));
        // A project that was removed is forgotten; an existing one is not.
        fs::create_dir(&one).unwrap();
        update(&state, &Owner::Project(one.clone()), true).unwrap();
        update(&state, &Owner::Project(other), true).unwrap();
        forget_gone(&state);
        assert_eq!(fs::read_dir(path(&state)).unwrap().count(), 1);
        fs::remove_dir(one).unwrap();
        forget_gone(&state);
        assert!(!is_set(&state));
    }

    #[test]
    fn a_projects_guard_counts_once_it_is_trusted_wherever_work_is_done() {
        let world = World::new();
        let (root, sub) = (world.path("project"), world.path("project/sub"));
        let folder = world.hook("project/sub/.agents/hooks/guard", GUARD);
        let state = world.path("state");
        let look = |work_dir: &Path| refresh(&world.places(), Some(&root), work_dir).unwrap();
        look(&sub);
        assert!(!is_set(&state), "nobody has trusted it");
        let store = crate::trust::TrustStore::new(&state);
        store.trust(store.stage(&folder).unwrap(), jiff::Timestamp::UNIX_EPOCH).unwrap();
        look(&sub);
        assert!(is_set(&state));
        look(&root);
        assert!(is_set(&state), "work elsewhere in the project does not read it");
        // A trusted hook that changed fails, so it still blocks.
        fs::write(folder.join("scripts/run.sh"), "exit 1\n").unwrap();
        look(&sub);
        assert!(is_set(&state));
    }

    #[test]
    fn many_at_once_end_in_what_was_said_last() {
        let world = World::new();
        let state = world.path("state");
        std::thread::scope(|scope| {
            for number in 0..4 {
                let state = &state;
                scope.spawn(move || {
                    let owner = Owner::Project(PathBuf::from(format!("/{number}")));
                    for _ in 0..100 {
                        update(state, &owner, true).unwrap();
                        assert!(is_set(state));
                        update(state, &owner, false).unwrap();
                    }
                    update(state, &owner, number == 0).unwrap();
                });
            }
        });
        assert_eq!(fs::read_dir(path(&state)).unwrap().count(), 1);
    }
}

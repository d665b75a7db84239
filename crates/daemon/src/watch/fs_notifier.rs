//! The system's change notifications for folders, as far as available.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::position::FileId;
use super::wake_signal::WakeSignal;

/// Subscribes to changes in folders.
#[derive(Debug)]
pub(super) struct FsNotifier {
    system: RecommendedWatcher,
    folders: HashMap<PathBuf, FileId>,
    is_blind: bool,
}

impl FsNotifier {
    /// Returns `None` if the system does not support notifications, or the limit is reached.
    pub fn new(bell: Arc<WakeSignal>) -> Option<Self> {
        let hear = move |event: notify::Result<Event>| match event {
            Ok(event) if event.need_rescan() => bell.look_again(),
            // Our own reading is not a change.
            Ok(event) if is_change(event.kind) => {
                event.paths.into_iter().for_each(|path| bell.ring(path));
            }
            Ok(_) => {}
            Err(_) => bell.look_again(),
        };
        let system = notify::recommended_watcher(hear).ok()?;
        Some(Self { system, folders: HashMap::new(), is_blind: false })
    }

    /// Watches a folder, once.
    pub fn watch(&mut self, folder: &Path, id: FileId) {
        match self.folders.get(folder) {
            Some(known) if *known == id => return,
            // Another folder with the same name.
            Some(_) => drop(self.system.unwatch(folder)),
            None => {}
        }
        if self.system.watch(folder, RecursiveMode::NonRecursive).is_ok() {
            self.folders.insert(folder.to_path_buf(), id);
        } else {
            self.folders.remove(folder);
            self.is_blind |= folder.exists();
        }
    }

    /// Begins a search through all folders.
    pub fn begin_look(&mut self) {
        self.is_blind = false;
    }

    /// Ends it: folders that were not found are gone.
    pub fn end_look(&mut self, found: &HashMap<PathBuf, FileId>) {
        let gone: Vec<PathBuf> =
            self.folders.keys().filter(|folder| !found.contains_key(*folder)).cloned().collect();
        for folder in gone {
            self.folders.remove(&folder);
            drop(self.system.unwatch(&folder));
        }
    }

    /// Returns whether there are folders without notifications.
    pub fn is_blind(&self) -> bool {
        self.is_blind
    }
}

fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

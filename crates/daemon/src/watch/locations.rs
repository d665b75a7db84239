//! The locations of logs, and which paths are logs.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhook_hosts::log::{LogLocation, LogRoots, is_named};
use anyhook_hosts::{AGENTS, HostSpec};

use super::position::FileId;

/// How many names in a place are examined at most.
const MAX_NAMES: usize = 200_000;

/// The locations of all hosts' logs.
#[derive(Clone, Debug, Default)]
pub struct WatchPlaces {
    pub(super) homes: LogRoots,
    pub(super) places: Vec<WatchedFolder>,
}

impl WatchPlaces {
    /// Returns the places of every host, for a user's home and variables.
    pub fn of(homes: &LogRoots) -> Self {
        let places = AGENTS.into_iter().flat_map(|agent| WatchedFolder::of_agent(agent, homes));
        Self { homes: homes.clone(), places: places.collect() }
    }
}

/// A host.
#[derive(Clone, Copy)]
pub(super) struct WatchedHost(pub &'static HostSpec);

impl std::fmt::Debug for WatchedHost {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.0.id())
    }
}

/// The logs of one host in one place.
#[derive(Clone, Debug)]
pub(super) struct WatchedFolder {
    pub agent: WatchedHost,
    pub place: LogLocation,
    /// Whether it was not searched yet.
    pub is_new: bool,
}

/// What a path means for a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathMeaning {
    /// A log, or a file that belongs to it: the path of the log.
    Log(PathBuf),
    /// A folder that contains logs, or an ancestor of all of them.
    Folder,
    Nothing,
}

/// What was found in a place.
#[derive(Debug, Default)]
pub(super) struct FoundLogs {
    /// Folders to watch for changes.
    pub folders: Vec<(PathBuf, FileId)>,
    /// Logs.
    pub logs: Vec<(PathBuf, fs::Metadata)>,
}

impl WatchedFolder {
    /// Returns the places of an agent, for a home and variables.
    pub fn of_agent(
        agent: &'static HostSpec,
        homes: &LogRoots,
    ) -> impl Iterator<Item = Self> + use<> {
        let places = agent.log_places(homes).into_iter();
        places.map(move |place| Self { agent: WatchedHost(agent), place, is_new: true })
    }

    /// Returns what a path means here.
    pub fn meaning(&self, path: &Path) -> PathMeaning {
        let Ok(inner) = path.strip_prefix(&self.place.folder) else {
            let is_above = self.place.folder.starts_with(path);
            return if is_above { PathMeaning::Folder } else { PathMeaning::Nothing };
        };
        let names: Option<Vec<&str>> = inner
            .components()
            .map(|component| match component {
                Component::Normal(name) => name.to_str(),
                _ => None,
            })
            .collect();
        let Some(mut names) = names else { return PathMeaning::Nothing };
        let mut log = path.to_path_buf();
        if self.place.database().is_some()
            && let Some(name) = names.pop()
        {
            // New data of a database is first written to a file next to it.
            let name = name.strip_suffix("-wal").unwrap_or(name);
            log.set_file_name(name);
            names.push(name);
        }
        let known = self.place.names;
        let is_known = names.len() <= known.len()
            && names.iter().zip(known).all(|(name, pattern)| is_named(pattern, name));
        match (is_known, names.len() == known.len()) {
            (true, true) => PathMeaning::Log(log),
            (true, false) => PathMeaning::Folder,
            (false, _) => PathMeaning::Nothing,
        }
    }

    /// Searches for folders and logs; `watch` is called with a folder before it is read, so that no
    /// later change is missed.
    pub fn look(&self, watch: &mut dyn FnMut(&Path, FileId)) -> FoundLogs {
        let mut found = FoundLogs::default();
        let mut left = MAX_NAMES;
        let folder = &self.place.folder;
        let status = |path: &Path| fs::metadata(path).ok().filter(fs::Metadata::is_dir);
        // The folder may be created later, even while we search: its nearest existing ancestor
        // reports it, and what was created before that was watched is found by searching again.
        for _ in folder.ancestors() {
            if let Some(status) = status(folder) {
                self.look_into(folder, FileId::of(&status), 0, watch, &mut found, &mut left);
                break;
            }
            let mut missing = folder.as_path();
            let above = folder.ancestors().skip(1).find_map(|above| {
                let id = status(above).map(|status| FileId::of(&status));
                let Some(id) = id else {
                    missing = above;
                    return None;
                };
                Some((above, id))
            });
            let Some((above, id)) = above else { break };
            watch(above, id);
            found.folders.push((above.to_path_buf(), id));
            if status(missing).is_none() {
                break;
            }
        }
        found
    }

    fn look_into(
        &self,
        folder: &Path,
        id: FileId,
        depth: usize,
        watch: &mut dyn FnMut(&Path, FileId),
        found: &mut FoundLogs,
        left: &mut usize,
    ) {
        watch(folder, id);
        found.folders.push((folder.to_path_buf(), id));
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let Some(still) = left.checked_sub(1) else { return };
            *left = still;
            let name = entry.file_name();
            let is_meant =
                name.to_str().is_some_and(|name| is_named(self.place.names[depth], name));
            if !is_meant {
                continue;
            }
            let path = entry.path();
            let Ok(status) = fs::metadata(&path) else { continue };
            let is_last = depth + 1 == self.place.names.len();
            if is_last && status.is_file() {
                found.logs.push((path, status));
            } else if !is_last && status.is_dir() {
                self.look_into(&path, FileId::of(&status), depth + 1, watch, found, left);
            }
        }
    }
}

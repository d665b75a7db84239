//! The project roots whose hooks count for an event.
//!
//! The root of a session is pinned by its first event, so that no later event loses its hooks by
//! naming another folder. An event may still be about another project: the host names one, or the
//! work is in another repository (the session changed its folder, or its id was first seen
//! elsewhere). Then the hooks of both count, never those of one instead of the other's. The event's
//! own root only adds: none of its hooks replaces a user's hook in such a session.
//!
//! A project's hook runs in the project it belongs to. A user's or a managed hook runs in the
//! project that the host names, otherwise in the repository of the work.

use std::fs;
use std::path::{Path, PathBuf};

use crate::places::{HOOKS, PROJECT_LEVEL, find_root, folders_between, nearest_existing};
use crate::trust::TrustPlaces;

/// The roots of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    /// The root pinned for the session; without a session, the event's.
    pub pinned: Option<PathBuf>,
    /// The real path of the pinned root when it was pinned, if different.
    pub earlier: Option<PathBuf>,
    /// The project folder that the host names for this event.
    pub named: Option<PathBuf>,
}

impl Roots {
    /// Returns a single root.
    pub fn of(root: Option<&Path>) -> Self {
        let root = root.map(Path::to_owned);
        Self { pinned: root.clone(), earlier: None, named: root }
    }

    /// Returns the event's own root, if it differs from the pinned one.
    ///
    /// Work inside the pinned root has none: hooks between there and the work count anyway.
    pub(crate) fn own(&self, work_dir: &Path, home: Option<&Path>) -> Option<PathBuf> {
        let pinned = self.pinned.as_deref()?;
        let own = match self.named_apart() {
            Some(named) => named.clone(),
            None if self.is_searched(work_dir) => find_root(work_dir, home)?,
            None => return None,
        };
        (own != pinned && real(&own) != real(pinned)).then_some(own)
    }

    /// Returns where hooks that belong to no project run, if that is not the pinned root: in the
    /// event's `own` root, unless the host names the pinned one as the project.
    pub(crate) fn of_user_hooks(&self, own: Option<&Path>) -> Option<PathBuf> {
        let names_pinned = self.named.is_some() && self.named_apart().is_none();
        own.filter(|_| !names_pinned).map(Path::to_owned)
    }

    /// Returns whether the event's own root is searched for above its work: the host names no
    /// other, and the work is outside the pinned root.
    pub(crate) fn is_searched(&self, work_dir: &Path) -> bool {
        let is_outside =
            |pinned: &PathBuf| !real(&nearest_existing(work_dir)).starts_with(real(pinned));
        self.named_apart().is_none() && self.pinned.as_ref().is_some_and(is_outside)
    }

    /// Returns the folder that the host names, if it differs from the pinned one.
    fn named_apart(&self) -> Option<&PathBuf> {
        let is_pinned = |named: &PathBuf| {
            let is_it = |pinned: &PathBuf| pinned == named || real(pinned) == real(named);
            self.pinned.as_ref().is_some_and(is_it)
        };
        self.named.as_ref().filter(|named| !is_pinned(named))
    }

    /// Returns the folders that may have hooks for work in `work_dir`: each root, then those from
    /// there down to the work.
    pub(crate) fn folders(&self, work_dir: &Path, own: Option<&Path>) -> Vec<ProjectFolder> {
        let mut found: Vec<ProjectFolder> = Vec::new();
        let Some(pinned) = self.pinned.as_deref() else { return found };
        let own = own.map(|own| (own, None));
        for (root, earlier) in std::iter::once((pinned, self.earlier.as_ref())).chain(own) {
            let is_own = root != pinned;
            let folders = std::iter::once(root.to_owned()).chain(nested_folders(root, work_dir));
            for (depth, folder) in folders.enumerate() {
                if is_own && found.iter().any(|known| real(&known.folder) == real(&folder)) {
                    continue;
                }
                found.push(ProjectFolder {
                    folder,
                    root: root.to_owned(),
                    earlier: earlier.cloned(),
                    nesting: depth + usize::from(is_own),
                    is_own,
                });
            }
        }
        found
    }
}

/// Returns a folder's real path, or the folder itself if that cannot be determined.
fn real(folder: &Path) -> PathBuf {
    fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

/// Returns the folders between a root and the work in it, with links and dots resolved.
pub(crate) fn nested_folders(root: &Path, work_dir: &Path) -> Vec<PathBuf> {
    folders_between(&real(root), &real(&nearest_existing(work_dir)))
}

/// A folder of a project that may have hooks.
#[derive(Clone, Debug)]
pub(crate) struct ProjectFolder {
    /// The folder that holds `.agents`.
    pub folder: PathBuf,
    /// The project's root.
    pub root: PathBuf,
    /// The path of the root when the session began, if different.
    earlier: Option<PathBuf>,
    /// How far it is below the root; one more in the event's own root, whose hooks only add.
    pub nesting: usize,
    /// Whether it belongs to the event's own root, and not to the pinned one.
    pub is_own: bool,
}

impl ProjectFolder {
    /// Returns its hooks folder.
    pub(crate) fn hooks(&self) -> PathBuf {
        self.folder.join(PROJECT_LEVEL).join(HOOKS)
    }

    /// Returns where trust in its hooks is looked up.
    pub(crate) fn trust_places(&self) -> TrustPlaces {
        let real_root = real(&self.root);
        let inner = [&self.root, &real_root]
            .into_iter()
            .find_map(|root| self.folder.strip_prefix(root).ok())
            .unwrap_or(Path::new(""));
        let others: Vec<PathBuf> = [Some(&self.root), self.earlier.as_ref()]
            .into_iter()
            .flatten()
            .map(|root| root.join(inner))
            .collect();
        let hooks = Path::new(PROJECT_LEVEL).join(HOOKS);
        let places = TrustPlaces::new(&self.folder, &hooks, &real_root, &others);
        if self.may_have_repository() { places } else { places.without_repository() }
    }

    /// Returns the identity of its repository.
    pub(crate) fn repository(&self) -> Option<String> {
        self.trust_places().repository().map(|inside| inside.id.clone())
    }

    /// Returns whether its repository matters: a folder on the way that has no hooks costs one
    /// check at every event, not two.
    pub(crate) fn may_have_repository(&self) -> bool {
        self.folder == self.root || self.hooks().exists()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_event_outside_of_the_pinned_root_has_one_of_its_own() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        for name in ["one/.git", "one/inner/.git", "two/.git", "two/deep", "plain"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        symlink(path("one"), path("link")).unwrap();
        symlink(path("two"), path("one/out")).unwrap();
        let own = |named: Option<&str>, work_dir: &str| {
            let roots = Roots { pinned: Some(path("one")), earlier: None, named: named.map(path) };
            roots.own(&path(work_dir), Some(scratch.path()))
        };
        assert_eq!(own(None, "one"), None);
        assert_eq!(own(None, "one/inner"), None, "its hooks count as nested ones");
        assert_eq!(own(None, "link/inner"), None);
        assert_eq!(own(None, "two/deep"), Some(path("two")));
        assert_eq!(own(None, "one/out"), Some(path("one/out")), "by a link that leads out");
        assert_eq!(own(None, "plain"), None);
        assert_eq!(own(Some("one"), "two"), Some(path("two")), "the work is elsewhere");
        assert_eq!(own(Some("link"), "two"), Some(path("two")));
        assert_eq!(own(Some("link"), "one/inner"), None);
        assert_eq!(own(Some("two"), "one"), Some(path("two")));
    }
}

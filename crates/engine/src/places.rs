//! The folders the engine works with, given by the caller: the engine itself reads neither `$HOME`
//! nor the environment. [`Places::discover`] reads them for programs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The folders the engine works with.
#[derive(Clone, Debug)]
pub struct Places {
    /// The managed level, `/etc/agents`.
    pub managed: PathBuf,
    /// The user's level, such as `~/.config/agents`.
    pub user: Option<PathBuf>,
    /// Persistent state: trust, sessions, journal.
    pub state: Option<PathBuf>,
    /// The user's home: a project root is not searched for above it.
    pub home: Option<PathBuf>,
    /// The running program, for scripts (`ANYHOOK_BIN`) and for hooks that run in the background.
    pub binary: Option<PathBuf>,
}

/// Folders that a command line names: no environment variable overrides them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderOverrides {
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The user's level.
    pub config: Option<PathBuf>,
    /// The persistent state.
    pub state: Option<PathBuf>,
}

impl Places {
    /// Finds the places of this machine and this user, as `anyhook` does: `/etc/agents`, and what
    /// `HOME`, `XDG_CONFIG_HOME` and `XDG_STATE_HOME` say. The program is the `anyhook` on `PATH`,
    /// if there is one.
    pub fn discover() -> Self {
        let is_program =
            |path: &PathBuf| rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
        let path = env::var_os("PATH").unwrap_or_default();
        let mut candidates = env::split_paths(&path).map(|folder| folder.join("anyhook"));
        let binary =
            candidates.find(|path| path.is_absolute() && path.is_file() && is_program(path));
        Self { binary, ..Self::discover_with(&FolderOverrides::default()) }
    }

    /// Like [`discover`](Self::discover), but named folders take precedence over variables, and the
    /// program is not known yet.
    pub fn discover_with(named: &FolderOverrides) -> Self {
        Self::from_variables(|name| env::var_os(name), env::home_dir, named)
    }

    fn from_variables(
        variable: impl Fn(&str) -> Option<OsString>,
        home_in_database: impl Fn() -> Option<PathBuf>,
        named: &FolderOverrides,
    ) -> Self {
        let folder =
            |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        // Without the variable, the password database knows: a missing variable disables no hook.
        let told = || folder("HOME").or_else(&home_in_database).filter(|home| home.is_absolute());
        let home = named.home.clone().or_else(told);
        let under_home = |name: &str, inner: &str| {
            folder(name).or_else(|| home.as_ref().map(|home| home.join(inner)))
        };
        Self {
            // Never from a variable: a caller who sets one must not be able to disable the
            // machine's guards.
            managed: PathBuf::from("/etc/agents"),
            user: named.config.clone().or_else(|| {
                under_home("XDG_CONFIG_HOME", ".config").map(|config| config.join("agents"))
            }),
            state: named.state.clone().or_else(|| {
                under_home("XDG_STATE_HOME", ".local/state").map(|state| state.join("anyhook"))
            }),
            home,
            binary: None,
        }
    }
}

/// The part of a level's folder that holds its hooks.
pub const HOOKS: &str = "hooks";
/// A project's level, inside its root.
pub const PROJECT_LEVEL: &str = ".agents";

/// No system opens a longer path (`PATH_MAX`).
pub(crate) const PATH_LIMIT: usize = 4096;

/// Returns a path, or the longest prefix of it that could exist.
///
/// Checking every ancestor of a path takes quadratic time: that is fine for paths that can exist,
/// but not for a megabyte of slashes that an event names as its working directory.
fn within_limit(path: &Path) -> &Path {
    let bytes = path.as_os_str().as_bytes();
    let Some(beginning) = bytes.get(..PATH_LIMIT) else { return path };
    let end = beginning.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
    Path::new(OsStr::from_bytes(&beginning[..end.max(1)]))
}

/// Finds the project root above `work_dir`: the repository, otherwise the nearest `.agents` folder.
pub fn find_root(work_dir: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let mut with_agents = None;
    for folder in within_limit(work_dir).ancestors() {
        if folder.join(".git").symlink_metadata().is_ok() {
            return Some(folder.to_owned());
        }
        if with_agents.is_none() && folder.join(PROJECT_LEVEL).is_dir() {
            with_agents = Some(folder.to_owned());
        }
        if home.is_some_and(|home| is_same_folder(folder, home)) {
            break;
        }
    }
    with_agents
}

/// Returns whether two paths lead to the same folder, through any links.
fn is_same_folder(one: &Path, other: &Path) -> bool {
    let identity =
        |path: &Path| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    one == other || identity(one).is_some_and(|found| identity(other) == Some(found))
}

/// Returns the folders from `root` down to `work_dir`, without `root`.
pub fn folders_between(root: &Path, work_dir: &Path) -> Vec<PathBuf> {
    let Ok(inner) = within_limit(work_dir).strip_prefix(root) else { return Vec::new() };
    let mut folder = root.to_owned();
    inner
        .components()
        .map(|part| {
            folder.push(part);
            folder.clone()
        })
        .collect()
}

/// Returns `folder`, or its nearest ancestor that exists.
pub fn nearest_existing(folder: &Path) -> PathBuf {
    within_limit(folder)
        .ancestors()
        .find(|ancestor| fs::metadata(ancestor).is_ok_and(|metadata| metadata.is_dir()))
        .map_or_else(|| PathBuf::from("/"), Path::to_owned)
}

/// Returns the entries of a folder that were not changed for this long; none if it does not exist.
pub(crate) fn silent_for(
    folder: &Path,
    age: Duration,
    now: SystemTime,
) -> impl Iterator<Item = PathBuf> {
    let is_silent = move |entry: &fs::DirEntry| {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        modified.is_ok_and(|time| now.duration_since(time).is_ok_and(|silent| silent > age))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(is_silent).map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn discovered(variables: &[(&str, &str)], named: &FolderOverrides) -> Places {
        let variable = |name: &str| {
            variables.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into())
        };
        Places::from_variables(variable, || Some("/home/database".into()), named)
    }

    #[test]
    fn variables_say_where_the_user_keeps_things_and_named_folders_count_more() {
        let path = |text: &str| Some(PathBuf::from(text));
        let nothing = FolderOverrides::default();
        let places = discovered(&[("HOME", "/home/me")], &nothing);
        assert_eq!(places.managed, Path::new("/etc/agents"));
        assert_eq!(places.user, path("/home/me/.config/agents"));
        assert_eq!(places.state, path("/home/me/.local/state/anyhook"));
        let variables = [("HOME", "relative"), ("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "x")];
        let places = discovered(&variables, &nothing);
        assert_eq!(places.home, path("/home/database"), "a relative one does not count");
        assert_eq!(places.user, path("/c/agents"));
        assert_eq!(places.state, path("/home/database/.local/state/anyhook"));
        let named = FolderOverrides { home: path("/h"), config: path("/level"), state: None };
        let places = discovered(&variables, &named);
        assert_eq!((places.home, places.user), (path("/h"), path("/level")));
        assert_eq!(places.state, path("/h/.local/state/anyhook"));
    }

    #[test]
    fn the_repository_comes_before_a_nearer_agents_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path();
        let deep = home.join("repo/sub/deep");
        fs::create_dir_all(deep.join(".agents")).unwrap();
        assert_eq!(find_root(&deep, Some(home)), Some(deep.clone()));
        fs::create_dir_all(home.join("repo/.git")).unwrap();
        assert_eq!(find_root(&deep, Some(home)), Some(home.join("repo")));
    }

    #[test]
    fn a_path_that_is_too_long_counts_as_far_as_it_could_exist() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path();
        fs::create_dir_all(root.join("repo/.git")).unwrap();
        fs::create_dir_all(root.join("repo/sub")).unwrap();
        for part in ["a/", "/", "./", "x", "../"] {
            let ending = part.repeat(2_000_000 / part.len());
            let long = PathBuf::from(format!("{}/repo/sub/gone/{ending}", root.display()));
            assert_eq!(find_root(&long, None), Some(root.join("repo")), "{part}");
            let nearest = nearest_existing(&long);
            assert!(nearest.starts_with(root.join("repo/sub")), "{part}: {}", nearest.display());
            assert!(folders_between(root, &long).len() < PATH_LIMIT, "{part}");
        }
        let endless = PathBuf::from("x".repeat(2_000_000));
        assert_eq!((find_root(&endless, None), nearest_existing(&endless)), (None, "/".into()));
    }

    proptest! {
        #[test]
        fn what_is_left_of_a_long_path_is_its_beginning(
            part in proptest::sample::select(vec!["a/", "/", "../", "é", "ééééééééé/", "x"]),
            times in 0usize..5000,
        ) {
            let path = PathBuf::from(format!("/{}", part.repeat(times)));
            let path = path.as_path();
            let cut = within_limit(path);
            prop_assert!(cut.as_os_str().len() <= PATH_LIMIT);
            prop_assert!(path.as_os_str().as_bytes().starts_with(cut.as_os_str().as_bytes()));
            if path.as_os_str().len() < PATH_LIMIT {
                prop_assert_eq!(cut, path);
            }
        }
    }

    #[test]
    fn not_past_the_home_folder() {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path().join("home");
        fs::create_dir_all(home.join("work")).unwrap();
        fs::create_dir_all(scratch.path().join(".git")).unwrap();
        assert_eq!(find_root(&home.join("work"), Some(&home)), None);
        assert_eq!(find_root(&home.join("work"), None), Some(scratch.path().to_owned()));
    }

    #[test]
    fn between_root_and_work_dir() {
        assert_eq!(
            folders_between(Path::new("/a"), Path::new("/a/b/c")),
            [PathBuf::from("/a/b"), PathBuf::from("/a/b/c")]
        );
        assert_eq!(folders_between(Path::new("/a"), Path::new("/x")), [] as [PathBuf; 0]);
    }
}

//! The environment a hook's process inherits.
//!
//! Variables of the agent's process must not decide what a guard does. So no hook gets those that
//! replace its code before its first line runs, and a guard (a hook with `on_failure: block`)
//! starts in a clean environment: with a `PATH` that `anyhook install` has recorded, the few
//! variables that say who and where the user is, our own, and those its HOOK.md names. Other hooks
//! keep the rest of the agent's environment: a quality gate needs the project's tools.
//!
//! This is the only place in the engine that reads the environment of its own process, because it
//! has to pass it on.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhook_model::StateDir;
use anyhook_model::hook::{EnvAccess, replaces_code};
use rustix::fs::Access;
use serde::{Deserialize, Serialize};

use super::descendants::MARK;
use crate::atomic_file::{AtomicFile, create_private_dir};
use crate::hook::{Hook, read_regular};
use crate::places::Places;

/// The default `PATH`, if `install` has recorded nothing: where systems keep their programs, and no
/// one else may write.
pub const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin:/run/current-system/sw/bin";

/// What a guard gets of its caller's environment without naming it, in addition to our own
/// variables.
const HARMLESS: [&str; 8] =
    ["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"];

/// The prefix of our own variables.
const OURS: &[u8] = b"ANYHOOK_";

/// What a process gets of our environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inherits {
    /// All of it: for programs that are not hooks.
    #[default]
    All,
    /// All except what replaces a program's code.
    AllButCode,
    /// What a guard gets, plus these.
    Clean(Vec<String>),
}

impl Inherits {
    /// Returns what a hook gets.
    pub fn of(hook: &Hook) -> Self {
        match &hook.definition.env {
            EnvAccess::Named(names) if hook.blocks_on_failure() => Self::Clean(names.clone()),
            EnvAccess::Named(_) | EnvAccess::Inherit => Self::AllButCode,
        }
    }

    /// Returns the variables that a process inherits from ours.
    pub(super) fn variables(&self) -> Vec<(OsString, OsString)> {
        env::vars_os().filter(|(name, _)| self.has(name)).collect()
    }

    /// Returns whether our environment has this variable, and a process inherits it.
    pub fn passes_on(&self, name: &str) -> bool {
        self.has(OsStr::new(name)) && env::var_os(name).is_some_and(|value| !value.is_empty())
    }

    /// Returns whether a process inherits this variable.
    pub fn has(&self, name: &OsStr) -> bool {
        let bytes = name.as_bytes();
        // A hook inside a hook must not take the outer one's tool for its own.
        let is_of_outer_hook = bytes == b"ANYHOOK_TOOL" || bytes == MARK.as_bytes();
        match self {
            Self::All => !is_of_outer_hook,
            Self::AllButCode => !is_of_outer_hook && !replaces_code(bytes),
            Self::Clean(named) => {
                let is = |known: &&str| known.as_bytes() == bytes;
                !is_of_outer_hook
                    && !replaces_code(bytes)
                    && (bytes.starts_with(OURS)
                        || HARMLESS.iter().any(is)
                        || named.iter().map(String::as_str).any(|name| is(&name)))
            }
        }
    }
}

/// Returns the variables of a guard that do not come from its caller: where programs and the user's
/// folders are, as recorded by `install`.
pub fn of_guard(places: &Places, named: &[String]) -> Vec<(OsString, OsString)> {
    let recorded = places.state.as_deref().and_then(recorded_path);
    let path = recorded.unwrap_or_else(|| SYSTEM_PATH.into());
    let mut variables = vec![(OsString::from("PATH"), path)];
    variables.extend(of_places(places));
    // What its author has named comes from the caller.
    variables.retain(|(name, _)| !named.iter().any(|named| name == named.as_str()));
    variables
}

/// Returns the variables by which an `anyhook` that is started finds the same folders as this one.
pub fn of_places(places: &Places) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = Vec::with_capacity(3);
    let home = places.home.as_deref();
    variables.extend(home.map(|home| ("HOME".into(), home.into())));
    for (name, folder, inner, usual) in [
        ("XDG_CONFIG_HOME", &places.user, "agents", ".config"),
        ("XDG_STATE_HOME", &places.state, "anyhook", ".local/state"),
    ] {
        let Some(folder) = folder.as_deref().filter(|folder| folder.ends_with(inner)) else {
            continue;
        };
        if let Some(above) = folder.parent()
            && home.is_none_or(|home| above != home.join(usual))
        {
            variables.push((name.into(), above.into()));
        }
    }
    variables
}

/// Finds a program in the folders of a `PATH`; relative ones are ignored.
pub(super) fn find_program(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|program| program.is_file() && rustix::fs::access(program, Access::EXEC_OK).is_ok())
}

/// Returns where the `PATH` of guards is recorded.
pub fn path_file(state: &Path) -> PathBuf {
    StateDir::new(state).guard_path()
}

/// Records the `PATH` for guards: its absolute folders, each once.
pub fn record_path(state: &Path, path: &OsStr) -> io::Result<()> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in env::split_paths(path).filter(|folder| folder.is_absolute()) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    if folders.is_empty() {
        // A path without a folder finds nothing: the default is better.
        return match fs::remove_file(path_file(state)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    let mut text = env::join_paths(folders).map_err(io::Error::other)?;
    text.push("\n");
    let file = path_file(state);
    let make_folder = || file.parent().map_or(Ok(()), create_private_dir);
    AtomicFile::new(&file).replace_in(text.as_bytes(), make_folder)
}

/// Returns the `PATH` that was recorded for guards, if there is one.
pub fn recorded_path(state: &Path) -> Option<OsString> {
    let mut bytes = read_regular(&path_file(state)).ok()?;
    while bytes.last().is_some_and(u8::is_ascii_whitespace) {
        bytes.pop();
    }
    (!bytes.is_empty() && !bytes.contains(&0)).then(|| OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hook_gets_what_replaces_its_code() {
        let named = ["LD_PRELOAD", "PYTHONPATH"].map(str::to_owned).to_vec();
        for inherits in [Inherits::AllButCode, Inherits::Clean(named)] {
            for name in [
                "LD_PRELOAD",
                "LD_LIBRARY_PATH",
                "DYLD_INSERT_LIBRARIES",
                "BASH_ENV",
                "ENV",
                "BASH_FUNC_grep%%",
                "ANYHOOK_TOOL",
                "ANYHOOK_RUN",
            ] {
                assert!(!inherits.has(OsStr::new(name)), "{inherits:?} {name}");
            }
            for name in ["HOME", "LANG", "ANYHOOK_AGENT_ID", "PYTHONPATH"] {
                assert!(inherits.has(OsStr::new(name)), "{inherits:?} {name}");
            }
        }
        for name in ["PATH", "PYTHONPATH", "XDG_CONFIG_HOME", "NODE_OPTIONS", "VIRTUAL_ENV"] {
            assert!(Inherits::AllButCode.has(OsStr::new(name)), "{name}");
            assert!(!Inherits::Clean(Vec::new()).has(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_path_is_recorded_without_folders_that_depend_on_where_one_is() {
        let scratch = tempfile::tempdir().unwrap();
        let state = scratch.path().join("state");
        assert_eq!(recorded_path(&state), None);
        record_path(&state, OsStr::new("/opt/bin::.:bin:/usr/bin:/opt/bin")).unwrap();
        assert_eq!(recorded_path(&state), Some("/opt/bin:/usr/bin".into()));
        record_path(&state, OsStr::new("bin:.")).unwrap();
        assert_eq!(recorded_path(&state), None);
        record_path(&state, OsStr::new("")).unwrap();
    }

    #[test]
    fn a_guard_finds_what_installing_found() {
        let scratch = tempfile::tempdir().unwrap();
        let home = scratch.path().join("home");
        let mut places = Places {
            managed: "/nowhere".into(),
            user: Some(home.join(".config/agents")),
            state: Some(home.join(".local/state/anyhook")),
            home: Some(home.clone()),
            binary: None,
        };
        let pair = |name: &str, value: &Path| (OsString::from(name), OsString::from(value));
        let usual = [pair("PATH", Path::new(SYSTEM_PATH)), pair("HOME", &home)];
        assert_eq!(of_guard(&places, &[]), usual);
        record_path(places.state.as_deref().unwrap(), OsStr::new("/opt/bin")).unwrap();
        places.user = Some("/elsewhere/agents".into());
        let expected = [
            pair("PATH", Path::new("/opt/bin")),
            pair("HOME", &home),
            pair("XDG_CONFIG_HOME", Path::new("/elsewhere")),
        ];
        assert_eq!(of_guard(&places, &[]), expected);
        assert_eq!(of_guard(&places, &["PATH".to_owned()]), expected[1..]);
    }

    #[test]
    fn programs_are_found_where_the_path_says() {
        let found = |path: &str| find_program(OsStr::new("sh"), OsStr::new(path));
        assert_eq!(found("/nowhere:/bin:/usr/bin"), Some("/bin/sh".into()));
        assert_eq!(found("bin:.:/nowhere"), None);
        assert_eq!(find_program(OsStr::new("no-such-program"), OsStr::new(SYSTEM_PATH)), None);
    }
}

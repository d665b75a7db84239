//! How the daemon is started, by whoever needs it first.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhook_engine::regular_file::open_own;
use anyhook_model::daemon::StartedBy;
use anyhook_socket::Folder;
use rustix::fs::OFlags;

/// The argument that makes the program start the daemon and end when it listens.
pub const STARTER: &str = "__start-daemon";

/// What the daemon gets of its starter's environment, with the variables that say where agents have
/// their files: where things are and how to reach the person, and nothing that only concerns an
/// agent or a terminal.
const KEPT_VARIABLES: [&str; 16] = [
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "LANG",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "ANYHOOK_FAULT",
    "ANYHOOK_TOP_PROCESS",
    "RUST_BACKTRACE",
];

/// A log that is longer is put aside when the daemon starts.
const LOG_LIMIT: u64 = 4 * 1024 * 1024;

/// Starts the daemon by a process between. Does not wait for it: the process between ends well when
/// the daemon listens, and badly if it ended before.
///
/// An agent that no longer needs a hook ends it with all that comes from it. The daemon may have been
/// started by one, and must not come from it.
pub fn start(anyhook: Option<&Path>, folder: &Folder) -> io::Result<Child> {
    start_with(anyhook, folder, Vec::new(), StartedBy::Command)
}

/// As [`start`], with variables that count more than our own: by them the daemon finds its folders.
pub fn start_with(
    anyhook: Option<&Path>,
    folder: &Folder,
    variables: Vec<(OsString, OsString)>,
    by: StartedBy,
) -> io::Result<Child> {
    command(anyhook, folder, variables, by)?.stdin(Stdio::null()).spawn()
}

/// Returns the process between, to be started. It has none of our streams but standard input, which
/// the caller sets.
pub(crate) fn command(
    anyhook: Option<&Path>,
    folder: &Folder,
    variables: Vec<(OsString, OsString)>,
    by: StartedBy,
) -> io::Result<Command> {
    let log = open_log(folder)?;
    let anyhook = anyhook.ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(anyhook);
    command
        .args([STARTER, by.name()])
        .env_clear()
        .envs(kept_variables())
        .envs(variables)
        .current_dir("/")
        // A signal to the group of whoever starts it is not meant for it.
        .process_group(0)
        .stdout(log.try_clone()?)
        .stderr(log);
    Ok(command)
}

/// Returns what the daemon gets of our environment.
pub fn kept_variables() -> impl Iterator<Item = (&'static str, OsString)> {
    let names = KEPT_VARIABLES.into_iter().chain(anyhook_hosts::folder_variables());
    names.filter_map(|name| Some((name, env::var_os(name)?)))
}

/// Tells whether the daemon gets a variable of its starter's environment.
pub(crate) fn is_kept(name: &str) -> bool {
    KEPT_VARIABLES.contains(&name) || anyhook_hosts::folder_variables().any(|kept| kept == name)
}

/// Opens the file that the daemon writes its own log to.
pub fn open_log(folder: &Folder) -> io::Result<File> {
    let path = folder.log();
    if path.metadata().is_ok_and(|metadata| metadata.len() > LOG_LIMIT) {
        std::fs::rename(&path, path.with_extension("log.1"))?;
    }
    open_own(&path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_agents_have_their_files_is_kept_and_their_keys_are_not() {
        for name in ["HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME"]
        {
            assert!(is_kept(name), "{name}");
        }
        for name in ["GEMINI_API_KEY", "CLAUDECODE", "TERM", ""] {
            assert!(!is_kept(name), "{name}");
        }
    }
}

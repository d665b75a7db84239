//! Starts the daemon in the background. Everything that does so goes through here.
//!
//! ```text
//!  client: a hook process, a command, a supervisor    start_in_background, restart_in_background
//!    └──▶ starter: anyhook __start-daemon BY          run_starter; exits when the daemon listens
//!           └──▶ daemon: anyhook __daemon BY          Daemon::run in crates/daemon/src/daemon.rs
//! ```
//!
//! - The **client** may be a hook process, for which an agent waits: it must not block, and the
//!   daemon must not be its descendant. An agent that no longer needs a hook kills it with
//!   everything that it has started.
//! - The **starter** makes the daemon an orphan, which is then adopted by init: this is the usual
//!   double fork, as two programs, because forking a program with threads is unsafe code. It lives
//!   until the daemon listens, for two reasons. Its exit code tells a client that waits whether the
//!   daemon is running. And it holds the lock on the turn to start one for a client that does not
//!   wait, so that no second daemon is started. It has its own process group: a signal to the
//!   client's group is not meant for it.
//! - The **daemon** begins its own session, detached from the terminal that it may have been
//!   started from. A service manager starts it directly (`anyhook daemon start --foreground`).

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhook_engine::Places;
use anyhook_engine::regular_file::open_own;
use anyhook_engine::run::environment::of_places;
use anyhook_model::daemon::StartedBy;
use anyhook_socket::{DaemonFolder, peer};
use rustix::fs::OFlags;

/// The argument that makes the program the starter, followed by who starts the daemon.
pub const STARTER_ARGUMENT: &str = "__start-daemon";

/// The argument that makes the program the daemon, followed by who started it.
pub const DAEMON_ARGUMENT: &str = "__daemon";

/// How often the starter checks whether the daemon listens.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Not passed to a daemon that replaces one that was killed: an injected fault is meant for one
/// daemon.
const FAULT: &str = "ANYHOOK_FAULT";

/// The variables that the daemon inherits from its starter, in addition to those that say where
/// agents have their files: where things are and how to reach the person, and nothing that only
/// concerns an agent or a terminal.
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

/// A longer log is renamed when the daemon starts.
const LOG_LIMIT: u64 = 4 * 1024 * 1024;

/// Starts the daemon for a command, without waiting for it: the starter exits with success when the
/// daemon listens, and with failure if it exited before.
pub fn start_in_background(anyhook: Option<&Path>, folder: &DaemonFolder) -> io::Result<Child> {
    start_in_background_with(anyhook, folder, Vec::new(), StartedBy::Command)
}

/// Like [`start_in_background`], with variables that override our own: the daemon finds its folders
/// by them.
pub fn start_in_background_with(
    anyhook: Option<&Path>,
    folder: &DaemonFolder,
    variables: Vec<(OsString, OsString)>,
    by: StartedBy,
) -> io::Result<Child> {
    starter(anyhook, folder, variables, by)?.stdin(Stdio::null()).spawn()
}

/// Starts a daemon that replaces one that was killed, without waiting for it. The starter has
/// `turn` as its standard input, and thereby the lock until the daemon listens.
pub(crate) fn restart_in_background(
    anyhook: Option<&Path>,
    folder: &DaemonFolder,
    places: &Places,
    by: StartedBy,
    turn: File,
) -> io::Result<Child> {
    // The variables that the previous daemon was started with, not those in an agent's environment.
    let known = folder.read_under_way().unwrap_or_default().variables;
    let mut variables: Vec<(OsString, OsString)> = known
        .into_iter()
        .filter(|(name, _)| is_kept(name))
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    variables.extend(of_places(places));
    starter(anyhook, folder, variables, by)?.env_remove(FAULT).stdin(turn).spawn()
}

/// Returns the command of the starter. It inherits none of our streams but standard input, which
/// the caller sets.
fn starter(
    anyhook: Option<&Path>,
    folder: &DaemonFolder,
    variables: Vec<(OsString, OsString)>,
    by: StartedBy,
) -> io::Result<Command> {
    let log = open_log(folder)?;
    let anyhook = anyhook.ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(anyhook);
    command
        .args([STARTER_ARGUMENT, by.name()])
        .env_clear()
        .envs(kept_variables())
        .envs(variables)
        .current_dir("/")
        .process_group(0)
        .stdout(log.try_clone()?)
        .stderr(log);
    Ok(command)
}

/// Runs as the starter: starts the daemon, and returns whether it listens.
pub fn run_starter(anyhook: &Path, folder: &DaemonFolder, by: StartedBy) -> io::Result<bool> {
    // Our own standard input may be the lock on the turn to start it, which is released when we
    // exit.
    let mut daemon =
        Command::new(anyhook).args([DAEMON_ARGUMENT, by.name()]).stdin(Stdio::null()).spawn()?;
    loop {
        if let Ok(stream) = UnixStream::connect(folder.socket()) {
            if peer::process(&stream).is_some_and(|process| process != daemon.id()) {
                // Another process was faster. Ours must not wait for that one to exit and then
                // replace it.
                let _ = daemon.kill();
                let _ = daemon.wait();
            }
            return Ok(true);
        }
        if daemon.try_wait()?.is_some() {
            return Ok(false);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Returns the variables of our environment that the daemon inherits.
pub fn kept_variables() -> impl Iterator<Item = (&'static str, OsString)> {
    let names = KEPT_VARIABLES.into_iter().chain(anyhook_hosts::folder_variables());
    names.filter_map(|name| Some((name, env::var_os(name)?)))
}

/// Returns whether the daemon inherits a variable of its starter's environment.
fn is_kept(name: &str) -> bool {
    KEPT_VARIABLES.contains(&name) || anyhook_hosts::folder_variables().any(|kept| kept == name)
}

/// Opens the file that the daemon writes its own log to.
pub fn open_log(folder: &DaemonFolder) -> io::Result<File> {
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

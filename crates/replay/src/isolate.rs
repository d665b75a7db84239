//! Isolates a replay from everything real: the command is run again in a sandbox.
//!
//! On Linux `unshare` (of util-linux) creates new namespaces, for a user other than root together
//! with a user namespace. There every file system is read-only except for a scratch folder in
//! memory, `/run` with its sockets is empty, and the only network device is a loopback that is
//! down. Only the variables that a program needs are kept: no tokens, no agents, no desktop.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhook_model::exit_code;

use crate::ReplayError;

/// What the hooks may still access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsolationOptions {
    /// The network.
    pub network: bool,
    /// Everything.
    pub all: bool,
}

/// Variables that are passed on.
const VARIABLES: [&str; 16] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TERM",
    "COLUMNS",
    "NO_COLOR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "RUST_BACKTRACE",
];

/// Sets up the sandbox and starts the program in it. `$1` is the scratch folder, the rest the
/// program.
const WORLD: &str = r#"
scratch=$1
shift
mount -t tmpfs -o mode=0700 tmpfs "$scratch" || exit 97
while read -r _ _ _ _ point options _; do
    case $point in
        /proc | /proc/* | /sys | /sys/* | /dev | /dev/* | "$scratch") continue ;;
    esac
    # Every option as it is: what was locked may not be loosened.
    mount -o "remount,bind,ro,${options#rw,}" "$(printf '%b' "$point")" 2>/dev/null || true
done < /proc/self/mountinfo
mount -t tmpfs tmpfs /run 2>/dev/null || true
exec "$@"
"#;

/// Runs the command again with these arguments, isolated from everything real. Returns its exit
/// code.
pub fn run_again(arguments: &[OsString], leave: IsolationOptions) -> Result<u8, ReplayError> {
    let program = std::env::current_exe()?;
    let scratch = tempfile::Builder::new().prefix("anyhook-replay-").tempdir()?;
    let mut command = if leave.all {
        Command::new(&program)
    } else {
        let mut command = Command::new("unshare");
        command.args(way(leave)?).args(["--", "sh", "-c", WORLD, "sh"]);
        command.arg(scratch.path()).arg(&program);
        command
    };
    command.args(arguments).env_clear().env("TMPDIR", scratch.path());
    for name in VARIABLES {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let status = command.status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    match code {
        Some(97) => Err(cannot("cannot mount a file system")),
        code => Ok(code.unwrap_or(exit_code::FAULT)),
    }
}

/// Returns the arguments with which `unshare` works here.
fn way(leave: IsolationOptions) -> Result<Vec<&'static str>, ReplayError> {
    let mut namespaces = vec!["--mount"];
    if !leave.network {
        namespaces.push("--net");
    }
    let as_user = [&["--user", "--map-root-user"], &namespaces[..]].concat();
    let mut why = "`unshare` is not installed".to_owned();
    for way in [namespaces, as_user] {
        match Command::new("unshare").args(&way).arg("true").stdin(Stdio::null()).output() {
            Ok(output) if output.status.success() => return Ok(way),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().clone_into(&mut why),
            Err(_) => break,
        }
    }
    Err(cannot(&why))
}

/// Verifies, from inside the sandbox, that nothing in a folder can be changed.
pub fn check(folder: &Path) -> Result<(), ReplayError> {
    match tempfile::NamedTempFile::new_in(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Ok(()),
        _ => Err(cannot(&format!("`{}` is still writable", folder.display()))),
    }
}

fn cannot(why: &str) -> ReplayError {
    ReplayError::NotProtected(why.to_owned())
}

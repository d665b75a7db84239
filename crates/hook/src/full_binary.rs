//! Locates and runs the full `anyhook` next to the small program: it does everything that is not on
//! the hook path.
//!
//! It looks after hooks that run in the background, seals the journal, is the daemon, and is what a
//! script calls (`ANYHOOK_BIN`).

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhook_hosts::wiring::{HOOK_BINARY, PROGRAM};
use anyhook_model::exit_code;

/// Returns the `anyhook` in the folder of the running program, if it exists.
pub fn locate() -> Option<PathBuf> {
    sibling(&env::current_exe().ok()?, PROGRAM)
}

/// Returns the program with a name next to another one, if it exists.
pub fn sibling(beside: &Path, name: &str) -> Option<PathBuf> {
    Some(beside.with_file_name(name)).filter(|path| path.is_file())
}

/// Replaces this process with `anyhook` and these arguments; returns only if that fails.
pub fn exec(arguments: &[OsString]) -> u8 {
    let why = match locate() {
        Some(whole) => {
            let error = Command::new(&whole).args(arguments).exec();
            format!("`{}` cannot be started: {error}", whole.display())
        }
        None => format!("there is no `{PROGRAM}` next to it"),
    };
    // If not even this can be written, the exit code says it all.
    let _ = writeln!(
        io::stderr(),
        "error: {HOOK_BINARY} only answers agents (`hook HOST`) and delegates everything else, but {why}\n\
         hint: reinstall anyhook: both programs must be in the same folder"
    );
    exit_code::USAGE
}

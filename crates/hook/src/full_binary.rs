//! `anyhook` beside the small program: whatever is not the hook path is its business.
//!
//! It looks after hooks that run aside, seals the journal, is the daemon, and is what a script calls
//! (`ANYHOOK_BIN`).

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhook_hosts::wiring::{HOOK_BINARY, PROGRAM};
use anyhook_model::exit_code;

/// Returns the `anyhook` in the folder of the running program, if it is there.
pub fn locate() -> Option<PathBuf> {
    sibling(&env::current_exe().ok()?, PROGRAM)
}

/// Returns the program of a name beside another one, if it is there.
pub fn sibling(beside: &Path, name: &str) -> Option<PathBuf> {
    Some(beside.with_file_name(name)).filter(|path| path.is_file())
}

/// Has `anyhook` do what the arguments say, in our place; returns only where it cannot.
pub fn exec(arguments: &[OsString]) -> u8 {
    let why = match locate() {
        Some(whole) => {
            let error = Command::new(&whole).args(arguments).exec();
            format!("`{}` cannot be started: {error}", whole.display())
        }
        None => format!("there is no `{PROGRAM}` next to it"),
    };
    // If not even that can be written, the exit code says it all.
    let _ = writeln!(
        io::stderr(),
        "error: {HOOK_BINARY} only answers agents (`hook HOST`) and delegates everything else, but {why}\n\
         hint: reinstall anyhook: both programs must be in the same folder"
    );
    exit_code::USAGE
}

//! `anyhook __manual FOLDER`: writes the manual pages, one per command, for packages to include.
//!
//! Not a command for people: `--help` gives them the same text.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;

use super::Cli;
use crate::error::CommandError;

/// The argument on the command line.
pub const ARGUMENT: &str = "__manual";

/// Writes the pages into the given folder.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let [folder] = arguments else {
        return CommandError::usage("the manual needs a folder, and nothing else")
            .hint(format!("anyhook {ARGUMENT} FOLDER"))
            .tell();
    };
    let folder = Path::new(folder);
    match clap_mangen::generate_to(Cli::command(), folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => CommandError::at(folder, error).hint("the folder must already exist").tell(),
    }
}

//! Writes the packages for agents' plugin mechanisms into a folder (`cargo xtask generate`).

use std::path::PathBuf;
use std::{env, fs, io};

use anyhook_hosts::agent_package;

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or(io::ErrorKind::InvalidInput)?);
    for (path, text) in agent_package::files().map_err(io::Error::other)? {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

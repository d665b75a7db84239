//! The limit: a static process that does nothing at all.
//!
//! Its time is that of starting, waiting and the kernel. No program can be quicker, so it also
//! shows how much of every other row is not that row's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::process;

const SOURCE: &str = include_str!("limit/no_op.rs");

/// Nothing but the code: no libc, no start files, no relocation, no build id.
const FLAGS: [&str; 9] = [
    "-Cpanic=abort",
    "-Copt-level=s",
    "-Crelocation-model=static",
    "-Cstrip=symbols",
    "-Clink-arg=-nostdlib",
    "-Clink-arg=-nostartfiles",
    "-Clink-arg=-static",
    "-Clink-arg=-no-pie",
    "-Clink-arg=-Wl,--build-id=none",
];

/// Compiles it into a folder and returns its path.
pub fn build(folder: &Path) -> Result<PathBuf> {
    let (source, program) = (folder.join("no_op.rs"), folder.join("no-op"));
    std::fs::write(&source, SOURCE)?;
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.args(["--edition", "2024"]).args(FLAGS).arg("-o").arg(&program).arg(&source);
    process::output(&mut command).context("the static no-op cannot be built")?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_tiny_and_ends_well() {
        let folder = tempfile::tempdir().unwrap();
        let program = build(folder.path()).unwrap();
        assert!(program.metadata().unwrap().len() < 8192);
        assert!(Command::new(&program).status().unwrap().success());
    }
}

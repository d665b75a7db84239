//! Black-box tests of `anyhook-hook`, alone and beside `anyhook`, as packages put them.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

mod alone;
mod deadline;
mod equal;
mod fast_and_plain;
mod install;
mod signals;
mod state_folder;
mod streams;

use std::path::{Path, PathBuf};

use anyhook_testkit::{TestEnv, needs, programs};

/// The small program.
const SMALL: &str = env!("CARGO_BIN_EXE_anyhook-hook");

/// Returns the folder that holds both programs; none says that the test is skipped, because only
/// this package was built.
fn both() -> Option<PathBuf> {
    let Some(whole) = programs::built_beside(SMALL, "anyhook") else {
        needs::skip("anyhook-hook beside anyhook", "anyhook: cargo build -p anyhook");
        return None;
    };
    Some(programs::together(&[&whole, Path::new(SMALL)]))
}

/// Makes an environment for a program.
fn environment(program: &Path) -> TestEnv {
    TestEnv::new(program.to_str().unwrap())
}

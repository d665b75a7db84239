//! Black-box tests of the `anyhook` program, written from its documents.

use anyhook_testkit::TestEnv;

/// Makes a fresh environment for the program under test.
fn environment() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_anyhook"))
}

mod docs;
mod reference;
mod smoke;

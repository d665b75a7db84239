//! The page in a real browser: what it shows, what a click does, and what hostile pages cannot do.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot set up its world has failed, and one that is left out says so"
)]

mod answers;
mod api;
mod hostile;
#[path = "../agents/interactive_claude.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod interactive_claude;
mod opened;
mod phone;
#[path = "../it/phone/client.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod phone_client;
mod views;

use anyhook_testkit::{TestEnv, programs};

/// Makes a fresh environment for the program under test.
fn environment() -> TestEnv {
    let program = programs::alone(env!("CARGO_BIN_EXE_anyhook"));
    TestEnv::new(program.to_str().unwrap())
}

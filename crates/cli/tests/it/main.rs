//! Black-box tests of the `anyhook` program, written from its documents.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::format_collect,
    clippy::format_push_string,
    reason = "a test that cannot set up its world has failed, one that is left out says so, and speed is no matter"
)]

use anyhook_testkit::{TestEnv, programs};

/// Returns the program under test, without the small one beside it.
fn program() -> String {
    programs::alone(env!("CARGO_BIN_EXE_anyhook")).to_str().unwrap().to_owned()
}

/// Makes a fresh environment for the program under test.
fn environment() -> TestEnv {
    TestEnv::new(&program())
}

/// An environment with one honest guard against `mkfs`.
fn guarded() -> TestEnv {
    let environment = environment();
    environment.user_hook(
        "guard",
        "trigger: before_tool\nmatcher:\n  pattern: mkfs",
        "echo 'not here' >&2; exit 2",
    );
    environment
}

mod attacks;
mod bad_input;
mod clients;
#[macro_use]
mod commands;
mod action;
mod agent_directives;
mod approvals;
mod daemon;
mod docs;
mod example_agent;
mod hosts;
mod import;
mod in_process;
mod mcp;
mod namespace;
mod notice;
mod packs;
mod phone;
mod pipelines;
mod reference;
mod session;
mod session_guards;
mod smoke;
mod system_calls;
mod task;
mod torture;
mod workflow;

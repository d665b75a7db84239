//! `anyhook-hook`: `anyhook hook HOST` as a small program, quick to start.
//!
//! Anything else it is called with is handed over to the `anyhook` beside it.

#![no_main]

#[cfg(target_env = "musl")]
mod allocator;
mod start;

use std::ffi::OsString;

use anyhook_hook::{Request, answer, beside, fault};

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator::new();

/// Does what the arguments say and returns the exit code.
fn run(arguments: &[OsString]) -> u8 {
    fault::exit_on_panic();
    if let Some((first, rest)) = arguments.split_first()
        && first == "hook"
        && let Some(request) = Request::parse(rest)
    {
        return answer(&request, beside::whole);
    }
    beside::hand_over(arguments)
}

//! `anyhook-hook`: `anyhook hook HOST` as a small program that starts quickly.
//!
//! Any other arguments are passed to the `anyhook` next to it.

#![no_main]

#[cfg(target_env = "musl")]
mod allocator;
mod start;

use std::ffi::OsString;

use anyhook_hook::{HookCall, answer, full_binary, panic_hook};

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator::new();

/// Does what the arguments say and returns the exit code.
fn run(arguments: &[OsString]) -> u8 {
    panic_hook::exit_on_panic();
    if let Some((first, rest)) = arguments.split_first()
        && first == "hook"
        && let Some(request) = HookCall::parse(rest)
    {
        return answer(&request, full_binary::locate);
    }
    full_binary::exec(arguments)
}

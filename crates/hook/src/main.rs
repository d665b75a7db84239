//! `anyhook-hook`: `anyhook hook HOST` as a small program, quick to start.
//!
//! Anything else it is called with is handed over to the `anyhook` beside it.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use anyhook_hook::{Environment, Request, answer, beside, fault};

/// Gets memory from the system once, where musl's own would ask a dozen times.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    fault::exit_on_panic();
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if let Some((first, rest)) = arguments.split_first()
        && first == "hook"
        && let Some(request) = Request::parse(rest)
    {
        return answer(&request, Environment::of(beside::whole()));
    }
    beside::hand_over(&arguments)
}

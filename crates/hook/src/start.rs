//! How the small program begins: by C's `main`.
//!
//! The standard library's own beginning makes ready for what a hook process never does (a message on
//! an overflow of the stack: a dozen calls to the system, and memory of its own). What it does that
//! counts is done here: no other file gets the number of a standard stream, and a reader that has
//! gone is an error, not an end by a signal.

#![expect(unsafe_code, reason = "C's `main` gets its arguments by a pointer, and SIGPIPE is C's")]

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStrExt;

use anyhook_model::exit_code;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, fcntl_getfd};
use rustix::stdio::{stderr, stdin, stdout};

#[unsafe(no_mangle)]
extern "C" fn main(
    count: c_int,
    words: *const *const c_char,
    variables: *const *const c_char,
) -> c_int {
    // SAFETY: this is what C's `main` was given.
    unsafe { ask_for_the_time_directly(variables) };
    if open_standard_streams().is_err() {
        // There is nobody to tell it to but by the exit code.
        return c_int::from(exit_code::FAULT);
    }
    // SAFETY: no other thread runs yet, and ignoring a signal needs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let count = usize::try_from(count).unwrap_or_default();
    let arguments: Vec<OsString> = (1..count)
        .map(|index| {
            // SAFETY: C's `main` is given `count` pointers to texts that end with a zero byte and
            // stay as long as the process.
            let word = unsafe { CStr::from_ptr(*words.add(index)) };
            OsStr::from_bytes(word.to_bytes()).to_owned()
        })
        .collect();
    c_int::from(crate::run(&arguments))
}

/// Has musl ask the system for the time, as for anything else.
///
/// There is a quicker way, by code that the system lends to every process. It has to be looked for
/// first, and brought into memory: worth it from the hundredth question on, and we have five.
///
/// # Safety
///
/// What is given are the variables that C's `main` gets.
#[cfg(not(target_env = "musl"))]
unsafe fn ask_for_the_time_directly(_: *const *const c_char) {}
#[cfg(target_env = "musl")]
unsafe fn ask_for_the_time_directly(variables: *const *const c_char) {
    // SAFETY: the variables end with an empty pointer, and pairs of numbers follow that end with a
    // zero; all of it is on our stack, and nobody else looks at it before we are done.
    unsafe {
        let mut place = variables;
        while !(*place).is_null() {
            place = place.add(1);
        }
        let mut pair = place.add(1).cast::<[libc::c_ulong; 2]>().cast_mut();
        while (*pair)[0] != libc::AT_NULL {
            if (*pair)[0] == libc::AT_SYSINFO_EHDR {
                (*pair)[1] = 0;
            }
            pair = pair.add(1);
        }
    }
}

/// Has `/dev/null` stand for standard streams that we were not given. Without it a file of ours would
/// get the number of one, and what is said to the agent would be written into it.
fn open_standard_streams() -> Result<(), Errno> {
    // The lowest number that is free is given: they are looked at in order.
    for stream in [stdin(), stdout(), stderr()] {
        if fcntl_getfd(stream) == Err(Errno::BADF) {
            let _ = open("/dev/null", OFlags::RDWR, Mode::empty())?.into_raw_fd();
        }
    }
    Ok(())
}

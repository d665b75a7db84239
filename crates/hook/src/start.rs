//! The entry point of the small program: C's `main`.
//!
//! The standard library's own startup prepares for things that a hook process never does (a message
//! on a stack overflow: a dozen system calls and its own memory). The parts that matter are done
//! here: no other file gets the descriptor of a standard stream, and a reader that has disconnected
//! is an error, not death by a signal.

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
    // SAFETY: these are the arguments of C's `main`.
    unsafe { ask_for_the_time_directly(variables) };
    if open_standard_streams().is_err() {
        // There is no way to report it but the exit code.
        return c_int::from(exit_code::FAULT);
    }
    // SAFETY: no other thread runs yet, and ignoring a signal needs no handler.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let count = usize::try_from(count).unwrap_or_default();
    let arguments: Vec<OsString> = (1..count)
        .map(|index| {
            // SAFETY: C's `main` is given `count` pointers to NUL-terminated strings that live as
            // long as the process.
            let word = unsafe { CStr::from_ptr(*words.add(index)) };
            OsStr::from_bytes(word.to_bytes()).to_owned()
        })
        .collect();
    c_int::from(crate::run(&arguments))
}

/// Makes musl ask the system for the time with ordinary system calls.
///
/// There is a faster way, with code that the system maps into every process (the vDSO). It has to
/// be located first and paged in: worth it from the hundredth call on, and we make five.
///
/// # Safety
///
/// The argument must be the environment that C's `main` gets.
#[cfg(not(target_env = "musl"))]
unsafe fn ask_for_the_time_directly(_: *const *const c_char) {}
#[cfg(target_env = "musl")]
unsafe fn ask_for_the_time_directly(variables: *const *const c_char) {
    // SAFETY: the environment ends with a null pointer, followed by pairs of numbers that end with
    // a zero; all of it is on our stack, and nothing else reads it until we are finished.
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

/// Opens `/dev/null` for standard streams that we were not given. Otherwise a file of ours would
/// get the descriptor of one, and the reply to the agent would be written into it.
fn open_standard_streams() -> Result<(), Errno> {
    // The lowest free descriptor is assigned, so they are checked in order.
    for stream in [stdin(), stdout(), stderr()] {
        if fcntl_getfd(stream) == Err(Errno::BADF) {
            let _ = open("/dev/null", OFlags::RDWR, Mode::empty())?.into_raw_fd();
        }
    }
    Ok(())
}

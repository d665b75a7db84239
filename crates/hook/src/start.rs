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

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::stdio::{stderr, stdin, stdout};

#[unsafe(no_mangle)]
extern "C" fn main(count: c_int, words: *const *const c_char) -> c_int {
    open_standard_streams();
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

/// Has `/dev/null` stand for standard streams that we were not given.
fn open_standard_streams() {
    let streams = [stdin(), stdout(), stderr()];
    let mut looks = streams.each_ref().map(|stream| PollFd::new(stream, PollFlags::empty()));
    let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut looks, Some(&at_once)) == Ok(0) {
        return;
    }
    for look in looks {
        if look.revents().contains(PollFlags::NVAL) {
            // The lowest number that is free: they are looked at in order.
            if let Ok(null) = open("/dev/null", OFlags::RDWR, Mode::empty()) {
                let _ = null.into_raw_fd();
            }
        }
    }
}

//! Reads the event on standard input.

use std::io;
use std::os::fd::AsFd;

use rustix::buffer::spare_capacity;
use rustix::io::{Errno, read};

/// Events larger than this are refused, instead of being read until memory runs out.
const LIMIT: usize = 64 * 1024 * 1024;

/// Most events fit into this, so that one read gets them and the next finds the end of the input.
const USUAL: usize = 4 * 1024;

/// Less than the size of a large page on systems that have them: a longer event may be given one.
const LONG: usize = 1536 * 1024;

/// Reads an event to its end. Returns what was read, and what is wrong with it, if anything.
///
/// Does not use the standard library's handle: that has its own buffer, and starts with a read of a
/// few bytes.
///
/// Stops when `has_expired` returns `true` and a read was interrupted or returned only a part:
/// nothing is waited for after the deadline.
pub fn receive(input: impl AsFd, has_expired: fn() -> bool) -> (Vec<u8>, Option<String>) {
    let mut payload = Vec::with_capacity(USUAL);
    let trouble = loop {
        if payload.len() == payload.capacity() {
            make_room(&mut payload);
        }
        match read(&input, spare_capacity(&mut payload)) {
            Ok(0) => break None,
            Ok(_) if payload.len() > LIMIT => break Some("is larger than 64 MiB".to_owned()),
            Ok(_) | Err(Errno::INTR) if has_expired() => {
                break Some("did not arrive in time (--deadline-ms)".to_owned());
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => break Some(format!("cannot be read: {}", io::Error::from(error))),
        }
    };
    (payload, trouble)
}

/// Reserves memory for the rest: first for nearly all events that are longer than usual, then for
/// the largest event that is accepted. The system allocates memory when it is written to, so
/// neither costs more than what arrives, and little is copied. Where the system does not overcommit
/// that much, the capacity doubles: few reads, and linear time.
fn make_room(payload: &mut Vec<u8>) {
    let room = if payload.len() < LONG { LONG } else { LIMIT + 1 };
    if payload.try_reserve_exact(room.saturating_sub(payload.len()).max(1)).is_err() {
        payload.reserve(payload.len());
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::thread;

    use super::*;

    fn in_time() -> bool {
        false
    }

    #[test]
    fn nothing_is_waited_for_after_the_deadline() {
        let (end, mut begin) = io::pipe().unwrap();
        begin.write_all(b"{").unwrap();
        let (payload, trouble) = receive(&end, || true);
        assert_eq!(payload, b"{");
        assert_eq!(trouble.as_deref(), Some("did not arrive in time (--deadline-ms)"));
        // What had arrived completely by then is used.
        drop(begin);
        assert_eq!(receive(&end, || true), (Vec::new(), None));
    }

    #[test]
    fn an_event_comes_whole_however_it_drips() {
        for length in [0, 1, USUAL - 1, USUAL, USUAL + 1, LONG - 1, LONG, LONG + 1] {
            let sent: Vec<u8> = (0u8..=250).cycle().take(length).collect();
            let (end, mut begin) = io::pipe().unwrap();
            thread::scope(|scope| {
                let parts = sent.chunks(977);
                scope.spawn(move || parts.for_each(|part| begin.write_all(part).unwrap()));
                assert_eq!(receive(&end, in_time), (sent.clone(), None), "{length}");
            });
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let (payload, trouble) = receive(File::open("/").unwrap(), in_time);
        assert_eq!(payload, b"");
        assert_eq!(trouble.as_deref(), Some("cannot be read: Is a directory (os error 21)"));
    }

    #[test]
    fn no_event_fills_the_memory() {
        let (payload, trouble) = receive(File::open("/dev/zero").unwrap(), in_time);
        assert_eq!(trouble.as_deref(), Some("is larger than 64 MiB"));
        assert!(payload.len() <= 2 * LIMIT);
    }
}

//! Rings the bell of the person's terminals. Inside tmux it marks the window.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use anyhook_model::notice::{Channel, DeliveryResult};
use rustix::fs::{Mode, OFlags};

/// The major device number of pseudo terminals on Linux.
const PTS_MAJOR: u32 = 136;

const BELL: &[u8] = b"\x07";

/// Rings every pseudo terminal that a process of this user is on.
pub fn ring() -> DeliveryResult {
    let own = rustix::process::geteuid().as_raw();
    let mut numbers: Vec<u32> = terminals(Path::new("/proc"), own);
    numbers.sort_unstable();
    numbers.dedup();
    let rung = numbers
        .into_iter()
        .filter(|number| ring_one(&Path::new("/dev/pts").join(number.to_string()), *number, own))
        .count();
    if rung == 0 {
        return DeliveryResult::absent(Channel::Bell, "no terminals known");
    }
    DeliveryResult::delivered(Channel::Bell)
}

/// Returns the numbers of the terminals that the user's processes are on.
fn terminals(processes: &Path, own: u32) -> Vec<u32> {
    let entries = fs::read_dir(processes).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        .filter(|entry| entry.metadata().is_ok_and(|data| data.uid() == own))
        .filter_map(|entry| terminal(&fs::read_to_string(entry.path().join("stat")).ok()?))
        .collect()
}

/// Parses the number of a process's terminal from its `stat` line in `/proc`.
fn terminal(stat: &str) -> Option<u32> {
    // A process's name may contain anything, even what looks like the rest.
    let after_name = &stat[stat.rfind(')')? + 1..];
    let device: i32 = after_name.split_ascii_whitespace().nth(4)?.parse().ok()?;
    let device = device.cast_unsigned();
    let major = (device >> 8) & 0xff;
    let minor = (device & 0xff) | ((device >> 12) & 0xf_ff00);
    (major == PTS_MAJOR).then_some(minor)
}

/// Rings one terminal, if it belongs to the user and writing does not block.
fn ring_one(path: &Path, number: u32, own: u32) -> bool {
    let flags =
        OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let is_ours = |data: &fs::Metadata| {
        data.file_type().is_char_device()
            && data.uid() == own
            && data.mode() & 0o200 != 0
            && rustix::fs::major(data.rdev()) == PTS_MAJOR
            && rustix::fs::minor(data.rdev()) == number
    };
    if !path.symlink_metadata().is_ok_and(|data| is_ours(&data)) {
        return false;
    }
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) else { return false };
    let mut file = fs::File::from(file);
    file.metadata().is_ok_and(|data| is_ours(&data)) && file.write_all(BELL).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_read_from_a_process() {
        let stat = |name: &str, device: i32| format!("7 ({name}) S 1 7 7 {device} 7 4194304 1 2");
        assert_eq!(terminal(&stat("sh", 34816)), Some(0));
        assert_eq!(terminal(&stat("x) S 1 1 1 34817 (y", 34819)), Some(3));
        assert_eq!(terminal(&stat("sh", 34816 + 255)), Some(255));
        assert_eq!(terminal(&stat("sh", 34816 + (1 << 20))), Some(256));
        assert_eq!(terminal(&stat("daemon", 0)), None);
        assert_eq!(terminal(&stat("console", 1025)), None, "a console is no pseudo terminal");
        assert_eq!(terminal("7 (sh"), None);
        assert_eq!(terminal(""), None);
    }

    #[test]
    fn without_processes_no_terminals_are_known() {
        assert!(terminals(Path::new("/nowhere"), 0).is_empty());
    }

    #[test]
    fn what_is_no_terminal_of_ours_is_left_alone() {
        let scratch = tempfile::tempdir().unwrap();
        let own = rustix::process::geteuid().as_raw();
        let file = scratch.path().join("3");
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink("/dev/null", scratch.path().join("4")).unwrap();
        assert!(!ring_one(&file, 3, own));
        assert!(!ring_one(&scratch.path().join("4"), 4, own));
        assert!(!ring_one(Path::new("/dev/null"), 3, own.wrapping_add(1)));
        assert_eq!(fs::read(&file).unwrap(), b"");
    }
}

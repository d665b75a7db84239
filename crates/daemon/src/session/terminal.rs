//! The terminal process: owns one terminal, and exits with what runs on it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhook_engine::wait::try_poll;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::end::keep_screen;
use super::key_queue::KeyQueue;
use super::serve::{self, SIZE, SessionServer};
use crate::task::{self, supervisor};

/// The terminal's `TERM`.
const TERM: &str = "xterm-256color";
/// How often to check whether the supervisor has claimed its task.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// After the supervisor has exited, at most this many bytes are read: a process left behind may
/// print forever.
const LAST_WORDS: usize = 1024 * 1024;

/// The main function of the terminal process: `__terminal FOLDER SOCKET`. Returns whether it
/// succeeded.
pub fn main(arguments: &[OsString]) -> bool {
    let [folder, socket] = arguments else { return false };
    match keep(Path::new(folder), Path::new(socket)) {
        Ok(()) => true,
        Err(error) => {
            // The process that started us may have exited.
            let _ = writeln!(io::stdout(), "{error}");
            false
        }
    }
}

/// Opens a pseudo terminal: our end, and the program's.
pub(super) fn open() -> io::Result<(OwnedFd, OwnedFd)> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::io::fcntl_setfd(&master, FdFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let name = OsStr::from_bytes(name.as_bytes());
    let slave = rustix::fs::open(name, flags, Mode::empty())?;
    let size = Winsize { ws_row: SIZE.rows, ws_col: SIZE.columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size)?;
    Ok((master, slave))
}

fn keep(folder: &Path, socket: &Path) -> io::Result<()> {
    let _ = rustix::process::setsid();
    let (master, slave) = open()?;
    let mut child = start_supervisor(folder, slave)?;
    let typed = KeyQueue::start(File::from(master.try_clone()?));
    let (over, tell_over) = UnixStream::pair()?;
    let reader = File::from(master.try_clone()?);
    let desk = Arc::new(SessionServer::new(master, typed));
    let eyes = {
        let desk = Arc::clone(&desk);
        thread::spawn(move || read(reader, &over, &desk))
    };
    let is_ours = wait_for_claim(folder, &mut child)?;
    if is_ours {
        let listener = serve::listen(socket)?;
        let desk = Arc::clone(&desk);
        thread::spawn(move || serve::serve(&listener, &desk));
        let mut stdout = io::stdout();
        let _ = stdout.write_all(task::CLAIMED).and_then(|()| stdout.flush());
    }
    child.wait()?;
    drop(tell_over);
    let _ = eyes.join();
    if !is_ours {
        // Another process has the task, or the supervisor has reported why it could not claim it.
        return if task::is_begun(folder) { Ok(()) } else { Err(io::Error::other(desk.history())) };
    }
    let kept = keep_screen(folder, &desk.history());
    desk.close();
    let _ = std::fs::remove_file(socket);
    kept.map_err(io::Error::other)
}

/// Starts the supervisor on the terminal, which becomes its controlling terminal.
fn start_supervisor(folder: &Path, slave: OwnedFd) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .arg(task::ARGUMENT)
        .arg(folder)
        .arg(supervisor::TAKES_TERMINAL)
        .env("TERM", TERM)
        .env("COLORTERM", "truecolor")
        .env_remove("TERM_PROGRAM")
        .env_remove("TERM_PROGRAM_VERSION")
        .env_remove("COLUMNS")
        .env_remove("LINES")
        .stdin(slave.try_clone()?)
        .stdout(slave.try_clone()?)
        .stderr(slave)
        .spawn()
}

/// Waits until the supervisor has claimed its task or exited. Returns whether the task is claimed
/// by this one.
fn wait_for_claim(folder: &Path, supervisor: &mut Child) -> io::Result<bool> {
    try_poll(LOOK_EVERY, || {
        let has_ended = supervisor.try_wait()?.is_some();
        let owner = task::owner(folder).map_err(io::Error::other)?;
        Ok(match owner {
            Some(owner) => Some(owner.pid == supervisor.id()),
            None => has_ended.then_some(false),
        })
    })
}

/// Reads the output until the supervisor has exited and all of it is read.
fn read(mut terminal: File, over: &UnixStream, desk: &SessionServer) {
    let mut buffer = [0; 16 * 1024];
    let mut left = LAST_WORDS;
    loop {
        let mut waited = [PollFd::new(&terminal, PollFlags::IN), PollFd::new(over, PollFlags::IN)];
        let _ = poll(&mut waited, None);
        let [is_printed, is_over] = waited.map(|it| !it.revents().is_empty());
        if is_printed {
            match terminal.read(&mut buffer) {
                Ok(length) if length > 0 => {
                    desk.print(&buffer[..length]);
                    if is_over {
                        left = left.saturating_sub(length);
                    }
                    if left > 0 {
                        continue;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // No process has the terminal open any more.
                Ok(_) | Err(_) => {}
            }
            return;
        }
        if is_over {
            return;
        }
    }
}

//! The process that keeps one terminal, and ends with what runs on it.

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

/// What the terminal calls itself.
const TERM: &str = "xterm-256color";
/// How often we look whether the keeper has its task.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// After the keeper's end, no more than this is read: somebody left behind may print for ever.
const LAST_WORDS: usize = 1024 * 1024;

/// Is the process that keeps a terminal: `__terminal FOLDER SOCKET`. Tells whether all went well.
pub fn main(arguments: &[OsString]) -> bool {
    let [folder, socket] = arguments else { return false };
    match keep(Path::new(folder), Path::new(socket)) {
        Ok(()) => true,
        Err(error) => {
            // Whoever has started us may have gone.
            let _ = writeln!(io::stdout(), "{error}");
            false
        }
    }
}

/// Opens a pair of a terminal's ends: ours, and the program's.
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
    let mut child = start_keeper(folder, slave)?;
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
        // Somebody else has the task, or the keeper has said why nobody can.
        return if task::is_begun(folder) { Ok(()) } else { Err(io::Error::other(desk.history())) };
    }
    let kept = keep_screen(folder, &desk.history());
    desk.close();
    let _ = std::fs::remove_file(socket);
    kept.map_err(io::Error::other)
}

/// Starts the keeper on the terminal, which it takes for its own.
fn start_keeper(folder: &Path, slave: OwnedFd) -> io::Result<Child> {
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

/// Waits until the keeper has its task, or has ended. Tells whether it is this one that has it.
fn wait_for_claim(folder: &Path, keeper: &mut Child) -> io::Result<bool> {
    try_poll(LOOK_EVERY, || {
        let has_ended = keeper.try_wait()?.is_some();
        let owner = task::owner(folder).map_err(io::Error::other)?;
        Ok(match owner {
            Some(owner) => Some(owner.pid == keeper.id()),
            None => has_ended.then_some(false),
        })
    })
}

/// Reads what is printed, until the keeper is gone and all it printed is read.
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
                // Nobody has it open any more.
                Ok(_) | Err(_) => {}
            }
            return;
        }
        if is_over {
            return;
        }
    }
}

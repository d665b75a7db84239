//! One call of `tmux`, with a time limit: a server that hangs must not hang us.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhook_engine::run::descendants::{ASIDE, MARK};

use crate::session::{Place, SessionError, runtime};

/// A call takes no longer.
const LIMIT: Duration = Duration::from_secs(5);

/// The server of our own.
#[derive(Debug)]
pub(super) struct Server {
    socket: PathBuf,
    session: String,
}

impl Server {
    /// Names the server of a session. It is started by the first session.
    pub(super) fn of(place: &Place) -> Result<Self, SessionError> {
        let socket = runtime::sockets(&place.runtime)?.join("tmux");
        Ok(Self { socket, session: place.name.clone() })
    }

    /// Returns its socket.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Has it do something, and returns what it said.
    pub(super) fn call(
        &self,
        words: &[impl AsRef<OsStr>],
        input: &[u8],
    ) -> Result<String, SessionError> {
        let mut command = terminal_command(&self.socket);
        command.args(words).current_dir("/");
        let output = run(command, input, LIMIT)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if is_absence(&why) {
            return Err(SessionError::NotThere(self.session.clone()));
        }
        let what = words.iter().map(|word| word.as_ref().to_string_lossy()).next();
        let what = format!("tmux cannot do `{}`", what.unwrap_or_default());
        Err(SessionError::Failed { what, why })
    }
}

/// Tells whether a message says that there is no such session, or no server.
fn is_absence(message: &str) -> bool {
    let is_missing = ["can't find session", "can't find pane", "no current target"];
    let is_over = ["no server running", "server exited", "lost server"];
    let has_no_socket = message.starts_with("error connecting")
        && ["(No such file or directory)", "(Connection refused)"]
            .iter()
            .any(|why| message.ends_with(why));
    has_no_socket || is_missing.iter().chain(&is_over).any(|start| message.starts_with(start))
}

/// Returns `tmux` with our server, and nothing of one that we may be in.
pub(super) fn terminal_command(socket: &Path) -> Command {
    let mut command = Command::new("tmux");
    command.args(["-u", "-f", "/dev/null", "-S"]).arg(socket);
    command.env_remove("TMUX").env_remove("TMUX_PANE").env(MARK, ASIDE);
    command
}

/// Returns what `tmux` says of its version.
pub(super) fn version() -> Result<String, SessionError> {
    let mut command = Command::new("tmux");
    command.arg("-V");
    let output = run(command, b"", LIMIT)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(SessionError::NoTmux(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

/// Returns a word as `tmux` takes it: a semicolon at its end would begin another command.
pub(super) fn escaped(word: &OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};

    match word.as_bytes().strip_suffix(b";") {
        Some(before) => OsString::from_vec([before, b"\\;"].concat()),
        None => word.to_owned(),
    }
}

/// Returns the name of a buffer that nobody else uses.
pub(super) fn buffer_name() -> String {
    static PASTES: AtomicU64 = AtomicU64::new(0);
    format!("anyhook-{}-{}", std::process::id(), PASTES.fetch_add(1, Ordering::Relaxed))
}

/// Runs a command to its end; one that takes too long is ended.
fn run(mut command: Command, input: &[u8], limit: Duration) -> Result<Output, SessionError> {
    let no_tmux = |error: io::Error| SessionError::NoTmux(error.to_string());
    let until = Instant::now() + limit;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(no_tmux)?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // It need not read it.
        thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let left = |until: Instant| until.saturating_duration_since(Instant::now());
    let said = stdout
        .recv_timeout(left(until))
        .and_then(|stdout| Ok((stdout, stderr.recv_timeout(left(until))?)));
    let Ok((stdout, stderr)) = said else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(SessionError::Slow("tmux".to_owned()));
    };
    let status = child.wait().map_err(no_tmux)?;
    Ok(Output { status, stdout, stderr })
}

/// Reads a stream to its end, aside.
fn read(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_hangs_is_ended() {
        let mut command = Command::new("sleep");
        command.arg("1000");
        let ran = run(command, b"", Duration::from_millis(50));
        assert!(matches!(ran, Err(SessionError::Slow(_))), "{ran:?}");
        let ran = run(Command::new("cat"), &vec![b'x'; 300_000], Duration::from_secs(10)).unwrap();
        assert_eq!(ran.stdout.len(), 300_000);
        assert!(matches!(
            run(Command::new("/nowhere/tmux"), b"", LIMIT),
            Err(SessionError::NoTmux(_))
        ));
    }

    #[test]
    fn absence_is_told_from_failure() {
        for message in [
            "can't find session: a",
            "can't find pane: %1",
            "no server running on /x/tmux",
            "error connecting to /x/tmux (No such file or directory)",
        ] {
            assert!(is_absence(message), "{message}");
        }
        for message in ["error connecting to /x/tmux (Permission denied)", "duplicate session: a"] {
            assert!(!is_absence(message), "{message}");
        }
    }

    #[test]
    fn a_semicolon_at_the_end_is_part_of_the_word() {
        assert_eq!(escaped("a;b".as_ref()), "a;b");
        assert_eq!(escaped("a;".as_ref()), "a\\;");
    }
}

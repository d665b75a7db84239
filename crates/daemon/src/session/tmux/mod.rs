//! Sessions in `tmux`, on a server of our own.
//!
//! The person's `tmux.conf` is not read: it may run programs, restore sessions, or have detached
//! sessions end. A person who attaches has the usual keys; the status line says how to leave.

mod call;

use std::ffi::OsString;
use std::io::{self, Read};
use std::net::Shutdown;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhook_model::pipeline::SessionKind;
use rustix::process::{Pid, Signal, kill_process};

use super::end::{LOOK_EVERY, end_task, keep_screen, kept_screen, trimmed, wait_for_keeper};
use super::runtime::short_hash;
use super::signals::Signals;
use super::{COLUMNS, Key, Place, ROWS, SCROLLED, SessionError, Sessions, check_paste, control};
use crate::task;
use call::{Server, escaped, terminal_command};

/// The oldest version that is known to do all that is needed.
const OLDEST: (u32, u32) = (3, 0);
/// A server that cannot be had by then is not waited for any longer.
const LIMIT: Duration = Duration::from_secs(10);
/// A name is shown on a line.
const NAME_LIMIT: usize = 60;

/// Keeps sessions in `tmux`.
#[derive(Clone, Copy, Debug)]
pub struct Tmux;

impl Sessions for Tmux {
    fn kind(&self) -> SessionKind {
        SessionKind::Tmux
    }

    fn check(&self) -> Result<(), SessionError> {
        let told = call::version()?;
        match version(&told) {
            Some(version) if version < OLDEST => {
                Err(SessionError::NoTmux(format!("`{}` is too old", told.trim())))
            }
            // One that was built from the latest sources has no number.
            _ => Ok(()),
        }
    }

    fn start(&self, place: &Place) -> Result<(), SessionError> {
        if task::is_begun(&place.folder) {
            return Ok(());
        }
        self.check()?;
        let server = Server::of(place)?;
        let size = (COLUMNS.to_string(), ROWS.to_string(), SCROLLED.to_string());
        let name = session_name(&place.name);
        let program = [place.binary.as_os_str(), task::ARGUMENT.as_ref(), place.folder.as_os_str()];
        let program = program.map(escaped);
        #[rustfmt::skip]
        let mut words = vec![
            "start-server", ";",
            "set-option", "-g", "history-limit", &size.2, ";",
            "set-option", "-g", "default-terminal", "screen-256color", ";",
            "set-option", "-g", "remain-on-exit", "off", ";",
            "set-option", "-g", "status-right", " Ctrl-b d leaves ", ";",
            "set-option", "-s", "escape-time", "20", ";",
            "set-environment", "-g", "COLORTERM", "truecolor", ";",
            "new-session", "-d", "-x", &size.0, "-y", &size.1, "-s", &name, "--",
        ]
        .into_iter()
        .map(OsString::from)
        .collect::<Vec<_>>();
        words.extend(program);
        let until = Instant::now() + LIMIT;
        loop {
            match server.call(&words, b"") {
                // Another was quicker.
                Err(SessionError::Failed { why, .. }) if why.contains("duplicate session") => break,
                // The server ends with its last session, and was just about to.
                Err(SessionError::NotThere(_)) if task::is_begun(&place.folder) => break,
                Err(SessionError::NotThere(_)) if Instant::now() < until => {
                    thread::sleep(LOOK_EVERY);
                }
                Err(SessionError::NotThere(name)) => {
                    let why = "the server of tmux ends again and again".to_owned();
                    return Err(SessionError::NotStarted { name, why });
                }
                answered => break drop(answered?),
            }
        }
        wait_for_keeper(place, || self.is_there(place))
    }

    fn is_there(&self, place: &Place) -> Result<bool, SessionError> {
        match Server::of(place)?.call(&["has-session", "-t", &target(place)], b"") {
            Ok(_) => Ok(true),
            Err(SessionError::NotThere(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn screen(&self, place: &Place) -> Result<String, SessionError> {
        let pane = pane(place)?;
        Ok(trimmed(&Server::of(place)?.call(&["capture-pane", "-p", "-t", &pane], b"")?))
    }

    fn cursor(&self, place: &Place) -> Result<(u16, u16), SessionError> {
        let pane = pane(place)?;
        let words = ["display-message", "-p", "-t", &pane, "#{cursor_x} #{cursor_y}"];
        let told = Server::of(place)?.call(&words, b"")?;
        let mut numbers = told.split_whitespace().map_while(|number| number.parse().ok());
        Ok((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)))
    }

    fn coloured(&self, place: &Place) -> Result<String, SessionError> {
        let pane = pane(place)?;
        Server::of(place)?.call(&["capture-pane", "-p", "-e", "-t", &pane], b"")
    }

    fn history(&self, place: &Place) -> Result<String, SessionError> {
        let first = format!("-{SCROLLED}");
        let pane = pane(place)?;
        let words = ["capture-pane", "-p", "-J", "-S", &first, "-t", &pane];
        match Server::of(place)?.call(&words, b"") {
            Ok(text) => {
                let text = trimmed(&text);
                keep_screen(&place.folder, &text)?;
                Ok(text)
            }
            Err(SessionError::NotThere(_)) => kept_screen(place),
            Err(error) => Err(error),
        }
    }

    fn paste(&self, place: &Place, text: &str) -> Result<(), SessionError> {
        check_paste(text)?;
        let (server, pane) = (Server::of(place)?, pane(place)?);
        if text.is_empty() {
            return Ok(());
        }
        let buffer = call::buffer_name();
        server.call(&["load-buffer", "-b", &buffer, "-"], text.as_bytes())?;
        // As it is: without it, newer versions replace control characters by visible ones.
        let usage = server.call(&["list-commands", "paste-buffer"], b"")?;
        let flags = if usage.contains("[-dprS]") { "-prdS" } else { "-prd" };
        let pasted = server.call(&["paste-buffer", flags, "-b", &buffer, "-t", &pane], b"");
        if pasted.is_err() {
            let _ = server.call(&["delete-buffer", "-b", &buffer], b"");
        }
        pasted.map(drop)
    }

    fn press(&self, place: &Place, key: Key) -> Result<(), SessionError> {
        let (server, pane) = (Server::of(place)?, pane(place)?);
        // Somebody who scrolls back has the keys; the program is to get this one.
        let leave = format!("send-keys -t '{pane}' -X cancel");
        let mut words = vec!["if-shell", "-F", "-t", &pane, "#{pane_in_mode}", &leave, ";"];
        words.extend(["send-keys", "-t", &pane]);
        let word = match key {
            Key::Character(';') => "\\;".to_owned(),
            Key::Control(character) => format!("{:02x}", control(character)?),
            key => key.name(),
        };
        match key {
            Key::Character(_) => words.extend(["-l", "--"]),
            Key::Control(_) => words.push("-H"),
            _ => {}
        }
        words.push(&word);
        server.call(&words, b"").map(drop)
    }

    fn end(&self, place: &Place) -> Result<(), SessionError> {
        let server = Server::of(place)?;
        match self.history(place) {
            Ok(_) | Err(SessionError::NotThere(_)) => {}
            // It must end, whether or not it can be seen.
            Err(error) => tracing::warn!("the last screen of `{}` is lost: {error}", place.name),
        }
        end_task(&place.folder)?;
        match server.call(&["kill-session", "-t", &target(place)], b"") {
            Ok(_) | Err(SessionError::NotThere(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn attach(&self, place: &Place) -> Result<(), SessionError> {
        if !rustix::termios::isatty(io::stdin()) {
            return Err(SessionError::NoTerminal);
        }
        let server = Server::of(place)?;
        if !self.is_there(place)? {
            return Err(SessionError::NotThere(place.name.clone()));
        }
        let target = target(place);
        let mut command = terminal_command(server.socket());
        command.args(["attach-session", "-t", &target]);
        let status = sit(command).map_err(|error| SessionError::NoTmux(error.to_string()))?;
        // For whoever looks at it from afar it is as large as before.
        let pane = format!("{target}:");
        let size = format!("resize-window -t '{pane}' -x {COLUMNS} -y {ROWS}");
        let attached = "#{session_attached}";
        let words = ["if-shell", "-F", "-t", &pane, attached, "", &size, ";"];
        let unset = ["set-option", "-w", "-u", "-t", &pane, "window-size"];
        let _ = server.call(&[&words[..], &unset].concat(), b"");
        if status.success() || !self.is_there(place)? {
            return Ok(());
        }
        let why = format!("tmux ended with {status}");
        Err(SessionError::Failed { what: "the session cannot be shown".to_owned(), why })
    }
}

/// Runs a command in this process's terminal to its end. If we are told to end, it is told so
/// first, to leave the terminal as it was.
fn sit(mut command: Command) -> io::Result<ExitStatus> {
    let signals = Signals::heed()?;
    let (stopped, mut told) = (signals.stopped.try_clone()?, signals.stopped.try_clone()?);
    let mut child = command.spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let watcher = thread::spawn(move || {
        if let (Ok(1..), Some(pid)) = (told.read(&mut [0]), pid) {
            let _ = kill_process(pid, Signal::TERM);
        }
    });
    let status = child.wait();
    // That ends the watcher.
    let _ = stopped.shutdown(Shutdown::Both);
    let _ = watcher.join();
    status
}

/// Returns the target that is this session and no other.
fn target(place: &Place) -> String {
    format!("={}", session_name(&place.name))
}

/// Returns the pane the task runs in: somebody may have made others.
fn pane(place: &Place) -> Result<String, SessionError> {
    let pane = task::pane(&place.folder)?.map(|pane| format!(".{pane}"));
    Ok(format!("{}:{}", target(place), pane.unwrap_or_default()))
}

/// Returns the name as a session may have it.
fn session_name(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let is_short = (1..=NAME_LIMIT).contains(&name.len());
    if is_short && name.chars().all(is_plain) && !name.starts_with('-') {
        return name.to_owned();
    }
    let plain = name.chars().map(|letter| if is_plain(letter) { letter } else { '_' });
    let plain: String = plain.take(NAME_LIMIT / 2).collect();
    format!("_{plain}-{}", short_hash(name.as_bytes()))
}

/// Reads `tmux 3.3a`, `tmux next-3.6`.
fn version(told: &str) -> Option<(u32, u32)> {
    let told = told.trim().strip_prefix("tmux ")?;
    let number = told.strip_prefix("next-").unwrap_or(told);
    let (major, minor) = number.split_once('.')?;
    let minor = minor.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let minor = minor.split(|letter: char| !letter.is_ascii_digit()).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        assert_eq!(version("tmux 3.3a\n"), Some((3, 3)));
        assert_eq!(version("tmux 2.9"), Some((2, 9)));
        assert_eq!(version("tmux next-3.6"), Some((3, 6)));
        assert_eq!(version("tmux 3.5-rc1"), Some((3, 5)));
        assert_eq!(version("tmux master"), None);
        assert_eq!(version(""), None);
    }

    #[test]
    fn names_are_safe_and_stay_different() {
        assert_eq!(session_name("build-1_a"), "build-1_a");
        let names = ["", "a:b", "a.b", "a b", "-a", "=a", "ä", "$1", "%1", "@1", "a\nb", "'"];
        let long = "x".repeat(61);
        let longer = "x".repeat(62);
        let all = names.into_iter().chain([long.as_str(), &longer]);
        let made: std::collections::BTreeSet<String> = all.map(session_name).collect();
        assert_eq!(made.len(), names.len() + 2);
        for name in made {
            let is_safe = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
            assert!(name.chars().all(is_safe) && name.len() < 60, "{name}");
        }
    }
}

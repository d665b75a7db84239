//! A synchronous client of the daemon, for commands and for hook processes.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use anyhook_model::Resolution;
use anyhook_model::daemon::{
    Ask, Hello, PROTOCOL_VERSION, Refusal, RefusalCode, Request, ResolveDecision, Response,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::folder::{DaemonFolder, FolderError};
use crate::frame::{self, FrameError};
use crate::peer;

/// The daemon answers within this time, or something is wrong with it.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// A daemon that was just started listens within this time, or something is wrong.
const START_LIMIT: Duration = Duration::from_secs(10);

/// For a person, a daemon that does not send its greeting within this time counts as not
/// responding. The greeting does not wait for anything.
const GREETING_LIMIT: Duration = Duration::from_secs(3);
/// How often a client that waits on behalf of a person checks whether the daemon is stopped.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long to wait before reconnecting to a daemon whose connection queue is full.
#[cfg(any(target_os = "linux", target_os = "android"))]
const QUEUE_PAUSE: Duration = Duration::from_millis(5);

/// The shortest timeout: zero would mean no timeout at all.
const LEAST: Duration = Duration::from_millis(1);

/// A connection to the daemon.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    /// How long an answer may take; `None` for no limit.
    patience: Option<Duration>,
    caller: OnBehalfOf,
}

/// On whose behalf the daemon is asked: decides how long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBehalfOf {
    /// A person, who wants to know soon that the daemon does not respond.
    Person,
    /// A process that can wait and try again.
    Process,
}

/// Why the daemon cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// It is not running.
    #[error("daemon not running")]
    NotRunning,
    /// It is running but does not respond.
    #[error("{}", silent(*.process, *.is_stopped))]
    Silent {
        /// Its process id, where the system reports it.
        process: Option<u32>,
        /// Whether it is suspended, for example by SIGSTOP.
        is_stopped: bool,
    },
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Communication with it failed.
    #[error("the daemon cannot be reached: {0}")]
    Frame(#[from] FrameError),
    /// It speaks another version.
    #[error("the daemon has a different version ({theirs}; this is {ours})")]
    Version {
        /// The daemon's version.
        theirs: String,
        /// This program's version.
        ours: String,
    },
    /// The process that answers belongs to another user.
    #[error("the socket belongs to another user's process")]
    Stranger,
    /// It refused the request.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// It sent something that is not an answer.
    #[error("the daemon did not answer this request")]
    NoAnswer,
    /// It could not be started.
    #[error("could not start the daemon: {0}")]
    NotStarted(String),
}

impl Client {
    /// Connects to the running daemon, on behalf of a person.
    pub fn connect(folder: &DaemonFolder) -> Result<Self, ClientError> {
        Self::connect_for(folder, ANSWER_LIMIT, OnBehalfOf::Person)
    }

    /// Like [`connect`](Self::connect), for callers that cannot wait: every answer must come within
    /// `patience`.
    pub fn connect_within(folder: &DaemonFolder, patience: Duration) -> Result<Self, ClientError> {
        Self::connect_for(folder, patience, OnBehalfOf::Process)
    }

    fn connect_for(
        folder: &DaemonFolder,
        patience: Duration,
        caller: OnBehalfOf,
    ) -> Result<Self, ClientError> {
        folder.check_socket_path()?;
        Self::connect_to(&folder.socket(), patience, caller)
    }

    fn connect_to(
        socket: &Path,
        patience: Duration,
        caller: OnBehalfOf,
    ) -> Result<Self, ClientError> {
        let greeting = match caller {
            OnBehalfOf::Person => patience.min(GREETING_LIMIT),
            OnBehalfOf::Process => patience,
        };
        let stream = match connect_within(socket, greeting) {
            Ok(stream) => stream,
            Err(Errno::NOENT | Errno::CONNREFUSED) => return Err(ClientError::NotRunning),
            Err(Errno::AGAIN) => {
                return Err(ClientError::Silent { process: None, is_stopped: false });
            }
            Err(error) => return Err(FrameError::from(io::Error::from(error)).into()),
        };
        // Another user's daemon could send false reports about our agents.
        if !peer::is_ours(&stream) {
            return Err(ClientError::Stranger);
        }
        let mut client = Self { stream, patience: Some(greeting), caller };
        let theirs: Hello = match client.send(&Hello::ours()).and_then(|()| client.receive()) {
            // The daemon was about to exit.
            Err(FrameError::Io(error)) if is_cut_off(&error) => {
                return Err(ClientError::NotRunning);
            }
            greeted => greeted.map_err(|error| client.silent(error))?,
        };
        if theirs.protocol != PROTOCOL_VERSION {
            return Err(ClientError::Version {
                theirs: theirs.anyhook,
                ours: Hello::ours().anyhook,
            });
        }
        client.patience = Some(patience);
        Ok(client)
    }

    /// Maps an answer that did not come in time to an error that says that the daemon does not
    /// respond.
    fn silent(&self, error: FrameError) -> ClientError {
        match error {
            FrameError::Io(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                let process = peer::process(&self.stream);
                ClientError::Silent { process, is_stopped: process.is_some_and(is_stopped) }
            }
            error => error.into(),
        }
    }

    /// Connects to the daemon, calling `start` first if none is running; all within `patience`.
    ///
    /// If several processes want it at the same time, one of them starts it and the others wait.
    /// The process that `start` returns exits successfully once the daemon listens; the daemon is
    /// then not our child.
    pub fn connect_or(
        folder: &DaemonFolder,
        patience: Duration,
        start: impl FnOnce() -> io::Result<Child>,
    ) -> Result<Self, ClientError> {
        Self::connect_or_for(folder, patience, OnBehalfOf::Process, start)
    }

    /// Like [`connect_or`](Self::connect_or), on behalf of a caller.
    pub fn connect_or_for(
        folder: &DaemonFolder,
        patience: Duration,
        caller: OnBehalfOf,
        start: impl FnOnce() -> io::Result<Child>,
    ) -> Result<Self, ClientError> {
        let limit = Instant::now() + patience.min(START_LIMIT);
        let left = || limit.saturating_duration_since(Instant::now()).max(LEAST);
        let connect = || Self::connect_for(folder, left().min(ANSWER_LIMIT), caller);
        let mut start = Some(start);
        let mut starter: Option<(Child, File)> = None;
        loop {
            match connect() {
                Err(ClientError::NotRunning) => {}
                answered => return answered,
            }
            match &mut starter {
                Some((child, _)) => match child.try_wait() {
                    Ok(None) => {}
                    // It listens: the next attempt will show.
                    Ok(Some(status)) if status.success() => {}
                    _ => return Err(ClientError::NotStarted("it exited immediately".to_owned())),
                },
                None => {
                    folder.make()?;
                    let turn = folder.take_turn_to_start();
                    // The process that had the turn before may have started it by now.
                    if let Some(turn) = turn
                        && matches!(connect(), Err(ClientError::NotRunning))
                        && let Some(start) = start.take()
                    {
                        let failed = |error: io::Error| ClientError::NotStarted(error.to_string());
                        starter = Some((start().map_err(failed)?, turn));
                    }
                }
            }
            if Instant::now() > limit {
                return Err(ClientError::NotStarted("it does not answer".to_owned()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn send(&mut self, message: &impl Serialize) -> Result<(), FrameError> {
        let patience = self.patience.unwrap_or(ANSWER_LIMIT).max(LEAST);
        self.stream.set_write_timeout(Some(patience))?;
        frame::write(&mut self.stream, message)
    }

    /// Reads one message; all of it must arrive within `patience`, no matter how slowly it trickles
    /// in.
    fn receive<T: DeserializeOwned>(&mut self) -> Result<T, FrameError> {
        let limit = self.patience.map(|patience| Instant::now() + patience);
        let watched = match self.caller {
            OnBehalfOf::Person => peer::process(&self.stream),
            OnBehalfOf::Process => None,
        };
        frame::read(&mut Limited { stream: &self.stream, limit, watched })
    }

    /// Sends a request and returns the answer.
    pub fn request(&mut self, request: &Request) -> Result<Response, ClientError> {
        self.send(request).map_err(|error| self.silent(error))?;
        self.read()
    }

    /// Sends a request whose answers are read later.
    pub fn send_request(&mut self, request: &Request) -> Result<(), ClientError> {
        Ok(self.send(request)?)
    }

    /// Returns the next answer.
    pub fn read(&mut self) -> Result<Response, ClientError> {
        match self.receive().map_err(|error| self.silent(error))? {
            Response::Refused(refusal) => Err(ClientError::Refused(refusal)),
            response => Ok(response),
        }
    }

    /// Removes the time limit for answers.
    pub fn wait_for_ever(&mut self) {
        self.patience = None;
    }

    /// Resolves a decision.
    pub fn resolve(&mut self, resolve: ResolveDecision) -> Result<Resolution, ClientError> {
        match self.request(&Request::Resolve(resolve))? {
            Response::Resolved(resolution) => Ok(*resolution),
            _ => Err(ClientError::NoAnswer),
        }
    }

    /// Waits for a person's answer, for at most `patience`, and only until `interrupted` becomes
    /// readable.
    pub fn ask(
        &mut self,
        ask: &Ask,
        patience: Duration,
        interrupted: impl AsFd,
    ) -> Result<Resolution, ClientError> {
        let end = Instant::now() + patience;
        self.patience = Some(patience.min(ANSWER_LIMIT));
        self.send(&Request::Ask(Box::new(ask.clone())))?;
        let mut both = [
            PollFd::new(&self.stream, PollFlags::IN),
            PollFd::from_borrowed_fd(interrupted.as_fd(), PollFlags::IN),
        ];
        // A signal meant for this process makes `interrupted` readable; any other, such as a
        // child's exit, is irrelevant here.
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let polled = poll(&mut both, Timespec::try_from(left).ok().as_ref());
            if polled != Err(Errno::INTR) {
                break;
            }
        }
        if both[0].revents().is_empty() {
            return Err(ClientError::NoAnswer);
        }
        self.patience = Some(end.saturating_duration_since(Instant::now()).min(ANSWER_LIMIT));
        match self.read()? {
            Response::Resolved(resolution) => Ok(*resolution),
            _ => Err(ClientError::NoAnswer),
        }
    }
}

/// Readable when the next answer has arrived: nothing of it is read ahead.
impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// A stream that is read until a deadline.
struct Limited<'stream> {
    stream: &'stream UnixStream,
    limit: Option<Instant>,
    /// A process that is not waited for while it is suspended.
    watched: Option<u32>,
}

impl Read for Limited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.limit.map(|limit| limit.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let Some(process) = self.watched else {
                self.stream.set_read_timeout(left)?;
                return self.stream.read(buffer);
            };
            let turn = left.map_or(LOOK_EVERY, |left| left.min(LOOK_EVERY));
            self.stream.set_read_timeout(Some(turn))?;
            match self.stream.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if is_stopped(process) {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                read => return read,
            }
        }
    }
}

/// Connects, waiting at most `patience` for a slot in a full queue: a suspended daemon does not
/// accept connections.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn connect_within(path: &Path, patience: Duration) -> Result<UnixStream, Errno> {
    use rustix::net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
    };

    let limit = Instant::now() + patience;
    let address = SocketAddrUnix::new(path)?;
    loop {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        match connect(&socket, &address) {
            Ok(()) => {
                let stream = UnixStream::from(socket);
                let blocking = stream.set_nonblocking(false);
                return blocking.map(|()| stream).map_err(|_| Errno::IO);
            }
            Err(Errno::AGAIN) if Instant::now() < limit => std::thread::sleep(QUEUE_PAUSE),
            Err(error) => return Err(error),
        }
    }
}

/// Connects. Only some systems let us limit how long that may take.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn connect_within(path: &Path, _patience: Duration) -> Result<UnixStream, Errno> {
    UnixStream::connect(path).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Returns whether a process is suspended, where the system reports it.
fn is_stopped(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}

fn silent(process: Option<u32>, is_stopped: bool) -> String {
    let process = process.map(|process| format!(" (process {process})")).unwrap_or_default();
    if is_stopped {
        format!("the daemon{process} is stopped and does not answer")
    } else {
        format!("the daemon{process} does not answer; it may be stopped or overloaded")
    }
}

impl ClientError {
    /// Returns whether asking again may help: the daemon is not running or shutting down, perhaps
    /// only for a moment.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::NotRunning | Self::Silent { .. } | Self::Frame(FrameError::Io(_)) => true,
            Self::Refused(refusal) => {
                matches!(refusal.code, RefusalCode::Busy | RefusalCode::Store)
            }
            _ => false,
        }
    }
}

fn is_cut_off(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn one_that_does_not_answer_is_named() {
        let state = tempfile::tempdir().unwrap();
        let folder = DaemonFolder::in_state_dir(state.path());
        folder.make().unwrap();
        assert!(matches!(Client::connect(&folder), Err(ClientError::NotRunning)));
        let _listener = UnixListener::bind(folder.socket()).unwrap();
        let error = Client::connect_within(&folder, Duration::from_millis(50)).unwrap_err();
        assert!(error.may_pass(), "a process tries again");
        let words = error.to_string();
        if cfg!(target_os = "linux") {
            let expected = format!(
                "the daemon (process {}) does not answer; it may be stopped or overloaded",
                std::process::id()
            );
            assert_eq!(words, expected);
        }
        assert!(words.contains("does not answer"), "{words}");
    }

    #[test]
    fn one_that_does_not_even_greet_is_not_waited_for_longer_on_behalf_of_a_person() {
        let state = tempfile::tempdir().unwrap();
        let folder = DaemonFolder::in_state_dir(state.path());
        folder.make().unwrap();
        let _listener = UnixListener::bind(folder.socket()).unwrap();
        let began = Instant::now();
        let error = Client::connect(&folder).unwrap_err();
        assert!(matches!(error, ClientError::Silent { is_stopped: false, .. }), "{error}");
        assert!(began.elapsed() < ANSWER_LIMIT, "{:?}", began.elapsed());
    }
}

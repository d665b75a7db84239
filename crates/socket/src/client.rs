//! A client of the daemon: synchronous, for commands and for hook processes.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use anyhook_model::Resolution;
use anyhook_model::daemon::{
    Ask, Hello, PROTOCOL_VERSION, Refusal, RefusalCode, Request, Resolve, Response,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::folder::{Folder, FolderError};
use crate::frame::{self, FrameError};
use crate::peer;

/// The daemon answers at once, or something is wrong with it.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// A daemon that was just started is there after this, or something is wrong.
const START_LIMIT: Duration = Duration::from_secs(10);

/// No wait is shorter: none at all would mean for ever.
const LEAST: Duration = Duration::from_millis(1);

/// A connection to the daemon.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    /// How long an answer may take; none for however long.
    patience: Option<Duration>,
}

/// Why the daemon cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// It does not run.
    #[error("the daemon does not run")]
    NotRunning,
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// It cannot be spoken to.
    #[error("the daemon cannot be reached: {0}")]
    Frame(#[from] FrameError),
    /// It speaks another version.
    #[error("the daemon is of another version ({theirs}; this is {ours})")]
    Version {
        /// The daemon's version.
        theirs: String,
        /// Ours.
        ours: String,
    },
    /// Whoever answers is somebody else.
    #[error("the socket belongs to another user's process")]
    Stranger,
    /// It does not want to.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// It says something that is no answer.
    #[error("the daemon gave no answer to this")]
    NoAnswer,
    /// It could not be started.
    #[error("the daemon could not be started: {0}")]
    NotStarted(String),
}

impl Client {
    /// Connects to the daemon that runs.
    pub fn connect(folder: &Folder) -> Result<Self, ClientError> {
        Self::connect_within(folder, ANSWER_LIMIT)
    }

    /// As [`connect`](Self::connect), for those who cannot wait: every answer must come within
    /// `patience`.
    pub fn connect_within(folder: &Folder, patience: Duration) -> Result<Self, ClientError> {
        folder.check_socket_path()?;
        Self::connect_to(&folder.socket(), patience)
    }

    fn connect_to(socket: &Path, patience: Duration) -> Result<Self, ClientError> {
        let stream = match UnixStream::connect(socket) {
            Ok(stream) => stream,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                ) =>
            {
                return Err(ClientError::NotRunning);
            }
            Err(error) => return Err(FrameError::from(error).into()),
        };
        // A daemon of somebody else could tell lies about our agents.
        if !peer::is_ours(&stream) {
            return Err(ClientError::Stranger);
        }
        let mut client = Self { stream, patience: Some(patience) };
        let theirs: Hello = match client.send(&Hello::ours()).and_then(|()| client.receive()) {
            // It was about to end.
            Err(FrameError::Io(error)) if is_cut_off(&error) => {
                return Err(ClientError::NotRunning);
            }
            greeted => greeted?,
        };
        if theirs.protocol != PROTOCOL_VERSION {
            return Err(ClientError::Version {
                theirs: theirs.anyhook,
                ours: Hello::ours().anyhook,
            });
        }
        Ok(client)
    }

    /// Connects to the daemon, after `start` has started one if none runs; all within `patience`.
    ///
    /// Of many who want it at once one starts it; the others wait for that one. What `start`
    /// returns ends well when the daemon listens, which is then no child of ours.
    pub fn connect_or(
        folder: &Folder,
        patience: Duration,
        start: impl FnOnce() -> io::Result<Child>,
    ) -> Result<Self, ClientError> {
        let limit = Instant::now() + patience.min(START_LIMIT);
        let left = || limit.saturating_duration_since(Instant::now()).max(LEAST);
        let connect = || Self::connect_within(folder, left().min(ANSWER_LIMIT));
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
                    // It listens: the next try will tell.
                    Ok(Some(status)) if status.success() => {}
                    _ => return Err(ClientError::NotStarted("it ended at once".to_owned())),
                },
                None => {
                    folder.make()?;
                    let turn = folder.take_turn_to_start();
                    // Whoever had the turn before may have started it by now.
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

    /// Reads a message that comes whole within the patience, however it drips.
    fn receive<T: DeserializeOwned>(&mut self) -> Result<T, FrameError> {
        let limit = self.patience.map(|patience| Instant::now() + patience);
        frame::read(&mut Limited { stream: &self.stream, limit })
    }

    /// Sends a request and returns the answer.
    pub fn request(&mut self, request: &Request) -> Result<Response, ClientError> {
        self.send(request)?;
        self.read()
    }

    /// Sends a request whose answers are read later.
    pub fn send_request(&mut self, request: &Request) -> Result<(), ClientError> {
        Ok(self.send(request)?)
    }

    /// Returns the next answer.
    pub fn read(&mut self) -> Result<Response, ClientError> {
        match self.receive()? {
            Response::Refused(refusal) => Err(ClientError::Refused(refusal)),
            response => Ok(response),
        }
    }

    /// Waits without end for what comes next.
    pub fn wait_for_ever(&mut self) {
        self.patience = None;
    }

    /// Makes a decision.
    pub fn resolve(&mut self, resolve: Resolve) -> Result<Resolution, ClientError> {
        match self.request(&Request::Resolve(resolve))? {
            Response::Resolved(resolution) => Ok(*resolution),
            _ => Err(ClientError::NoAnswer),
        }
    }

    /// Waits for a person's answer, for `patience` at most, and only until something can be read
    /// from `interrupted`.
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
        // A signal that means us is seen in `interrupted`; another one, as of a child's end, is not
        // about this.
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

/// Readable when the next answer is there: no byte of it is read ahead.
impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// A stream that is read until a moment and not longer.
struct Limited<'stream> {
    stream: &'stream UnixStream,
    limit: Option<Instant>,
}

impl Read for Limited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.limit.map(|limit| limit.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(left)?;
        self.stream.read(buffer)
    }
}

impl ClientError {
    /// Tells whether asking again may help: the daemon is gone or going, perhaps for a moment.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::NotRunning | Self::Frame(FrameError::Io(_)) => true,
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

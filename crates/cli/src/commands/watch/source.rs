//! Events from the daemon, in order and each once, also when it is away for a while.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhook_model::daemon::{RefusalCode, Request, Response, Told};
use anyhook_model::exit_code;
use anyhook_socket::frame::FrameError;
use anyhook_socket::{Client, ClientError};
use jiff::Timestamp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::daemon::{connect, connect_if_it_runs, status};
use crate::environment::Environment;
use crate::error::Trouble;
use crate::ui::{Out, Tone};

/// How often a daemon that is away is looked for.
const TRY_EVERY: Duration = Duration::from_millis(100);

/// Where to begin.
#[derive(Clone, Copy, Debug)]
pub enum Begin {
    /// With what happens next.
    Now,
    /// After this number.
    After(u64),
    /// With what was heard since then.
    Since(Timestamp),
}

/// What comes next.
#[derive(Debug)]
pub enum Next {
    /// An event.
    Told(Box<Told>),
    /// Nobody reads our output any more.
    Closed,
    /// We are to end.
    Signal(i32),
    /// Nothing happened for the time that was given.
    Quiet,
}

/// What ended a wait.
enum Woken {
    Readable,
    Ends(Next),
    Time,
}

/// The events.
pub struct Source<'all> {
    environment: &'all Environment,
    client: Option<Client>,
    /// The last event that was returned: its number and its place among those that share it.
    last: Option<(u64, u32)>,
    /// When that was heard.
    heard: Timestamp,
    /// Where following begins if nothing was returned yet.
    begin: Begin,
    /// Where the daemon let us go last.
    let_go_at: Option<(u64, u32)>,
    /// Whether what comes next is no longer remembered by its number.
    is_forgotten: bool,
    /// Whether the person was told that the daemon is away.
    is_away: bool,
    signals: Vec<(i32, UnixStream)>,
}

impl<'all> Source<'all> {
    /// Begins to follow; starts the daemon if it does not run.
    pub fn open(begin: Begin, environment: &'all Environment) -> Result<Self, Trouble> {
        let mut client = connect(environment)?;
        let newest = status(&mut client)?.events;
        let last = match begin {
            // By its number, so that nothing is missed if the daemon ends before the first event.
            Begin::Now => Some((newest, u32::MAX)),
            Begin::After(number) if number > newest => {
                let why = format!("there is no event {number} yet: the last one is {newest}");
                return Err(
                    Trouble::input(why).hint("leave out --after to begin with the next one")
                );
            }
            Begin::After(number) => Some((number, u32::MAX)),
            Begin::Since(_) => None,
        };
        let mut source = Self {
            environment,
            client: None,
            last,
            heard: match begin {
                Begin::After(_) => Timestamp::UNIX_EPOCH,
                Begin::Now | Begin::Since(_) => anyhook_engine::now(),
            },
            begin,
            let_go_at: None,
            is_forgotten: false,
            is_away: false,
            signals: Vec::new(),
        };
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            let (ours, theirs) = UnixStream::pair()?;
            pipe::register(signal, theirs)?;
            source.signals.push((signal, ours));
        }
        source.follow(client)?;
        Ok(source)
    }

    /// Returns the next event, however long it takes.
    pub fn next(&mut self) -> Result<Next, Trouble> {
        self.next_within(None)
    }

    /// Returns the next event, or that none came in time.
    pub fn next_within(&mut self, limit: Option<Duration>) -> Result<Next, Trouble> {
        let end = limit.map(|limit| Instant::now() + limit);
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let Some(client) = self.client.take() else {
                let pause = left.map_or(TRY_EVERY, |left| left.min(TRY_EVERY));
                match self.wait(None, Some(pause))? {
                    Woken::Ends(next) => return Ok(next),
                    Woken::Readable | Woken::Time => self.come_back()?,
                }
                if self.client.is_none() && left.is_some_and(|left| left.is_zero()) {
                    return Ok(Next::Quiet);
                }
                continue;
            };
            let woken = self.wait(Some(client.as_fd()), left)?;
            self.client = Some(client);
            match woken {
                Woken::Ends(next) => return Ok(next),
                Woken::Time if left.is_some_and(|left| left.is_zero()) => return Ok(Next::Quiet),
                Woken::Time => {}
                Woken::Readable => {
                    if let Some(told) = self.read()? {
                        return Ok(Next::Told(told));
                    }
                }
            }
        }
    }

    /// Reads an answer that is there; none if it is known already, or the daemon has gone.
    fn read(&mut self) -> Result<Option<Box<Told>>, Trouble> {
        let Some(client) = &mut self.client else { return Ok(None) };
        match client.read() {
            Ok(Response::Told(told)) => {
                let name = (told.sequence, told.part);
                if self.last.is_some_and(|last| name <= last) {
                    return Ok(None);
                }
                self.last = Some(name);
                self.heard = told.heard;
                self.is_forgotten = false;
                Ok(Some(told))
            }
            Ok(_) => Err(ClientError::NoAnswer.into()),
            // Too slow for what comes: the rest is there, by its number.
            Err(ClientError::Refused(refusal)) if refusal.code == RefusalCode::Busy => {
                self.client = None;
                if self.last.is_some() && self.let_go_at == self.last {
                    note("some events were missed: they are no longer remembered")?;
                    self.is_forgotten = true;
                }
                self.let_go_at = self.last;
                self.come_back()?;
                Ok(None)
            }
            Err(ClientError::Frame(FrameError::Io(_))) => {
                self.client = None;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Follows again if the daemon is there.
    fn come_back(&mut self) -> Result<(), Trouble> {
        let newest = match connect_if_it_runs(self.environment)? {
            Some(mut client) => match status(&mut client) {
                Ok(status) => Some((client, status.events)),
                // It is about to end, or has only just begun.
                Err(_) => None,
            },
            None => None,
        };
        let Some((client, newest)) = newest else {
            if !self.is_away {
                self.is_away = true;
                note("the daemon has ended: waiting until it is started again")?;
            }
            return Ok(());
        };
        self.is_away = false;
        if self.last.is_some_and(|(number, _)| number > newest) {
            note("the daemon's store was replaced: its events are numbered anew")?;
            self.last = Some((0, u32::MAX));
        }
        self.follow(client)
    }

    fn follow(&mut self, mut client: Client) -> Result<(), Trouble> {
        let request = match (self.last, self.begin) {
            _ if self.is_forgotten => Request::Follow { after: None, since: Some(self.heard) },
            // What shares the last number may have come in part.
            (Some((number, part)), _) => {
                let after = if part == u32::MAX { number } else { number.saturating_sub(1) };
                Request::Follow { after: Some(after), since: None }
            }
            (None, Begin::Since(since)) => Request::Follow { after: None, since: Some(since) },
            (None, _) => Request::Follow { after: None, since: None },
        };
        client.send_request(&request)?;
        self.client = Some(client);
        Ok(())
    }

    /// Waits for the daemon, for a signal, for the end of whoever reads our output, or for a time.
    fn wait(
        &self,
        daemon: Option<BorrowedFd<'_>>,
        limit: Option<Duration>,
    ) -> Result<Woken, Trouble> {
        let stdout = io::stdout();
        // Nothing is asked for: that the other end is closed is always told.
        let mut all = vec![PollFd::new(&stdout, PollFlags::empty())];
        all.extend(self.signals.iter().map(|(_, ours)| PollFd::new(ours, PollFlags::IN)));
        all.extend(daemon.map(|daemon| PollFd::from_borrowed_fd(daemon, PollFlags::IN)));
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        match poll(&mut all, limit.as_ref()) {
            Ok(0) | Err(Errno::INTR) => return Ok(Woken::Time),
            Ok(_) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let is_ready = |index: usize| !all[index].revents().is_empty();
        for (index, (signal, ours)) in self.signals.iter().enumerate() {
            if is_ready(index + 1) {
                let _ = (&*ours).read(&mut [0]);
                return Ok(Woken::Ends(Next::Signal(*signal)));
            }
        }
        if is_ready(0) {
            return Ok(Woken::Ends(Next::Closed));
        }
        Ok(Woken::Readable)
    }
}

/// Ends by the signal that came: whoever started us is to see that it was the signal.
pub fn end_by(signal: i32, out: &mut Out) -> Result<u8, Trouble> {
    out.flush()?;
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    Ok(exit_code::OK)
}

fn note(text: &str) -> io::Result<()> {
    Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, text)])
}

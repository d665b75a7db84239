//! Events from the daemon, in order and each once, also when it is away for a while.

use std::os::fd::{AsFd, BorrowedFd};

use anyhook_model::daemon::{PublishedEvent, RefusalCode, Request, Response};
use jiff::Timestamp;

use crate::client::{Client, ClientError};
use crate::folder::DaemonFolder;
use crate::frame::FrameError;

/// Where to begin.
#[derive(Clone, Copy, Debug)]
pub enum SubscriptionStart {
    /// With what happens next.
    Now,
    /// After this number.
    After(u64),
    /// With what was heard since then.
    Since(Timestamp),
}

/// Why events cannot be followed from there.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// There is no event of this number yet.
    #[error("there is no event {number} yet: the last one is {newest}")]
    NotYet {
        /// The number that was asked for.
        number: u64,
        /// The last one.
        newest: u64,
    },
    /// The daemon cannot be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// What is worth telling a person who follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionNote {
    /// The daemon has ended.
    Away,
    /// Events that are no longer remembered were missed.
    Missed,
    /// The daemon's store was replaced: its events are numbered anew.
    Renumbered,
}

/// A subscription to the events of a daemon.
#[derive(Debug)]
pub struct Subscription {
    folder: DaemonFolder,
    client: Option<Client>,
    /// The last event that was returned: its number and its place among those that share it.
    last: Option<(u64, u32)>,
    /// When that was heard.
    heard: Timestamp,
    /// Where following begins if nothing was returned yet.
    begin: SubscriptionStart,
    /// Where the daemon let us go last.
    let_go_at: Option<(u64, u32)>,
    /// Whether what comes next is no longer remembered by its number.
    is_forgotten: bool,
    /// Whether the person was told that the daemon is away.
    is_away: bool,
    notes: Vec<SubscriptionNote>,
}

impl Subscription {
    /// Begins to follow over a connection to the daemon of this folder.
    pub fn begin(
        folder: DaemonFolder,
        mut client: Client,
        begin: SubscriptionStart,
        now: Timestamp,
    ) -> Result<Self, BeginError> {
        let newest = newest(&mut client)?;
        let last = match begin {
            // By its number, so that nothing is missed if the daemon ends before the first event.
            SubscriptionStart::Now => Some((newest, u32::MAX)),
            SubscriptionStart::After(number) if number > newest => {
                return Err(BeginError::NotYet { number, newest });
            }
            SubscriptionStart::After(number) => Some((number, u32::MAX)),
            SubscriptionStart::Since(_) => None,
        };
        let heard = match begin {
            SubscriptionStart::After(_) => Timestamp::UNIX_EPOCH,
            SubscriptionStart::Now | SubscriptionStart::Since(_) => now,
        };
        let mut subscription = Self {
            folder,
            client: None,
            last,
            heard,
            begin,
            let_go_at: None,
            is_forgotten: false,
            is_away: false,
            notes: Vec::new(),
        };
        subscription.follow(client)?;
        Ok(subscription)
    }

    /// Returns what can be read from when the daemon tells something; nothing while it is away.
    pub fn connection(&self) -> Option<BorrowedFd<'_>> {
        self.client.as_ref().map(AsFd::as_fd)
    }

    /// Returns what is worth telling, once.
    pub fn take_notes(&mut self) -> Vec<SubscriptionNote> {
        std::mem::take(&mut self.notes)
    }

    /// Reads an event that is there; none if it is known already, or the daemon has gone.
    pub fn read(&mut self) -> Result<Option<Box<PublishedEvent>>, ClientError> {
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
            Ok(_) => Err(ClientError::NoAnswer),
            // Too slow for what comes: the rest is there, by its number.
            Err(ClientError::Refused(refusal)) if refusal.code == RefusalCode::Busy => {
                self.client = None;
                if self.last.is_some() && self.let_go_at == self.last {
                    self.notes.push(SubscriptionNote::Missed);
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
            Err(error) => Err(error),
        }
    }

    /// Follows again if the daemon is there.
    pub fn come_back(&mut self) -> Result<(), ClientError> {
        let found = match Client::connect(&self.folder) {
            // One that does not tell is about to end, or has only just begun.
            Ok(mut client) => newest(&mut client).ok().map(|newest| (client, newest)),
            Err(ClientError::NotRunning) => None,
            Err(error) => return Err(error),
        };
        let Some((client, newest)) = found else {
            if !self.is_away {
                self.is_away = true;
                self.notes.push(SubscriptionNote::Away);
            }
            return Ok(());
        };
        self.is_away = false;
        if self.last.is_some_and(|(number, _)| number > newest) {
            self.notes.push(SubscriptionNote::Renumbered);
            self.last = Some((0, u32::MAX));
        }
        self.follow(client)
    }

    fn follow(&mut self, mut client: Client) -> Result<(), ClientError> {
        let request = match (self.last, self.begin) {
            _ if self.is_forgotten => Request::Follow { after: None, since: Some(self.heard) },
            // What shares the last number may have come in part.
            (Some((number, part)), _) => {
                let after = if part == u32::MAX { number } else { number.saturating_sub(1) };
                Request::Follow { after: Some(after), since: None }
            }
            (None, SubscriptionStart::Since(since)) => {
                Request::Follow { after: None, since: Some(since) }
            }
            (None, _) => Request::Follow { after: None, since: None },
        };
        client.send_request(&request)?;
        self.client = Some(client);
        Ok(())
    }
}

/// Returns the number of the last event.
fn newest(client: &mut Client) -> Result<u64, ClientError> {
    match client.request(&Request::Status)? {
        Response::Status(status) => Ok(status.events),
        _ => Err(ClientError::NoAnswer),
    }
}

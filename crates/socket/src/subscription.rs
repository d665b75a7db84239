//! A subscription to the daemon's events: in order and each once, even if the daemon is away for a
//! while.

use std::os::fd::{AsFd, BorrowedFd};

use anyhook_model::daemon::{PublishedEvent, RefusalCode, Request, Response};
use jiff::Timestamp;

use crate::client::{Client, ClientError};
use crate::folder::DaemonFolder;
use crate::frame::FrameError;

/// Where a subscription begins.
#[derive(Clone, Copy, Debug)]
pub enum SubscriptionStart {
    /// With the next event.
    Now,
    /// After the event with this number.
    After(u64),
    /// With the events since then.
    Since(Timestamp),
}

/// Why events cannot be followed from there.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// There is no event with this number yet.
    #[error("there is no event {number} yet: the last one is {newest}")]
    NotYet {
        /// The requested number.
        number: u64,
        /// The number of the last event.
        newest: u64,
    },
    /// The daemon cannot be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// What a person who follows events should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionNote {
    /// The daemon has exited.
    Away,
    /// Events were missed that are no longer stored.
    Missed,
    /// The daemon's store was replaced: event numbers start over.
    Renumbered,
}

/// A subscription to the events of a daemon.
#[derive(Debug)]
pub struct Subscription {
    folder: DaemonFolder,
    client: Option<Client>,
    /// The last event that was returned: its number and its position among those with the same
    /// number.
    last: Option<(u64, u32)>,
    /// The time of that event.
    heard: Timestamp,
    /// Where to begin if nothing was returned yet.
    begin: SubscriptionStart,
    /// The last event returned when the daemon last dropped us for being too slow.
    let_go_at: Option<(u64, u32)>,
    /// Whether the next events are no longer available by number.
    is_forgotten: bool,
    /// Whether the person was told that the daemon is away.
    is_away: bool,
    notes: Vec<SubscriptionNote>,
}

impl Subscription {
    /// Begins to follow events over a connection to the daemon of this folder.
    pub fn begin(
        folder: DaemonFolder,
        mut client: Client,
        begin: SubscriptionStart,
        now: Timestamp,
    ) -> Result<Self, BeginError> {
        let newest = newest(&mut client)?;
        let last = match begin {
            // By number, so that nothing is missed if the daemon exits before the first event.
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

    /// Returns the descriptor that becomes readable when the daemon sends something; `None` while
    /// it is away.
    pub fn connection(&self) -> Option<BorrowedFd<'_>> {
        self.client.as_ref().map(AsFd::as_fd)
    }

    /// Returns the notes since the last call.
    pub fn take_notes(&mut self) -> Vec<SubscriptionNote> {
        std::mem::take(&mut self.notes)
    }

    /// Reads the next event; `None` if it was already returned, or the daemon has disconnected.
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
            // We were too slow: the rest can be read by number.
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

    /// Resumes following if the daemon is back.
    pub fn come_back(&mut self) -> Result<(), ClientError> {
        let found = match Client::connect(&self.folder) {
            // One that does not answer is about to exit, or has only just started.
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
            // Events that share the last number may have been received only in part.
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

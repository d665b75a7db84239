//! Waits for events from the daemon, for a signal, and for the reader of our output to close it.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhook_engine::now;
use anyhook_model::daemon::PublishedEvent;
use anyhook_model::exit_code;
use anyhook_socket::subscription::{BeginError, Subscription, SubscriptionNote};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::daemon::{connect, folder};
use crate::environment::Environment;
use crate::error::CommandError;
use crate::ui::{Out, Tone};

pub use anyhook_socket::subscription::SubscriptionStart;

/// How often a daemon that is gone is looked for.
const TRY_EVERY: Duration = Duration::from_millis(100);

/// The result of a wait.
#[derive(Debug)]
pub enum WatchUpdate {
    /// An event.
    Told(Box<PublishedEvent>),
    /// The reader has closed our output.
    Closed,
    /// A signal asks us to end.
    Signal(i32),
    /// Nothing happened within the given time.
    Quiet,
}

/// What ended a wait.
enum WakeReason {
    Readable,
    Ends(WatchUpdate),
    Time,
}

/// The source of events.
pub struct EventSource {
    subscription: Subscription,
    signals: Vec<(i32, UnixStream)>,
}

impl EventSource {
    /// Starts to follow; starts the daemon if it does not run.
    pub fn open(begin: SubscriptionStart, environment: &Environment) -> Result<Self, CommandError> {
        let client = connect(environment)?;
        let folder = folder(&environment.places)?;
        let subscription =
            Subscription::begin(folder, client, begin, now()).map_err(|error| match error {
                BeginError::NotYet { .. } => CommandError::input(error.to_string())
                    .hint("omit --after to start with the next one"),
                BeginError::Client(error) => error.into(),
            })?;
        let mut signals = Vec::new();
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            let (ours, theirs) = UnixStream::pair()?;
            pipe::register(signal, theirs)?;
            signals.push((signal, ours));
        }
        Ok(Self { subscription, signals })
    }

    /// Returns the next event, however long it takes.
    pub fn next(&mut self) -> Result<WatchUpdate, CommandError> {
        self.next_within(None)
    }

    /// Returns the next event, or that none came in time.
    pub fn next_within(&mut self, limit: Option<Duration>) -> Result<WatchUpdate, CommandError> {
        let end = limit.map(|limit| Instant::now() + limit);
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let is_over = left.is_some_and(|left| left.is_zero());
            let is_away = self.subscription.connection().is_none();
            let pause = if is_away { Some(left.unwrap_or(TRY_EVERY).min(TRY_EVERY)) } else { left };
            match self.wait(pause)? {
                WakeReason::Ends(next) => return Ok(next),
                _ if is_away => {
                    self.subscription.come_back()?;
                    self.tell_notes()?;
                    if self.subscription.connection().is_none() && is_over {
                        return Ok(WatchUpdate::Quiet);
                    }
                }
                WakeReason::Time if is_over => return Ok(WatchUpdate::Quiet),
                WakeReason::Time => {}
                WakeReason::Readable => {
                    let told = self.subscription.read()?;
                    self.tell_notes()?;
                    if let Some(told) = told {
                        return Ok(WatchUpdate::Told(told));
                    }
                }
            }
        }
    }

    fn tell_notes(&mut self) -> io::Result<()> {
        for note in self.subscription.take_notes() {
            let text = match note {
                SubscriptionNote::Away => "the daemon stopped; waiting for it to restart",
                SubscriptionNote::Missed => "some events were missed: they are no longer kept",
                SubscriptionNote::Renumbered => {
                    "the daemon's store was replaced: event numbers start over"
                }
            };
            Out::stderr().line(&[(Tone::Warn, "warning: "), (Tone::Plain, text)])?;
        }
        Ok(())
    }

    /// Waits for the daemon, for a signal, for the reader of our output to close it, or for a time.
    fn wait(&self, limit: Option<Duration>) -> Result<WakeReason, CommandError> {
        let stdout = io::stdout();
        // No events are requested: a closed other end is always reported.
        let mut all = vec![PollFd::new(&stdout, PollFlags::empty())];
        all.extend(self.signals.iter().map(|(_, ours)| PollFd::new(ours, PollFlags::IN)));
        let daemon = self.subscription.connection();
        all.extend(daemon.map(|daemon| PollFd::from_borrowed_fd(daemon, PollFlags::IN)));
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        match poll(&mut all, limit.as_ref()) {
            Ok(0) | Err(Errno::INTR) => return Ok(WakeReason::Time),
            Ok(_) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let is_ready = |index: usize| !all[index].revents().is_empty();
        for (index, (signal, ours)) in self.signals.iter().enumerate() {
            if is_ready(index + 1) {
                let _ = (&*ours).read(&mut [0]);
                return Ok(WakeReason::Ends(WatchUpdate::Signal(*signal)));
            }
        }
        if is_ready(0) {
            return Ok(WakeReason::Ends(WatchUpdate::Closed));
        }
        Ok(WakeReason::Readable)
    }
}

/// Ends by the signal that came, so that the parent process sees that it was the signal.
pub fn end_by(signal: i32, out: &mut Out) -> Result<u8, CommandError> {
    out.flush()?;
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    Ok(exit_code::OK)
}

//! The page in the browser, as far as the daemon is concerned: it can be opened and closed.
//!
//! The page itself is a library of its own, which the program that runs the daemon brings along.
//! It sees the state only through a [`CoreHandle`]: whatever it does, no verdict needs it.

use std::fmt::Debug;
use std::pin::Pin;

use anyhook_model::daemon::{
    LanPage, OpenLan, OpenPage, PageLink, PairDevice, PairingState, Refusal, RefusalCode, Request,
    Response,
};
use tokio::sync::{mpsc, oneshot};

use crate::core::{CoreMessage, FollowStart, refusal};

pub use anyhook_model::daemon::PublishedEvent;

/// How many events may wait for the page; one that is further behind has to follow again.
const QUEUE: usize = 1024;

/// Something that will be there later.
pub type Later<'page, T> = Pin<Box<dyn Future<Output = T> + Send + 'page>>;

/// Serves the page.
pub trait PageServer: Debug + Send + Sync {
    /// Called once, before any other method.
    fn begin(&self, core: CoreHandle);

    /// Serves the page, if it is not served yet, and returns a link to it.
    fn open(&self, request: OpenPage) -> Later<'_, Result<PageLink, Refusal>>;

    /// Serves the page in the network, if it is not served there yet; begins a pairing if wanted.
    fn open_lan(&self, request: OpenLan) -> Later<'_, Result<LanPage, Refusal>>;

    /// Continues a pairing. Answers within a few seconds.
    fn pair(&self, request: PairDevice) -> Later<'_, Result<PairingState, Refusal>>;

    /// Stops serving it, and ends its sessions.
    fn close(&self) -> Later<'_, ()>;
}

/// What a client wants of the page.
pub(crate) enum PageRequest {
    Open(OpenPage),
    OpenLan(OpenLan),
    Pair(PairDevice),
    Close,
}

impl PageRequest {
    pub(crate) fn of(request: &Request) -> Option<Self> {
        match request {
            Request::OpenPage(open) => Some(Self::Open(open.clone())),
            Request::OpenLan(open) => Some(Self::OpenLan(open.clone())),
            Request::PairDevice(pair) => Some(Self::Pair(pair.clone())),
            Request::ClosePage { .. } => Some(Self::Close),
            _ => None,
        }
    }
}

/// Asks the daemon's loop from within the daemon.
#[derive(Clone, Debug)]
pub struct CoreHandle {
    messages: mpsc::Sender<CoreMessage>,
}

impl CoreHandle {
    pub(crate) fn new(messages: mpsc::Sender<CoreMessage>) -> Self {
        Self { messages }
    }

    /// Sends a request, and returns the answer. The request is a person's: whether it may be sent
    /// is for the caller to decide.
    pub async fn request(&self, request: Request) -> Response {
        let (answer, answered) = oneshot::channel();
        let message = CoreMessage::Request(request, None, answer);
        let sent = self.messages.send(message).await.is_ok();
        let answer = if sent { answered.await.ok() } else { None };
        let stops = || Response::Refused(refusal(RefusalCode::Busy, "the daemon is stopping"));
        answer.unwrap_or_else(stops)
    }

    /// Returns every event from now on, or after a number. The channel ends if the caller does not
    /// keep up.
    pub async fn follow(&self, after: Option<u64>) -> mpsc::Receiver<PublishedEvent> {
        let (sender, told) = mpsc::channel(QUEUE);
        let from = after.map_or(FollowStart::Now, FollowStart::After);
        // If the loop has ended, so has the channel.
        let _ = self.messages.send(CoreMessage::Follow(from, sender)).await;
        told
    }

    /// Journals that a device's request was refused, if the loop has time for it: a device must
    /// not delay it.
    pub fn device_refused(&self, about: String, why: String) {
        let _ = self.messages.try_send(CoreMessage::DeviceRefused(about, why));
    }

    /// Completes when the daemon stops.
    pub async fn stopped(&self) {
        self.messages.closed().await;
    }
}

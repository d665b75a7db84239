//! Clients that subscribe to all events.

use anyhook_model::daemon::PublishedEvent;
use tokio::sync::mpsc;

/// All subscribed clients.
#[derive(Debug, Default)]
pub struct Followers {
    all: Vec<mpsc::Sender<PublishedEvent>>,
}

impl Followers {
    /// Adds a follower that has all earlier events.
    pub fn join(&mut self, follower: mpsc::Sender<PublishedEvent>) {
        self.all.push(follower);
    }

    /// Sends events to all of them. One that does not keep up is dropped: it can resume by number.
    pub fn tell(&mut self, told: &[PublishedEvent]) {
        let send = |follower: &mpsc::Sender<PublishedEvent>| {
            told.iter().all(|told| follower.try_send(told.clone()).is_ok())
        };
        self.all.retain(send);
    }
}

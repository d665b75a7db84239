//! Clients that are told everything that happens.

use anyhook_model::daemon::PublishedEvent;
use tokio::sync::mpsc;

/// Everybody who follows.
#[derive(Debug, Default)]
pub struct Followers {
    all: Vec<mpsc::Sender<PublishedEvent>>,
}

impl Followers {
    /// Takes one in, who knows all that happened before.
    pub fn join(&mut self, follower: mpsc::Sender<PublishedEvent>) {
        self.all.push(follower);
    }

    /// Tells all of them. One that does not keep up is let go: it can read on by its number.
    pub fn tell(&mut self, told: &[PublishedEvent]) {
        let send = |follower: &mpsc::Sender<PublishedEvent>| {
            told.iter().all(|told| follower.try_send(told.clone()).is_ok())
        };
        self.all.retain(send);
    }
}

//! Browsers that may use the page: one-time links, and the sessions that they begin.
//!
//! A link is for one browser. If it is used a second time, someone else has seen it: the session
//! that it began ends, and both have to ask for a new one.
//!
//! Sessions survive the daemon: their digests are in the state folder.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhook_engine::atomic_file::AtomicFile;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// For how long a link can be used.
pub const LINK_LIFE: Duration = Duration::from_secs(120);
/// A session ends if it was not used for this long.
const IDLE: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How often the last use of a session is written down.
const NOTE_EVERY: SignedDuration = SignedDuration::from_mins(10);
/// More links at once are not remembered; the oldest is forgotten.
const LINKS: usize = 16;
/// More sessions at once are not kept; the one that was not used for the longest time ends.
const SESSIONS: usize = 32;

/// A browser that may use the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserSession {
    /// When it began.
    pub since: Timestamp,
    /// When it was last used.
    pub used: Timestamp,
    /// Who opened it.
    pub by: String,
}

#[derive(Debug)]
struct Link {
    digest: String,
    made: Instant,
    by: String,
    /// The digest of the session that it began.
    began: Option<String>,
}

/// The sessions and the links.
#[derive(Debug)]
pub struct Sessions {
    file: PathBuf,
    all: BTreeMap<String, BrowserSession>,
    links: Vec<Link>,
}

/// Why a link does not open the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// It is unknown, or too old.
    #[error("the link is not valid any more")]
    Unknown,
    /// It has been used before.
    #[error("the link was used before; the session that it opened has ended")]
    Used,
    /// The system has no random numbers.
    #[error("the system provides no random numbers")]
    NoRandom,
}

impl Sessions {
    /// Reads the sessions of an earlier daemon. A file that cannot be read means none.
    pub fn load(file: PathBuf) -> Self {
        let read = || serde_json::from_slice(&std::fs::read(&file).ok()?).ok();
        let all = read().unwrap_or_default();
        Self { file, all, links: Vec::new() }
    }

    /// Makes a link.
    pub fn new_link(&mut self, by: &str) -> Result<Secret, LinkError> {
        let secret = Secret::random().map_err(|_| LinkError::NoRandom)?;
        self.links.retain(|link| link.made.elapsed() < LINK_LIFE);
        if self.links.len() >= LINKS {
            self.links.remove(0);
        }
        let made = Instant::now();
        self.links.push(Link { digest: secret.digest(), made, by: by.to_owned(), began: None });
        Ok(secret)
    }

    /// Begins the session of a link.
    pub fn enter(&mut self, link: &Secret, now: Timestamp) -> Result<Secret, LinkError> {
        let digest = link.digest();
        let found = self.links.iter_mut().find(|link| link.digest == digest);
        let link = found.filter(|link| link.made.elapsed() < LINK_LIFE);
        let link = link.ok_or(LinkError::Unknown)?;
        if let Some(began) = link.began.take() {
            self.links.retain(|link| link.digest != digest);
            self.all.remove(&began);
            self.keep();
            return Err(LinkError::Used);
        }
        let session = Secret::random().map_err(|_| LinkError::NoRandom)?;
        link.began = Some(session.digest());
        let begun = BrowserSession { since: now, used: now, by: link.by.clone() };
        while self.all.len() >= SESSIONS {
            let oldest = self.all.iter().min_by_key(|(_, session)| session.used);
            let Some(oldest) = oldest.map(|(digest, _)| digest.clone()) else { break };
            self.all.remove(&oldest);
        }
        self.all.insert(session.digest(), begun);
        self.keep();
        Ok(session)
    }

    /// Returns the session of a secret, and notes that it is used.
    pub fn find(&mut self, secret: &Secret, now: Timestamp) -> Option<BrowserSession> {
        let digest = secret.digest();
        let session = self.all.get_mut(&digest)?;
        let idle = now.duration_since(session.used);
        if idle > IDLE {
            self.all.remove(&digest);
            self.keep();
            return None;
        }
        let found = session.clone();
        if idle > NOTE_EVERY {
            session.used = now;
            self.keep();
        }
        Some(found)
    }

    /// Ends a session.
    pub fn leave(&mut self, secret: &Secret) {
        if self.all.remove(&secret.digest()).is_some() {
            self.keep();
        }
    }

    /// Ends every session and forgets every link.
    pub fn clear(&mut self) {
        self.links.clear();
        self.all.clear();
        self.keep();
    }

    /// Returns whether someone may use the page.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn keep(&self) {
        let write = || -> io::Result<()> {
            let bytes = serde_json::to_vec(&self.all).map_err(io::Error::other)?;
            AtomicFile::new(&self.file).replace(&bytes)
        };
        // Without the file, they are valid until the daemon ends.
        if let Err(error) = write() {
            tracing::warn!("cannot write {}: {error}", self.file.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn later(hours: i64) -> Timestamp {
        NOW + SignedDuration::from_hours(hours)
    }

    #[test]
    fn a_link_opens_the_page_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sessions.json");
        let mut sessions = Sessions::load(file.clone());
        let link = sessions.new_link("ann").unwrap();
        let session = sessions.enter(&link, NOW).unwrap();
        assert_eq!(sessions.find(&session, NOW).unwrap().by, "ann");
        assert!(sessions.find(&link, NOW).is_none(), "a link is no session");
        // The next daemon knows it, although the file does not contain it.
        assert!(!std::fs::read_to_string(&file).unwrap().contains(session.text()));
        assert!(Sessions::load(file.clone()).find(&session, NOW).is_some());
        // Someone else has the link: neither of them gets in.
        assert_eq!(sessions.enter(&link, NOW), Err(LinkError::Used));
        assert!(sessions.find(&session, NOW).is_none());
        assert!(Sessions::load(file).find(&session, NOW).is_none());
        assert_eq!(sessions.enter(&link, NOW), Err(LinkError::Unknown));
        let guessed = Secret::random().unwrap();
        assert_eq!(sessions.enter(&guessed, NOW), Err(LinkError::Unknown));
    }

    #[test]
    fn a_session_ends_when_nobody_uses_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut sessions = Sessions::load(folder.path().join("sessions.json"));
        let mut enter = |at| {
            let link = sessions.new_link("ann").unwrap();
            sessions.enter(&link, at).unwrap()
        };
        let (used, unused) = (enter(NOW), enter(NOW));
        assert!(sessions.find(&used, later(7 * 24)).is_some());
        assert!(sessions.find(&used, later(14 * 24)).is_some());
        assert!(sessions.find(&unused, later(14 * 24)).is_none());
        sessions.leave(&used);
        assert!(sessions.find(&used, later(14 * 24)).is_none());
    }

    #[test]
    fn links_and_sessions_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let mut sessions = Sessions::load(folder.path().join("sessions.json"));
        let first = sessions.new_link("ann").unwrap();
        for _ in 0..LINKS {
            sessions.new_link("ann").unwrap();
        }
        assert_eq!(sessions.enter(&first, NOW), Err(LinkError::Unknown));
        let all: Vec<Secret> = (0..=SESSIONS)
            .map(|hours| {
                let link = sessions.new_link("ann").unwrap();
                sessions.enter(&link, later(i64::try_from(hours).unwrap())).unwrap()
            })
            .collect();
        assert_eq!(sessions.all.len(), SESSIONS);
        assert!(sessions.find(&all[0], later(40)).is_none());
        assert!(sessions.find(&all[SESSIONS], later(40)).is_some());
    }
}

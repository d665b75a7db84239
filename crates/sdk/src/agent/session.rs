//! Sessions: who talks to which agent, and the history of messages.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::message::Message;
use crate::function::{BoxFuture, HookError};

/// Which conversation a run belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionContext {
    /// The agent's id.
    pub agent_id: String,
    /// The session's id.
    pub session_id: String,
    /// The user of the session, if known.
    pub user_id: Option<String>,
}

impl SessionContext {
    /// Makes the context of a session with an agent.
    pub fn new(agent_id: impl Into<String>, session_id: impl Into<String>) -> Self {
        Self { agent_id: agent_id.into(), session_id: session_id.into(), user_id: None }
    }

    /// Sets the user of the session.
    pub fn user(mut self, user_id: impl Into<String>) -> Self {
        self.user_id = Some(user_id.into());
        self
    }
}

/// Stores the messages of sessions.
pub trait History: Send + Sync {
    /// Returns the messages of a session, oldest first.
    fn load<'a>(
        &'a self,
        session: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Vec<Message>, HookError>>;

    /// Adds messages to a session.
    fn append<'a>(
        &'a self,
        session: &'a SessionContext,
        messages: &'a [Message],
    ) -> BoxFuture<'a, Result<(), HookError>>;
}

/// A history in memory.
#[derive(Debug, Default)]
pub struct MemoryHistory {
    sessions: Mutex<HashMap<SessionContext, Vec<Message>>>,
}

impl History for MemoryHistory {
    fn load<'a>(
        &'a self,
        session: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Vec<Message>, HookError>> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let messages = sessions.get(session).cloned().unwrap_or_default();
        Box::pin(async move { Ok(messages) })
    }

    fn append<'a>(
        &'a self,
        session: &'a SessionContext,
        messages: &'a [Message],
    ) -> BoxFuture<'a, Result<(), HookError>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.entry(session.clone()).or_default().extend_from_slice(messages);
        Box::pin(async { Ok(()) })
    }
}

/// The sessions that have started and not ended.
#[derive(Debug, Default)]
pub(super) struct OpenSessions(Mutex<BTreeSet<SessionContext>>);

impl OpenSessions {
    /// Adds a session; returns whether it is new.
    pub(super) fn begin(&self, session: &SessionContext) -> bool {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !open.contains(session) && open.insert(session.clone())
    }

    /// Removes a session; returns whether it was there.
    pub(super) fn close(&self, session: &SessionContext) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(session)
    }

    pub(super) fn open(&self) -> Vec<SessionContext> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

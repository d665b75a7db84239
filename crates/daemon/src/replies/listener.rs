//! What the listeners of all services have in common: they hand codes to the core, and come back
//! after growing pauses.

use std::time::Duration;

use anyhook_model::notice::Channel;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

use super::PhoneReply;
use crate::core::CoreMessage;
use crate::notice::text;

/// The pause after a first failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// A connection that lasted this long was a good one.
const GOOD: Duration = Duration::from_secs(30);

/// Hands answers to the core.
#[derive(Debug)]
pub struct Listener {
    messages: mpsc::Sender<CoreMessage>,
}

impl Listener {
    /// Creates a listener that reports to the core.
    pub fn new(messages: mpsc::Sender<CoreMessage>) -> Self {
        Self { messages }
    }

    /// Returns what was chosen, or why the answer was refused, in words for whoever pressed the
    /// button. When it returns that, the answer is stored, or was not worth storing.
    ///
    /// An error means that the core is gone: the answer must stay unread for the next daemon.
    pub async fn reply(&self, reply: PhoneReply) -> Result<Result<String, String>, String> {
        let (answer, answered) = oneshot::channel();
        let is_over = || "the daemon is stopping".to_owned();
        let sent = self.messages.send(CoreMessage::Reply(reply, answer)).await;
        sent.map_err(|_| is_over())?;
        answered.await.map_err(|_| is_over())
    }
}

/// Runs sessions of a listener, one after another, for ever. A session ends when its connection
/// does.
pub async fn keep_listening(
    channel: Channel,
    mut session: impl AsyncFnMut() -> Result<(), String>,
) {
    let mut pause = FIRST_PAUSE;
    let mut told = None;
    loop {
        let began = Instant::now();
        let ended = session().await;
        if began.elapsed() >= GOOD {
            pause = FIRST_PAUSE;
        }
        let why = ended.err().map(|why| text::line(&why, text::TITLE));
        if why != told {
            let name = channel.name();
            match &why {
                Some(why) => tracing::warn!("cannot listen for answers ({name}): {why}"),
                None => tracing::info!("listening for answers again ({name})"),
            }
            told = why;
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

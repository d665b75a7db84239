//! Edits messages when their decision has ended: once, and only if the daemon lives until then.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhook_engine::settings::NotifySettings;
use anyhook_model::notice::{Channel, NoticeOutcome};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::EndedDecision;
use crate::notice::{claim, messages, slack, telegram, text};

/// How often a notice that is still being sent is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How many messages are edited at once.
const AT_ONCE: usize = 32;

/// Edits the messages of the decisions that end.
pub async fn edit_messages(
    settings: NotifySettings,
    claims: PathBuf,
    mut endings: mpsc::Receiver<EndedDecision>,
) {
    let settings = Rc::new(settings);
    let mut edits = JoinSet::new();
    while let Some(ended) = endings.recv().await {
        while edits.try_join_next().is_some() {}
        if edits.len() >= AT_ONCE {
            edits.join_next().await;
        }
        let (settings, claims) = (Rc::clone(&settings), claims.clone());
        edits.spawn_local(async move { edit(&settings, &claims, ended).await });
    }
}

async fn edit(settings: &NotifySettings, claims: &Path, ended: EndedDecision) {
    let limit = settings.timeout();
    // The notice may still be on its way. Its process needs some time of its own.
    let deadline = Instant::now() + limit + Duration::from_secs(5);
    let Some(outcome) = sent(claims, &ended.notice.id, deadline).await else { return };
    let notice = messages::made_fit(ended.notice);
    let words = text::line(&ended.ended, text::BODY);
    for way in outcome.ways {
        let Some(posted) = way.message else { continue };
        let edited = match (way.way, &settings.slack, &settings.telegram) {
            (Channel::Slack, Some(settings), _) => {
                slack::amend(settings, &posted, &notice, &words, limit).await
            }
            (Channel::Telegram, _, Some(settings)) => {
                telegram::amend(settings, &posted, &notice, &words, limit).await
            }
            _ => Ok(()),
        };
        if let Err(why) = edited {
            tracing::warn!("cannot edit a message ({}): {why}", way.way.name());
        }
    }
}

/// Waits until a notice has been sent; `None` if that does not happen.
async fn sent(claims: &Path, id: &str, deadline: Instant) -> Option<NoticeOutcome> {
    loop {
        let outcome = claim::outcome(claims, id);
        if let Some(outcome) = outcome.filter(|outcome| outcome.tried.is_some()) {
            return Some(outcome);
        }
        if Instant::now() >= deadline {
            return None;
        }
        sleep(LOOK).await;
    }
}

//! Delivers notices to a person, each by its own process.

use anyhook_flow::{DaemonState, EntryKind, NoticeName};
use anyhook_model::Notice;
use anyhook_model::notice::NoticeKind;
use jiff::{SignedDuration, Timestamp};

use super::{DrainResult, OutboxFailure, Runner, RunnerContext};
use crate::core::CoreMessage;
use crate::{failpoints, notice};

/// How many notices may be delivered at once.
const AT_ONCE: usize = 32;
/// What an agent did longer ago is not news.
const NEWS: SignedDuration = SignedDuration::from_mins(2);

impl Runner {
    /// Notifies the person of what still applies.
    pub(super) fn give_notices(&mut self, state: &DaemonState, drained: &mut DrainResult) {
        let now = anyhook_engine::now();
        for name in &state.outbox.notices {
            if self.under_way.notices.len() >= AT_ONCE {
                break;
            }
            if self.under_way.notices.contains(name) {
                continue;
            }
            match notice::of_name(name, state).filter(|notice| is_news(notice, now)) {
                Some(notice) => {
                    self.under_way.notices.insert(name.clone());
                    let name = name.clone();
                    self.defer(move |tools| launch(tools, name, notice));
                }
                None => drained.obsolete.push(EntryKind::NoticeLaunched(name.clone())),
            }
        }
    }
}

/// Returns whether a notice is still worth delivering: if an agent did something a while ago, its
/// current state is enough. That a guard was bypassed stays worth knowing.
fn is_news(notice: &Notice, now: Timestamp) -> bool {
    notice.decision.is_some()
        || notice.kind == NoticeKind::Alarm
        || now.duration_since(notice.at) < NEWS
}

fn launch(tools: &RunnerContext, name: NoticeName, notice: Notice) {
    failpoints::point("runner.notify.begun");
    let job = notice::NoticeJob {
        notice,
        settings: tools.notify.clone(),
        folder: tools.claims.clone(),
        binary: tools.binary.clone(),
    };
    if let Err(error) = notice::launch(&tools.binary, &job) {
        tracing::error!("cannot send a notification: {error}");
        tools.not_done(OutboxFailure::Notice(name));
        return;
    }
    failpoints::point("runner.notify.launched");
    tools.tell(CoreMessage::Done(EntryKind::NoticeLaunched(name)));
}

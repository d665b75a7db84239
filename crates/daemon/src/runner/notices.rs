//! Delivers notices to a person, each by its own process.

use anyhook_flow::{DaemonState, EntryKind, NoticeName};
use anyhook_model::Notice;
use anyhook_model::notice::NoticeKind;
use jiff::{SignedDuration, Timestamp};

use super::{DrainResult, OutboxFailure, Runner, RunnerContext};
use crate::core::CoreMessage;
use crate::notice::ChannelCodes;
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
                    let (name, codes) = (name.clone(), self.codes_of(name, state, now));
                    self.defer(move |tools| launch(tools, name, notice, codes));
                }
                None => drained.obsolete.push(EntryKind::NoticeLaunched(name.clone())),
            }
        }
    }

    /// Returns the codes of the buttons of a decision's notice.
    fn codes_of(
        &self,
        name: &NoticeName,
        state: &DaemonState,
        now: Timestamp,
    ) -> Vec<ChannelCodes> {
        let (Some(codes), NoticeName::Decision(id)) = (&self.codes, name) else {
            return Vec::new();
        };
        let held = state.inquiries.get(id);
        held.map(|held| codes.of_inquiry(&held.inquiry, now)).unwrap_or_default()
    }
}

/// Returns whether a notice is still worth delivering: if an agent did something a while ago, its
/// current state is enough. That a guard was bypassed stays worth knowing.
fn is_news(notice: &Notice, now: Timestamp) -> bool {
    notice.decision.is_some()
        || notice.kind == NoticeKind::Alarm
        || now.duration_since(notice.at) < NEWS
}

fn launch(tools: &RunnerContext, name: NoticeName, mut notice: Notice, codes: Vec<ChannelCodes>) {
    failpoints::point("runner.notify.begun");
    notice.url = notice.decision.as_ref().and_then(|id| tools.ui.decision_url(id.as_str()));
    let job = notice::NoticeJob {
        notice,
        settings: tools.notify.clone(),
        folder: tools.claims.clone(),
        binary: tools.binary.clone(),
        codes,
    };
    if let Err(error) = notice::launch(&tools.binary, &job) {
        tracing::error!("cannot send a notification: {error}");
        tools.not_done(OutboxFailure::Notice(name));
        return;
    }
    failpoints::point("runner.notify.launched");
    tools.tell(CoreMessage::Done(EntryKind::NoticeLaunched(name)));
}

//! Answers that buttons of notices send: judged here, then treated like `decision resolve`.

use std::time::{Duration, Instant};

use anyhook_flow::approval_requests;
use anyhook_model::Resolution;
use anyhook_model::daemon::{ResolveDecision, Response};
use serde_json::json;

use super::Core;
use crate::notice::messages;
use crate::replies::code::AnswerCode;
use crate::replies::{EndedDecision, PhoneReply};

/// How many refused answers are journaled in a minute. Whoever can write to a topic could fill the
/// journal.
const JOURNALED: usize = 30;
const MINUTE: Duration = Duration::from_secs(60);

/// Counts refused answers.
#[derive(Debug, Default)]
pub(super) struct RefusalCount {
    since: Option<Instant>,
    count: usize,
}

impl RefusalCount {
    /// Counts one more, and returns how many there were in this minute.
    fn count(&mut self, now: Instant) -> usize {
        if self.since.is_none_or(|since| now.duration_since(since) >= MINUTE) {
            *self = Self { since: Some(now), count: 0 };
        }
        self.count += 1;
        self.count
    }
}

impl Core {
    /// Resolves a decision by a code. Returns the choice, or why it was refused.
    pub(super) fn reply(&mut self, reply: &PhoneReply) -> Result<String, String> {
        let code = AnswerCode::parse(&reply.code);
        let judged = self.judge(reply, code.as_ref()).and_then(|resolve| {
            match self.resolve_for(resolve, None) {
                Response::Resolved(made) => Ok(made.choice.unwrap_or_default()),
                Response::Refused(refused) => Err(refused.message),
                _ => Err("the answer was not understood".to_owned()),
            }
        });
        if let Err(why) = &judged {
            self.refuse_reply(reply, code.as_ref(), why);
        }
        judged
    }

    /// Returns what a code stands for, if it is good.
    fn judge(
        &self,
        reply: &PhoneReply,
        code: Option<&AnswerCode>,
    ) -> Result<ResolveDecision, String> {
        let code = code.ok_or("this is not a code of a button")?;
        let key = self.answer_key.as_ref().ok_or("no buttons are configured")?;
        let held = self.state.inquiries.get(&code.decision);
        let held = held.ok_or_else(|| format!("there is no decision `{}`", code.decision))?;
        // Before anything is told about the decision: whoever has a good code knows it.
        key.check(code, &held.inquiry, reply.channel, anyhook_engine::now())
            .map_err(|error| error.to_string())?;
        if !reply.may_answer {
            return Err("this user may not answer".to_owned());
        }
        Ok(ResolveDecision {
            id: code.decision.as_str().to_owned(),
            choice: code.number.to_string(),
            more: Vec::new(),
            message: None,
            by: reply.by(),
            again: false,
            digest: held.inquiry.digest.clone(),
            signature: None,
        })
    }

    fn refuse_reply(&mut self, reply: &PhoneReply, code: Option<&AnswerCode>, why: &str) {
        let about = code
            .map_or_else(|| "?".to_owned(), |code| format!("{} {}", code.decision, code.number));
        let by = reply.by();
        let count = self.refused_replies.count(Instant::now());
        if count <= JOURNALED {
            let source = json!({"by": by});
            self.journal_refused("decision resolve", &about, why, &by, source);
        } else if count == JOURNALED + 1 {
            tracing::warn!(
                "refused {JOURNALED} answers within a minute: not journaling the others"
            );
        }
    }

    /// Has the messages about a decision edited.
    pub(super) fn tell_phones(&self, resolution: &Resolution) {
        let Some(phones) = &self.phones else { return };
        let Some(held) = self.state.inquiries.get(&resolution.id) else { return };
        // An ended decision has no options.
        let mut inquiry = held.inquiry.clone();
        inquiry.options.clear();
        let agent = self.state.agents.get(&inquiry.agent);
        let called = self.state.agent_name(&inquiry.agent);
        let notice = messages::of_inquiry(&inquiry, agent, called.as_deref());
        let ended = approval_requests::ended(resolution);
        phones.decision_ended(EndedDecision { notice, ended });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_the_minute() {
        let mut count = RefusalCount::default();
        let start = Instant::now();
        let counted: Vec<usize> = (0..3).map(|_| count.count(start)).collect();
        assert_eq!((counted, count.count(start + MINUTE)), (vec![1, 2, 3], 1));
    }
}

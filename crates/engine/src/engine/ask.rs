//! Resolves an `ask`: a person decides, or the settings do where no person can be asked.

use std::time::Duration;

use anyhook_model::approval_request::QuestionAnswer;
use anyhook_model::{Effect, Event, Host, Lost, Resolution, Verdict};

use super::Engine;
use super::open_close::ClosedEvent;
use super::record::{self, Exchange};
use crate::agent_directives;
use crate::approval::{self, ApprovalContext};
use crate::settings::{AskFallback, DispatchSettings};

impl Engine {
    /// Lets a person decide, where the settings or the agent's directives say so and one answers in
    /// time. `is_one_call` is whether all calls of the payload are one.
    pub(super) fn request_approval(
        &self,
        host: &dyn Host,
        closed: &mut [ClosedEvent],
        is_one_call: bool,
        verdict: &mut Verdict,
        left: Option<Duration>,
        settings: &DispatchSettings,
    ) -> Option<Resolution> {
        let (person, first) = (self.person.as_ref()?, closed.first()?);
        // A process that was asked to end does not wait for an answer.
        if approval::wanted(first.event(), verdict).is_none() || self.interrupted().is_some() {
            return None;
        }
        let event = first.event();
        let root = event.project_dir.as_deref();
        let mut decisions = settings.get(&self.places, root).decisions.clone();
        let agent_id = first.facts.agent_id.as_deref();
        if let Some(instructions) = self.instructions(agent_id) {
            agent_directives::ask(&instructions, event, &mut decisions);
        }
        let of_call = |one: &&ClosedEvent| is_one_call && one.event().tool.is_some();
        let rest = closed[1..].iter().filter(of_call).map(ClosedEvent::event);
        let events: Vec<&Event> = std::iter::once(event).chain(rest).collect();
        let questions = approval::AgentQuestions::of(host, event);
        let asker = ApprovalContext { id: &first.facts.id, agent_id };
        let inquiry = approval::inquiry(&events, verdict, asker, &decisions, left, questions)?;
        // The answer is not known yet; everything else the record says about the agent is.
        let (record, _) = record::build(first.clone(), Exchange::default());
        let answer = person.ask(&self.places, &inquiry, &record)?;
        if approval::take(verdict, &inquiry, &answer) {
            if !answer.answers.is_empty() {
                answer_questions(host, event, &answer.answers, verdict);
            }
            let own = &mut closed[0].finished.verdict;
            own.effect = verdict.effect;
            own.by.clone_from(&verdict.by);
            own.reason.clone_from(&verdict.reason);
        }
        Some(answer)
    }

    /// Decides an `ask` where the host cannot ask a person. Returns what was lost.
    ///
    /// By default it is denied: a hook that says `ask` does not want the call to happen unseen.
    pub(super) fn decide_unasked(
        &self,
        host: &dyn Host,
        event: &Event,
        verdict: &mut Verdict,
        settings: &DispatchSettings,
    ) -> Option<Lost> {
        let asks = verdict.effect == Some(Effect::Ask) && event.kind.takes_input_change();
        if !asks || host.can_ask(event) {
            return None;
        }
        let reason = verdict.reason.take().unwrap_or_default();
        let root = event.project_dir.as_deref();
        let instead = match settings.get(&self.places, root).ask_fallback {
            AskFallback::Deny => {
                verdict.effect = Some(Effect::Deny);
                verdict.reason = Some(format!(
                    "this needs the user's approval, and {} cannot ask for it: {reason}\nTo approve it, the user can run it themselves or set ask_fallback = \"pass\" in anyhook.toml.",
                    host.id()
                ));
                "deny, with a reason that explains how to approve"
            }
            AskFallback::Pass => {
                verdict.effect = None;
                "nothing (ask_fallback = \"pass\")"
            }
        };
        Some(Lost { what: "ask".to_owned(), instead: instead.to_owned() })
    }
}

/// Delivers the answers to an agent's questions, as part of the call's input.
fn answer_questions(
    host: &dyn Host,
    event: &Event,
    answers: &[QuestionAnswer],
    verdict: &mut Verdict,
) {
    let Some(tool) = &event.tool else { return };
    let mut input = tool.input.as_object().cloned().unwrap_or_default();
    input.extend(host.answered(answers));
    match host.native_input(tool, &input) {
        Ok(native) => (verdict.input, verdict.native_input) = (Some(input), native),
        Err(why) => {
            // Without its answers the call must not be allowed: the agent would take a missing
            // answer for one.
            verdict.effect = None;
            verdict.warnings.push(format!("cannot pass the answers to the agent: {why}"));
        }
    }
}

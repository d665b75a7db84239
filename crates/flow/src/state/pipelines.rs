//! What the state tells its pipelines, and what follows from it.

use std::collections::BTreeSet;

use anyhook_model::inquiry::{AgentQuestion, Ending, InquiryKind};
use anyhook_model::notice::NoticeKind;
use anyhook_model::{AgentState, Happening, Inquiry, PromptType, RecordId, Resolution};
use jiff::Timestamp;

use super::{Effect, State, What};
use crate::agents::{Agents, Heard};
use crate::inquiries::without_answer;
use crate::notices::NoticeName;
use crate::pipeline::{Consequences, Pipeline};

impl State {
    /// Takes in an entry about a pipeline.
    pub(super) fn drive(
        &mut self,
        what: &What,
        at: Timestamp,
        wanted: &BTreeSet<NoticeKind>,
        effects: &mut Vec<Effect>,
    ) {
        match what {
            What::PipelineBegun(plan) => {
                if self.pipelines.get(&plan.id).is_some() {
                    return;
                }
                let (pipeline, consequences) = Pipeline::begin((**plan).clone(), at);
                self.pipelines.add(pipeline, at);
                self.follow(&plan.id, consequences, at, wanted, effects);
            }
            What::PipelineCancelled { id, by } => {
                let cancel = |pipeline: &mut Pipeline, _: &Agents| pipeline.cancel(by, at).ok();
                self.tell(id, cancel, at, wanted, effects);
            }
            What::PipelineResumed { id, step, by } => {
                let resume = |pipeline: &mut Pipeline, _: &Agents| {
                    pipeline.resume(step.as_deref(), by, at).ok()
                };
                self.tell(id, resume, at, wanted, effects);
            }
            What::Job { pipeline, job, result } => {
                let tell = |pipeline: &mut Pipeline, agents: &Agents| {
                    Some(pipeline.job_told(*job, result, agents, at))
                };
                self.tell(pipeline, tell, at, wanted, effects);
            }
            What::TimerFired(id) => {
                let fire = |pipeline: &mut Pipeline, agents: &Agents| {
                    Some(pipeline.timer_fired(agents, at))
                };
                self.tell(id, fire, at, wanted, effects);
            }
            _ => {}
        }
    }

    /// Tells the pipeline of an agent what happened to it.
    pub(super) fn tell_pipeline(
        &mut self,
        happening: &Happening,
        heard: Option<Heard>,
        at: Timestamp,
        wanted: &BTreeSet<NoticeKind>,
        effects: &mut Vec<Effect>,
    ) {
        let (Some(report), Some(heard)) = (happening.report(), heard) else { return };
        let Some(id) = self.pipelines.of_agent(&report.agent).map(|found| found.plan.id.clone())
        else {
            return;
        };
        let hear = |pipeline: &mut Pipeline, agents: &Agents| {
            Some(pipeline.hear(happening, agents, heard, at))
        };
        self.tell(&id, hear, at, wanted, effects);
    }

    /// Tells the pipeline that asked how its question ended.
    pub(super) fn tell_whose_question(
        &mut self,
        resolution: &Resolution,
        at: Timestamp,
        wanted: &BTreeSet<NoticeKind>,
        effects: &mut Vec<Effect>,
    ) {
        let asking = self.pipelines.asking(&resolution.id);
        let Some(id) = asking.map(|found| found.plan.id.clone()) else { return };
        let decide = |pipeline: &mut Pipeline, agents: &Agents| {
            Some(pipeline.decided(resolution, agents, at))
        };
        self.tell(&id, decide, at, wanted, effects);
    }

    /// Tells whether a pipeline that is not over looks after an agent.
    pub fn is_looked_after(&self, agent: &str) -> bool {
        self.pipelines.of_agent(agent).is_some_and(|pipeline| !pipeline.is_over())
    }

    /// Tells whether a pipeline knows that an agent's process has ended.
    pub(super) fn has_ended(&self, agent: &str) -> bool {
        self.pipelines.of_agent(agent).is_some_and(|pipeline| pipeline.has_ended(agent))
    }

    fn tell(
        &mut self,
        id: &RecordId,
        tell: impl FnOnce(&mut Pipeline, &Agents) -> Option<Consequences>,
        at: Timestamp,
        wanted: &BTreeSet<NoticeKind>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(pipeline) = self.pipelines.get_mut(id) else { return };
        if let Some(consequences) = tell(pipeline, &self.agents) {
            self.follow(id, consequences, at, wanted, effects);
        }
    }

    fn follow(
        &mut self,
        id: &RecordId,
        consequences: Consequences,
        at: Timestamp,
        wanted: &BTreeSet<NoticeKind>,
        effects: &mut Vec<Effect>,
    ) {
        let Consequences { mut told, asked, dismissed, notice, heard, dropped } = consequences;
        if let Some((inquiry, true)) = &asked
            && let Some(waiting) = self.waiting_hook(&inquiry.agent)
        {
            // The question a hook process waits for stands in the place of the pipeline's own.
            for told in &mut told {
                if let Happening::StepWaiting(report) = told {
                    report.decision = Some(waiting.clone());
                }
            }
        }
        effects.extend(told.into_iter().map(|told| Effect::Followed(Box::new(told))));
        if effects.iter().all(|effect| effect.dropped().is_none()) {
            effects.extend(dropped.map(Effect::Dropped));
        }
        for (question, why) in dismissed {
            let open = self.inquiries.get(&question).map(|held| &held.inquiry);
            let ended = open.map(|open| without_answer(open, Ending::Dismissed, &why, at));
            if let Some(ended) = ended {
                self.resolve(&ended, at, wanted, effects);
                let resolved = Happening::DecisionResolved(ended);
                effects.push(Effect::Followed(Box::new(resolved)));
            }
        }
        if let Some((inquiry, adopts)) = asked {
            self.ask(id, inquiry, adopts, at, wanted, effects);
        }
        if let Some(moment) = notice
            && let Some(pipeline) = self.pipelines.get(id)
        {
            let visits = pipeline.visit_count();
            self.notices.insert(NoticeName::Pipeline(id.clone(), moment, visits));
        }
        for happening in heard {
            effects.push(Effect::Followed(Box::new(happening.clone())));
            self.hear(&happening, at, wanted, effects);
        }
    }

    /// Asks a person for a pipeline. Where a hook process waits for an answer about the same agent,
    /// its question is taken, and gets the pipeline's options.
    fn ask(
        &mut self,
        id: &RecordId,
        mut inquiry: Inquiry,
        adopts: bool,
        at: Timestamp,
        wanted: &BTreeSet<NoticeKind>,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(waiting) = self.waiting_hook(&inquiry.agent).filter(|_| adopts) {
            self.inquiries.add_options(&waiting, &inquiry.options);
            if let Some(pipeline) = self.pipelines.get_mut(id) {
                pipeline.adopt(&waiting);
            }
            return;
        }
        if adopts {
            self.offer_answers(&mut inquiry);
        }
        if self.inquiries.add(&inquiry, at) && wanted.contains(&NoticeKind::Decision) {
            self.notices.insert(NoticeName::Decision(inquiry.id.clone()));
        }
        effects.push(Effect::Followed(Box::new(Happening::DecisionCreated(inquiry))));
    }

    /// Offers the agent's own answers to the question it shows, if one of them can be chosen by keys;
    /// else says that it is answered in its session alone.
    fn offer_answers(&self, inquiry: &mut Inquiry) {
        let Some(agent) = self.agents.get(&inquiry.agent) else { return };
        if agent.state != AgentState::Prompting(PromptType::Question) {
            return;
        }
        let is_own = |name: &str| inquiry.options.iter().any(|own| own.name == name);
        match &agent.questions[..] {
            [one]
                if !one.multiple
                    && !one.options.is_empty()
                    && !one.options.iter().any(|option| is_own(&option.name)) =>
            {
                let mut options = one.options.clone();
                options.append(&mut inquiry.options);
                inquiry.options = options;
                inquiry.questions = vec![AgentQuestion { free_text: false, ..one.clone() }];
            }
            _ => inquiry.question.push_str(IN_ITS_SESSION),
        }
    }

    /// Returns the question about an agent for whose answer a hook process waits.
    fn waiting_hook(&self, agent: &str) -> Option<RecordId> {
        let waits = |open: &&Inquiry| is_waited_for(open);
        self.inquiries.open_about(agent).find(waits).map(|open| open.id.clone())
    }

    /// Puts a question that a hook process waits for in the place of the one a pipeline asked about
    /// the same prompt: one prompt is one decision.
    pub(super) fn replace_question(
        &mut self,
        inquiry: &Inquiry,
        at: Timestamp,
        wanted: &BTreeSet<NoticeKind>,
        effects: &mut Vec<Effect>,
    ) {
        if !is_waited_for(inquiry) || self.inquiries.get(&inquiry.id).is_none() {
            return;
        }
        let Some(id) = self.pipelines.of_agent(&inquiry.agent).map(|found| found.plan.id.clone())
        else {
            return;
        };
        let asked = self.pipelines.get(&id).and_then(Pipeline::prompt_question);
        let Some(old) = asked.and_then(|asked| self.inquiries.get(asked)).cloned() else { return };
        if let Some(pipeline) = self.pipelines.get_mut(&id) {
            pipeline.adopt(&inquiry.id);
        }
        self.inquiries.add_options(&inquiry.id, &old.inquiry.options);
        let why = "the agent itself asks about it";
        let ended = without_answer(&old.inquiry, Ending::Dismissed, why, at);
        self.resolve(&ended, at, wanted, effects);
        effects.push(Effect::Followed(Box::new(Happening::DecisionResolved(ended))));
    }
}

/// What is said of a question that can be answered nowhere else.
const IN_ITS_SESSION: &str = " (it takes an answer only in its own session: choose attach)";

/// Tells whether a hook process waits for the answer.
fn is_waited_for(inquiry: &Inquiry) -> bool {
    matches!(inquiry.kind, InquiryKind::Permission | InquiryKind::Ask | InquiryKind::Question)
}

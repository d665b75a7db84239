//! Passes entries and events to the pipelines, and applies the effects.

use anyhook_model::approval_request::{AgentQuestion, ApprovalEnding, ApprovalKind};
use anyhook_model::notice::NoticeKind;
use anyhook_model::{AgentState, ApprovalRequest, BusEvent, PromptType, RecordId, Resolution};

use super::apply::EntryApplication;
use super::{DaemonState, EntryKind};
use crate::agents::{Agents, Applied};
use crate::approval_requests::without_answer;
use crate::outbox::{JobId, NoticeName};
use crate::pipeline::{JobContext, JobWork, Pipeline, PipelineEffects};

impl EntryApplication<'_> {
    /// Applies an entry about a pipeline.
    pub(super) fn drive_pipeline(&mut self, what: &EntryKind) {
        let at = self.at;
        match what {
            EntryKind::PipelineBegun(plan) => {
                if self.state.pipelines.get(&plan.id).is_some() {
                    return;
                }
                let (pipeline, effects) = Pipeline::begin((**plan).clone(), at);
                self.state.pipelines.add(pipeline, at);
                self.follow(&plan.id, effects);
            }
            EntryKind::PipelineCancelled { id, by } => {
                let cancel = |pipeline: &mut Pipeline, _: &Agents| pipeline.cancel(by, at).ok();
                self.tell(id, cancel);
            }
            EntryKind::PipelineResumed { id, step, by } => {
                let resume = |pipeline: &mut Pipeline, _: &Agents| {
                    pipeline.resume(step.as_deref(), by, at).ok()
                };
                self.tell(id, resume);
            }
            EntryKind::Job { pipeline, job, result } => {
                let tell = |pipeline: &mut Pipeline, agents: &Agents| {
                    Some(pipeline.job_told(*job, result, agents, at))
                };
                self.tell(pipeline, tell);
            }
            EntryKind::TimerFired(id) => {
                let fire = |pipeline: &mut Pipeline, agents: &Agents| {
                    Some(pipeline.timer_fired(agents, at))
                };
                self.tell(id, fire);
            }
            _ => {}
        }
    }

    /// Passes an event about an agent to its pipeline.
    pub(super) fn tell_pipeline(&mut self, event: &BusEvent, heard: Option<Applied>) {
        let (Some(report), Some(heard)) = (event.report(), heard) else { return };
        let Some(id) =
            self.state.pipelines.of_agent(&report.agent).map(|found| found.plan.id.clone())
        else {
            return;
        };
        let at = self.at;
        let hear = |pipeline: &mut Pipeline, agents: &Agents| {
            Some(pipeline.hear(event, agents, heard, at))
        };
        self.tell(&id, hear);
    }

    /// Tells the pipeline that asked a question how it was resolved.
    pub(super) fn tell_whose_question(&mut self, resolution: &Resolution) {
        let asking = self.state.pipelines.asking(&resolution.id);
        let Some(id) = asking.map(|found| found.plan.id.clone()) else { return };
        let at = self.at;
        let decide = |pipeline: &mut Pipeline, agents: &Agents| {
            Some(pipeline.decided(resolution, agents, at))
        };
        self.tell(&id, decide);
    }

    fn tell(
        &mut self,
        id: &RecordId,
        tell: impl FnOnce(&mut Pipeline, &Agents) -> Option<PipelineEffects>,
    ) {
        let Some(pipeline) = self.state.pipelines.get_mut(id) else { return };
        if let Some(effects) = tell(pipeline, &self.state.agents) {
            self.follow(id, effects);
        }
    }

    fn follow(&mut self, id: &RecordId, effects: PipelineEffects) {
        let PipelineEffects { mut told, asked, dismissed, notice, heard, dropped } = effects;
        if let Some(pipeline) = self.state.pipelines.get(id) {
            self.state.outbox.set_jobs(id, pipeline.jobs().map(|job| job.number));
        }
        if let Some((inquiry, true)) = &asked
            && let Some(waiting) = self.state.waiting_hook(&inquiry.agent)
        {
            // The question that a hook process waits for replaces the pipeline's own.
            for told in &mut told {
                if let BusEvent::StepWaiting(report) = told {
                    report.decision = Some(waiting.clone());
                }
            }
        }
        self.effects.followed.extend(told);
        if let Some(why) = dropped {
            self.drop_as(why);
        }
        for (question, why) in dismissed {
            let open = self.state.inquiries.get(&question).map(|held| &held.inquiry);
            let ended =
                open.map(|open| without_answer(open, ApprovalEnding::Dismissed, &why, self.at));
            if let Some(ended) = ended {
                self.resolve(&ended);
                self.effects.followed.push(BusEvent::DecisionResolved(ended));
            }
        }
        if let Some((inquiry, adopts)) = asked {
            self.ask(id, inquiry, adopts);
        }
        if let Some(moment) = notice
            && let Some(pipeline) = self.state.pipelines.get(id)
        {
            let visits = pipeline.visit_count();
            self.state.outbox.notices.insert(NoticeName::Pipeline(id.clone(), moment, visits));
        }
        for event in heard {
            self.effects.followed.push(event.clone());
            self.hear(&event);
        }
    }

    /// Asks a person on behalf of a pipeline. If a hook process waits for an answer about the same
    /// agent, its question is adopted, and gets the pipeline's options: one question to one person,
    /// and the answer goes through the host's own reply.
    fn ask(&mut self, id: &RecordId, mut inquiry: ApprovalRequest, adopts: bool) {
        if let Some(waiting) = self.state.waiting_hook(&inquiry.agent).filter(|_| adopts) {
            self.state.inquiries.add_options(&waiting, &inquiry.options);
            if let Some(pipeline) = self.state.pipelines.get_mut(id) {
                pipeline.adopt(&waiting);
            }
            return;
        }
        if adopts {
            self.state.offer_answers(&mut inquiry);
        }
        if self.state.inquiries.add(&inquiry, self.at)
            && self.wanted.contains(&NoticeKind::Decision)
        {
            self.state.outbox.notices.insert(NoticeName::Decision(inquiry.id.clone()));
        }
        self.effects.followed.push(BusEvent::DecisionCreated(inquiry));
    }

    /// Replaces the question that a pipeline asked about a prompt with the one that a hook process
    /// waits for: one prompt is one decision.
    pub(super) fn replace_question(&mut self, inquiry: &ApprovalRequest) {
        if !is_waited_for(inquiry) || self.state.inquiries.get(&inquiry.id).is_none() {
            return;
        }
        let Some(id) =
            self.state.pipelines.of_agent(&inquiry.agent).map(|found| found.plan.id.clone())
        else {
            return;
        };
        let asked = self.state.pipelines.get(&id).and_then(Pipeline::prompt_question);
        let Some(old) = asked.and_then(|asked| self.state.inquiries.get(asked)).cloned() else {
            return;
        };
        if let Some(pipeline) = self.state.pipelines.get_mut(&id) {
            pipeline.adopt(&inquiry.id);
        }
        self.state.inquiries.add_options(&inquiry.id, &old.inquiry.options);
        let why = "the agent itself is asking about it";
        let ended = without_answer(&old.inquiry, ApprovalEnding::Dismissed, why, self.at);
        self.resolve(&ended);
        self.effects.followed.push(BusEvent::DecisionResolved(ended));
    }
}

impl DaemonState {
    /// Returns a job of the outbox with everything needed to run it; `None` while it cannot be
    /// started.
    pub fn job_context(&self, id: &JobId) -> Option<JobContext> {
        let pipeline = self.pipelines.get(&id.pipeline)?;
        let job = pipeline.job(id.number)?.clone();
        let visit = job.visit.and_then(|number| pipeline.visit(number));
        let session = visit.and_then(|visit| visit.job.filter(|_| visit.has_session));
        // An agent may rest before its start is stored; in that case typing follows a moment later.
        if job.work.sends_keys() && session.is_none() {
            return None;
        }
        let agent = visit.and_then(|visit| visit.agent.clone());
        let known = agent.as_ref().and_then(|agent| self.agents.get(agent));
        let resume = match job.work {
            JobWork::Agent { life, .. } if life > 1 => {
                known.and_then(|known| known.session.clone())
            }
            _ => None,
        };
        let ends = match job.work {
            JobWork::End { job } => pipeline.job(job).cloned(),
            _ => None,
        };
        let step = visit.map(|visit| visit.step.clone());
        Some(JobContext { plan: pipeline.plan.clone(), job, step, agent, session, resume, ends })
    }

    /// Returns whether a pipeline that is not over supervises an agent.
    pub fn is_looked_after(&self, agent: &str) -> bool {
        self.pipelines.of_agent(agent).is_some_and(|pipeline| !pipeline.is_over())
    }

    /// Returns whether a pipeline knows that an agent's process has ended.
    pub(super) fn has_ended(&self, agent: &str) -> bool {
        self.pipelines.of_agent(agent).is_some_and(|pipeline| pipeline.has_ended(agent))
    }

    /// Offers the agent's own answers to the question it shows, if they can be chosen with keys;
    /// otherwise says that it can only be answered in its session.
    fn offer_answers(&self, inquiry: &mut ApprovalRequest) {
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

    /// Returns the question about an agent that a hook process waits for.
    fn waiting_hook(&self, agent: &str) -> Option<RecordId> {
        let waits = |open: &&ApprovalRequest| is_waited_for(open);
        self.inquiries.open_about(agent).find(waits).map(|open| open.id.clone())
    }
}

/// The note on a question that can only be answered in its session.
const IN_ITS_SESSION: &str = " (it accepts an answer only in its own session: choose attach)";

/// Returns whether a hook process waits for the answer.
fn is_waited_for(inquiry: &ApprovalRequest) -> bool {
    matches!(inquiry.kind, ApprovalKind::Permission | ApprovalKind::Ask | ApprovalKind::Question)
}

//! Transitions between steps: how a pipeline begins, advances, ends and is resumed.

use anyhook_model::BusEvent;
use anyhook_model::bus::PipelineReport;
use anyhook_model::pipeline::{ENTRY_LIMIT, StepWork, VisitState};
use jiff::Timestamp;

use super::{
    Job, JobResult, JobWork, NextStep, NoticeMoment, Pipeline, PipelineEffects, PipelineOutcome,
    PipelineState, QuestionSubject, RequestError, StepVisit,
};
use crate::agents::Agents;
use crate::monitor::Monitor;

/// Maximum length of a failed command's output that is shown.
const LAST_WORDS: usize = 200;

impl Pipeline {
    /// Creates the workspace, or begins at once if there is none to create.
    pub(super) fn prepare(&mut self, now: Timestamp, out: &mut PipelineEffects) {
        self.course = PipelineState::Preparing;
        if self.has_workspace() {
            self.ask_for(None, JobWork::MakeWorkspace);
        } else {
            self.has_root = true;
            self.enter_first(now, out);
        }
    }

    fn enter_first(&mut self, now: Timestamp, out: &mut PipelineEffects) {
        let from = self.stopped_at.take();
        let first = from.or_else(|| self.plan.steps.first().map(|step| step.name.clone()));
        match first {
            Some(step) => self.enter(&step, now, out),
            None => self.conclude(PipelineOutcome::Completed, now, out),
        }
    }

    /// Enters a step.
    fn enter(&mut self, name: &str, now: Timestamp, out: &mut PipelineEffects) {
        let Some(step) = self.plan.step(name).cloned() else {
            let why = format!("there is no step `{name}`");
            return self.conclude(PipelineOutcome::Failed(why), now, out);
        };
        let entries = self.entries.entry(name.to_owned()).or_default();
        if *entries >= ENTRY_LIMIT {
            let why = format!("step `{name}` was entered {ENTRY_LIMIT} times");
            self.note(now, &why);
            return self.conclude(PipelineOutcome::Failed(why), now, out);
        }
        *entries += 1;
        let number = u32::try_from(self.visits.len()).unwrap_or(u32::MAX).saturating_add(1);
        let agent = matches!(step.work, StepWork::Agent(_))
            .then(|| format!("{}.{name}.{number}", self.plan.id));
        if !self.visits.is_empty() {
            let report =
                PipelineReport { step: Some(name.to_owned()), agent: None, ..self.report() };
            out.told.push(BusEvent::PipelineAdvanced(report));
        }
        self.visits.push(StepVisit {
            step: name.to_owned(),
            state: VisitState::Running,
            why: None,
            began: now,
            ended: None,
            agent: agent.clone(),
            job: None,
            has_session: false,
            lives: 1,
            started: now,
            recover: None,
        });
        self.course = PipelineState::AtStep;
        out.told.push(BusEvent::StepStarted(self.report()));
        let work = match (&step.work, agent) {
            (StepWork::Agent(plan), Some(agent)) => {
                let reaction = self.monitor.enter(&agent, plan.reactions.clone(), now);
                self.follow_monitor(reaction, now, out);
                self.note(now, format!("step started: agent {agent}"));
                JobWork::Agent { life: 1, message: None, append: false }
            }
            _ => {
                self.note(now, "step started");
                JobWork::Shell
            }
        };
        self.work_on(work);
    }

    /// The current step is done.
    pub(super) fn complete(&mut self, why: &str, now: Timestamp, out: &mut PipelineEffects) {
        let Some(step) = self.present().and_then(|visit| self.plan.step(&visit.step)) else {
            return;
        };
        let next = step.on_done.clone();
        self.note(now, format!("step completed: {why}"));
        out.told.push(BusEvent::StepCompleted(self.report_why(why)));
        self.end_visit(VisitState::Completed, why, now);
        let next = match next {
            Some(next) => NextStep::Step(next),
            None => self.end_with(PipelineOutcome::Completed),
        };
        self.leave(next, now, out);
    }

    /// The current step failed.
    pub(super) fn fail(&mut self, why: &str, now: Timestamp, out: &mut PipelineEffects) {
        let Some(step) = self.present().and_then(|visit| self.plan.step(&visit.step)) else {
            return;
        };
        let (name, next) = (step.name.clone(), step.on_fail.clone());
        self.note(now, format!("step failed: {why}"));
        out.told.push(BusEvent::StepFailed(self.report_why(why)));
        self.end_visit(VisitState::Failed, why, now);
        let next = match next {
            Some(next) => NextStep::Step(next),
            None => {
                if self.outcome.is_none() {
                    self.stopped_at = Some(name.clone());
                }
                self.end_with(PipelineOutcome::Failed(format!("step `{name}` failed: {why}")))
            }
        };
        self.leave(next, now, out);
    }

    /// A person cancels it.
    pub fn cancel(&mut self, by: &str, now: Timestamp) -> Result<PipelineEffects, RequestError> {
        self.may_cancel()?;
        let mut out = PipelineEffects::default();
        self.note(now, format!("cancelled by {by}"));
        let step = self.present().and_then(|visit| self.plan.step(&visit.step));
        let was_cancelled = matches!(self.outcome, Some(PipelineOutcome::Cancelled(_)));
        let handler = step.and_then(|step| step.on_cancel.clone()).or(self.plan.on_cancel.clone());
        if self.outcome.is_none() {
            // Completed steps stay completed: it resumes with the one that would have come next.
            let next = match &self.course {
                PipelineState::Leaving(NextStep::Step(next)) => Some(next.clone()),
                _ => None,
            };
            self.stopped_at = next.or_else(|| step.map(|step| step.name.clone()));
        }
        self.outcome = Some(PipelineOutcome::Cancelled(by.to_owned()));
        // Cancelling twice skips the remaining steps.
        let next = match handler.filter(|_| !was_cancelled) {
            Some(next) => NextStep::Step(next),
            None => NextStep::Finish,
        };
        self.is_ending = true;
        match &self.course {
            PipelineState::AtStep => {
                self.end_visit(VisitState::Cancelled, &format!("cancelled by {by}"), now);
                self.leave(next, now, &mut out);
            }
            PipelineState::Leaving(_) => self.course = PipelineState::Leaving(next),
            // No job is creating the workspace: a person was asked about it.
            PipelineState::Preparing if self.jobs.is_empty() => {
                self.dismiss("the pipeline is cancelled", &mut out);
                self.finish(now, &mut out);
            }
            // It takes effect once the workspace exists.
            PipelineState::Preparing | PipelineState::CleaningUp | PipelineState::Over => {}
        }
        Ok(out)
    }

    /// Returns whether it can be cancelled.
    pub fn may_cancel(&self) -> Result<(), RequestError> {
        let id = self.plan.id.clone();
        match &self.course {
            PipelineState::Over => Err(RequestError::Over(id, self.phase().name())),
            PipelineState::Leaving(NextStep::Finish) | PipelineState::CleaningUp => {
                Err(RequestError::Ending(id))
            }
            _ => Ok(()),
        }
    }

    /// Resumes it where it stopped, or at a step.
    pub fn resume(
        &mut self,
        step: Option<&str>,
        by: &str,
        now: Timestamp,
    ) -> Result<PipelineEffects, RequestError> {
        self.may_resume(step)?;
        let mut out = PipelineEffects::default();
        if let Some(step) = step {
            self.stopped_at = Some(step.to_owned());
        }
        (self.outcome, self.ended, self.is_ending) = (None, None, false);
        self.entries.clear();
        self.monitor = Monitor::default();
        self.note(now, format!("resumed by {by}"));
        if self.has_root {
            self.enter_first(now, &mut out);
        } else {
            self.prepare(now, &mut out);
        }
        Ok(out)
    }

    /// Returns whether it can be resumed.
    pub fn may_resume(&self, step: Option<&str>) -> Result<(), RequestError> {
        let id = || self.plan.id.clone();
        match (&self.course, &self.outcome) {
            (PipelineState::Over, Some(PipelineOutcome::Completed)) => {
                return Err(RequestError::Over(id(), self.phase().name()));
            }
            (PipelineState::Over, _) => {}
            _ => return Err(RequestError::NotOver(id(), self.phase().name())),
        }
        match step {
            Some(step) if self.plan.step(step).is_none() => {
                let steps: Vec<&str> =
                    self.plan.steps.iter().map(|step| step.name.as_str()).collect();
                Err(RequestError::NoSuchStep(id(), step.to_owned(), steps.join(", ")))
            }
            _ => Ok(()),
        }
    }

    /// Sets the outcome; returns the step that the pipeline defines for it.
    fn end_with(&mut self, outcome: PipelineOutcome) -> NextStep {
        let handler = match &outcome {
            PipelineOutcome::Completed => &self.plan.on_done,
            PipelineOutcome::Failed(_) => &self.plan.on_fail,
            PipelineOutcome::Cancelled(_) => &self.plan.on_cancel,
        };
        let handler = handler.clone().filter(|_| !self.is_ending);
        // The first failure is the one that is reported.
        if matches!(self.outcome, None | Some(PipelineOutcome::Completed)) {
            self.outcome = Some(outcome);
        }
        match handler {
            Some(step) => {
                self.is_ending = true;
                NextStep::Step(step)
            }
            None => NextStep::Finish,
        }
    }

    fn end_visit(&mut self, state: VisitState, why: &str, now: Timestamp) {
        if let Some(visit) = self.visits.last_mut() {
            visit.state = state;
            visit.why = Some(why.to_owned());
            visit.ended = Some(now);
            visit.recover = None;
        }
    }

    /// Ends everything that the step has started, then continues.
    fn leave(&mut self, next: NextStep, now: Timestamp, out: &mut PipelineEffects) {
        // The question that it would close is dismissed below.
        drop(self.monitor.step_over());
        self.dismiss("the step has ended", out);
        let visit = self.number();
        let ended: Vec<u32> = self.jobs.values().filter_map(Job::ends).collect();
        let mut to_end = Vec::new();
        // Text that is not typed by now is dropped.
        self.jobs.retain(|_, job| !job.work.sends_keys());
        for (number, job) in &self.jobs {
            if matches!(job.work, JobWork::Shell | JobWork::Agent { .. } | JobWork::Gate { .. }) {
                to_end.push(*number);
            }
        }
        for job in to_end.into_iter().filter(|job| !ended.contains(job)) {
            self.ask_for(visit, JobWork::End { job });
        }
        self.course = PipelineState::Leaving(next);
        self.go_on_if_left(now, out);
    }

    fn go_on_if_left(&mut self, now: Timestamp, out: &mut PipelineEffects) {
        let PipelineState::Leaving(next) = &self.course else { return };
        if !self.jobs.is_empty() {
            return;
        }
        match next.clone() {
            NextStep::Step(step) => self.enter(&step, now, out),
            NextStep::Finish => self.finish(now, out),
        }
    }

    /// Ends the pipeline when no step is left.
    fn conclude(&mut self, outcome: PipelineOutcome, now: Timestamp, out: &mut PipelineEffects) {
        if self.outcome.is_none() {
            self.stopped_at = self.visits.last().map(|visit| visit.step.clone());
        }
        let next = self.end_with(outcome);
        self.course = PipelineState::Leaving(next);
        self.go_on_if_left(now, out);
    }

    fn finish(&mut self, now: Timestamp, out: &mut PipelineEffects) {
        let is_kept = self.plan.workspace.keep || !self.has_workspace();
        if !is_kept && self.outcome == Some(PipelineOutcome::Completed) {
            self.course = PipelineState::CleaningUp;
            self.ask_for(None, JobWork::RemoveWorkspace);
        } else {
            self.finish_pipeline(now, out);
        }
    }

    fn finish_pipeline(&mut self, now: Timestamp, out: &mut PipelineEffects) {
        let reaction = self.monitor.end();
        self.follow_monitor(reaction, now, out);
        self.dismiss("the pipeline has ended", out);
        self.course = PipelineState::Over;
        self.ended = Some(now);
        let report = self.report();
        let (event, moment) = match &self.outcome {
            None | Some(PipelineOutcome::Completed) => {
                self.outcome = Some(PipelineOutcome::Completed);
                (BusEvent::PipelineCompleted(report), NoticeMoment::Done)
            }
            Some(PipelineOutcome::Failed(why)) => {
                (BusEvent::PipelineFailed(self.report_why(why)), NoticeMoment::Fail)
            }
            Some(PipelineOutcome::Cancelled(by)) => {
                let why = format!("cancelled by {by}");
                (BusEvent::PipelineCancelled(self.report_why(&why)), NoticeMoment::Cancel)
            }
        };
        let word = self.phase().name();
        self.note(now, format!("pipeline {word}"));
        out.told.push(event);
        if self.notice(moment).is_some() {
            out.notice = Some(moment);
        }
    }

    /// Handles the result of a job; one that is no longer awaited changes nothing.
    pub fn job_told(
        &mut self,
        number: u32,
        result: &JobResult,
        agents: &Agents,
        now: Timestamp,
    ) -> PipelineEffects {
        let mut out = PipelineEffects::default();
        let Some(job) = self.jobs.get(&number).cloned() else {
            out.dropped = Some("no one is waiting for this job any more");
            return out;
        };
        if let JobResult::Started { warning, to_type } = result {
            self.started(&job, warning.as_deref(), agents, now, &mut out);
            if let (Some(message), PipelineState::AtStep) = (to_type, &self.course) {
                self.ask_for(job.visit, JobWork::Prompt { message: message.clone() });
            }
            return out;
        }
        self.jobs.remove(&number);
        match &job.work {
            JobWork::MakeWorkspace => self.prepared(result, now, &mut out),
            JobWork::RemoveWorkspace => {
                match result {
                    JobResult::Done { note: None } => {
                        let root = Some(self.plan.workspace.root.clone());
                        let report = PipelineReport { root, ..self.report() };
                        out.told.push(BusEvent::WorkspaceDeleted(report));
                    }
                    JobResult::Done { note: Some(note) } => self.note(now, note.clone()),
                    other => self.note(now, format!("the workspace was kept: {}", words(other))),
                }
                self.finish_pipeline(now, &mut out);
            }
            JobWork::End { job: ended } => {
                if let JobResult::Failed { why } = result {
                    self.note(now, format!("something may still be running: {why}"));
                }
                if let Some(ended) = self.jobs.remove(ended) {
                    self.note_end(&ended, now, &mut out);
                }
                self.start_again(now);
                self.go_on_if_left(now, &mut out);
            }
            // While the step is left, the results of its jobs do not matter.
            _ if self.course != PipelineState::AtStep => {
                self.note_end(&job, now, &mut out);
                self.jobs.retain(|_, other| other.ends() != Some(number));
                self.go_on_if_left(now, &mut out);
            }
            JobWork::Shell => self.shell_told(result, now, &mut out),
            _ => self.agent_job_told(&job, result, agents, now, &mut out),
        }
        // The result of an agent's end is reported by itself.
        if out.heard.is_empty() {
            self.never_wait_for_nothing(now, &mut out);
        }
        out
    }

    pub(super) fn prepared(
        &mut self,
        result: &JobResult,
        now: Timestamp,
        out: &mut PipelineEffects,
    ) {
        if *result == JobResult::InDoubt && self.outcome.is_none() {
            let question = "it is unknown whether the workspace was created: the process creating \
                it was killed. Create it again? Skip to use it as it is.";
            return self.ask(
                QuestionSubject::Job,
                question,
                QuestionSubject::Job.options(),
                now,
                out,
            );
        }
        if let JobResult::Done { .. } = result {
            self.has_root = true;
            let root = self.plan.workspace.root.clone();
            self.note(now, format!("workspace: {root}"));
            let report = PipelineReport { root: Some(root), ..self.report() };
            out.told.push(BusEvent::WorkspaceCreated(report));
            if self.outcome.is_some() {
                self.finish(now, out);
            } else {
                self.enter_first(now, out);
            }
            return;
        }
        let why = format!("could not create the workspace: {}", words(result));
        self.note(now, &why);
        if self.outcome.is_none() {
            self.outcome = Some(PipelineOutcome::Failed(why));
        }
        self.finish(now, out);
    }

    fn shell_told(&mut self, result: &JobResult, now: Timestamp, out: &mut PipelineEffects) {
        if let JobResult::Exited { code, .. } = result {
            let report = PipelineReport { exit_code: *code, ..self.report() };
            out.told.push(BusEvent::ShellExited(report));
        }
        match result {
            JobResult::Exited { code: Some(0), timed_out: false, .. } => {
                self.complete("exit code 0", now, out);
            }
            JobResult::InDoubt => {
                let question = "it is unknown how far the command got: the process supervising it \
                    was killed. Run it again?";
                self.ask(QuestionSubject::Job, question, QuestionSubject::Job.options(), now, out);
            }
            other => {
                let why = words(other);
                self.fail(&why, now, out);
            }
        }
    }

    /// Starts the work of the current step.
    pub(super) fn work_on(&mut self, work: JobWork) {
        let job = self.ask_for(self.number(), work);
        if let Some(visit) = self.visits.last_mut() {
            visit.job = Some(job);
        }
    }

    /// Returns the number of the last visit.
    pub(super) fn number(&self) -> Option<u32> {
        u32::try_from(self.visits.len()).ok()
    }
}

impl Job {
    /// Returns the job that this one ends.
    fn ends(&self) -> Option<u32> {
        match self.work {
            JobWork::End { job } => Some(job),
            _ => None,
        }
    }
}

/// Returns a result as text.
pub(super) fn words(result: &JobResult) -> String {
    match result {
        JobResult::Exited { code, timed_out, output } => {
            let how = match code {
                _ if *timed_out => "it timed out".to_owned(),
                Some(code) => format!("exit code {code}"),
                None => "it was killed".to_owned(),
            };
            let last = output.lines().rev().map(str::trim).find(|line| !line.is_empty());
            match last {
                Some(last) => format!("{how}: {}", anyhook_model::json::shorten(last, LAST_WORDS)),
                None => how,
            }
        }
        JobResult::Failed { why } | JobResult::Obsolete { why } => why.clone(),
        JobResult::InDoubt => "it is unknown how far it got".to_owned(),
        JobResult::Done { note } => note.clone().unwrap_or_else(|| "done".to_owned()),
        JobResult::Started { .. } => "started".to_owned(),
    }
}

//! Agent steps: carries out the actions of the monitor, and asks a person about the agent.

use anyhook_model::approval_request::{ApprovalEnding, Choice};
use anyhook_model::bus::{AgentReport, PipelineReport};
use anyhook_model::pipeline::StepWork;
use anyhook_model::{AgentState, BusEvent, RecordId, Resolution, StateSource};
use jiff::Timestamp;

use super::question::{self, PipelineQuestion};
use super::transitions::words;
use super::{Job, JobResult, JobWork, Pipeline, PipelineEffects, PipelineState, QuestionSubject};
use crate::agents::{Agents, Applied};
use crate::monitor::{DecisionSubject, MonitorAction, MonitorResult};

impl Pipeline {
    /// Handles an event of one of its agents, after `agents` has applied it.
    pub fn hear(
        &mut self,
        event: &BusEvent,
        agents: &Agents,
        heard: Applied,
        now: Timestamp,
    ) -> PipelineEffects {
        let mut out = PipelineEffects::default();
        // A step that is being left needs nothing more.
        if matches!(self.course, PipelineState::Leaving(_)) {
            let why = "the step has ended";
            self.note_dropped(event, why, now);
            out.dropped = Some(why);
            return out;
        }
        let reaction = self.monitor.hear(event, agents, heard, now);
        if let Err(dropped) = &reaction {
            self.note_dropped(event, dropped.words(), now);
        }
        self.dismiss_dialog_if_over(event, agents, heard, &mut out);
        self.follow_monitor(reaction, now, &mut out);
        self.never_wait_for_nothing(now, &mut out);
        out
    }

    /// Logs a line about an ignored event of one of its agents.
    pub fn note_dropped(&mut self, event: &BusEvent, why: &str, now: Timestamp) {
        let Some(report) = event.report() else { return };
        let type_name = event.type_name();
        let is_end = matches!(event, BusEvent::AgentExited(_) | BusEvent::AgentGone(_));
        if self.monitor.agent() == Some(report.agent.as_str()) {
            self.note(now, format!("{type_name} ignored: {why}"));
        } else if !is_end {
            // It is expected that the agent of an earlier step ends.
            self.note(now, format!("{type_name} of {} ignored: {why}", report.agent));
        }
    }

    /// Closes a question about the agent's own dialog once the agent has continued: someone
    /// answered there.
    fn dismiss_dialog_if_over(
        &mut self,
        event: &BusEvent,
        agents: &Agents,
        heard: Applied,
        out: &mut PipelineEffects,
    ) {
        let asks = self.question.as_ref().is_some_and(|open| open.about == QuestionSubject::Dialog);
        let agent = event.report().map(|report| report.agent.as_str());
        let is_present = agent.is_some() && self.monitor.agent() == agent;
        let goes_on = || {
            let known = agent.and_then(|agent| agents.get(agent));
            known.is_some_and(|known| matches!(known.state, AgentState::Working | AgentState::Idle))
        };
        if asks && is_present && heard == Applied::Changed && goes_on() {
            self.dismiss("the agent continued on its own", out);
        }
    }

    /// Returns whether an agent works on the current step and its process is known to have ended:
    /// reports about it are late.
    pub fn has_ended(&self, agent: &str) -> bool {
        let is_present = self.present().is_some_and(|visit| visit.agent.as_deref() == Some(agent));
        is_present && !self.jobs.values().any(|job| matches!(job.work, JobWork::Agent { .. }))
    }

    /// A pending timer fired.
    pub fn timer_fired(&mut self, agents: &Agents, now: Timestamp) -> PipelineEffects {
        let mut out = PipelineEffects::default();
        out.told.push(BusEvent::TimerFired(self.report()));
        let reaction = self.monitor.timer_fired(agents, now);
        self.follow_monitor(reaction, now, &mut out);
        self.never_wait_for_nothing(now, &mut out);
        out
    }

    /// A person decided its question, or no one will.
    pub fn decided(
        &mut self,
        resolution: &Resolution,
        agents: &Agents,
        now: Timestamp,
    ) -> PipelineEffects {
        let mut out = PipelineEffects::default();
        let Some(question) = self.question.take_if(|open| open.id == resolution.id) else {
            return out;
        };
        let chosen =
            resolution.choice.as_deref().filter(|_| resolution.ending == ApprovalEnding::Chosen);
        let ended = crate::approval_requests::ended(resolution);
        self.note(now, format!("decision {}: {ended}", resolution.id));
        match (question.about, chosen) {
            (QuestionSubject::Agent(ticket), Some(choice)) => {
                let message = resolution.message.as_deref();
                let reaction = self.monitor.decided(agents, ticket, choice, message, now);
                // The waiting hook process has the answer.
                let is_answered = |action: &MonitorAction| {
                    question.hook_waits && matches!(action, MonitorAction::Answer { .. })
                };
                if !reaction.iter().flatten().any(is_answered) {
                    self.follow_monitor(reaction, now, &mut out);
                }
                self.name_answers(agents, resolution);
            }
            (QuestionSubject::Agent(ticket), None) => {
                let reaction = self.monitor.given_up(agents, ticket, now);
                self.follow_monitor(reaction, now, &mut out);
                if question.hook_waits && resolution.ending == ApprovalEnding::Expired {
                    self.ask_about_dialog(&question.text, now, &mut out);
                }
            }
            (_, Some("retry")) => match self.present().map(|visit| visit.agent.is_some()) {
                Some(true) => self.recover(resolution.message.clone(), true, now),
                Some(false) => self.work_on(JobWork::Shell),
                None => drop(self.ask_for(None, JobWork::MakeWorkspace)),
            },
            (QuestionSubject::Job, Some("skip")) if self.course == PipelineState::Preparing => {
                self.prepared(&JobResult::Done { note: None }, now, &mut out);
            }
            (QuestionSubject::Job, _) if self.course == PipelineState::Preparing => {
                let why = "a person chose fail".to_owned();
                self.prepared(&JobResult::Failed { why }, now, &mut out);
            }
            (QuestionSubject::Job, Some("skip")) => {
                self.complete(&format!("{} chose skip", resolution.by), now, &mut out);
            }
            (_, Some("fail")) => {
                self.fail(&format!("{} chose fail", resolution.by), now, &mut out);
            }
            // No one else can end these, so it was done on purpose.
            (QuestionSubject::Job, None) => {
                self.fail(&format!("no decision was made: {}", question.text), now, &mut out);
            }
            (_, Some(_)) | (QuestionSubject::Dialog, None) => {}
        }
        self.never_wait_for_nothing(now, &mut out);
        out
    }

    /// Asks a person about an agent that has ended, if nothing else can happen any more: someone
    /// chose what only a living agent can do.
    pub(super) fn never_wait_for_nothing(&mut self, now: Timestamp, out: &mut PipelineEffects) {
        let waits =
            !self.jobs.is_empty() || self.question.is_some() || self.waits_until().is_some();
        if self.course == PipelineState::AtStep && !waits {
            let question = "the agent has ended. Restart it?";
            self.ask(QuestionSubject::Job, question, QuestionSubject::Job.options(), now, out);
        }
    }

    /// Adds what the person was asked about to the pending answers.
    fn name_answers(&mut self, agents: &Agents, resolution: &Resolution) {
        let agent = self.present().and_then(|visit| visit.agent.as_deref());
        let agent = agent.and_then(|agent| agents.get(agent));
        let of_call = agent.and_then(|agent| agent.about.clone());
        let of_kind = agent.and_then(|agent| match agent.state {
            AgentState::Prompting(kind) => Some(kind),
            _ => None,
        });
        let answer = resolution.answers.first();
        let asked = answer.map(|answer| answer.question.clone()).or(of_call);
        for job in self.jobs.values_mut() {
            if let JobWork::Answer { about: about @ None, prompt, choose, .. } = &mut job.work {
                about.clone_from(&asked);
                *prompt = of_kind;
                *choose = answer.and_then(|answer| answer.answer.first().cloned());
            }
        }
    }

    fn ask_about_dialog(&mut self, text: &str, now: Timestamp, out: &mut PipelineEffects) {
        if self.question.is_none() && self.course == PipelineState::AtStep {
            let text = format!("no answer in time; the agent's own dialog is still open: {text}");
            self.ask(QuestionSubject::Dialog, &text, QuestionSubject::Dialog.options(), now, out);
        }
    }

    /// Returns its open question about a prompt of its agent, if no hook process waits for it.
    pub fn prompt_question(&self) -> Option<&RecordId> {
        let question = self.question.as_ref().filter(|open| !open.hook_waits)?;
        let QuestionSubject::Agent(ticket) = question.about else { return None };
        self.monitor.asks_about_prompt(ticket).then_some(&question.id)
    }

    /// Adopts a question that a hook process waits for.
    pub fn adopt(&mut self, id: &RecordId) {
        if let Some(question) = &mut self.question {
            question.id = id.clone();
            question.hook_waits = true;
        }
    }

    /// Carries out the actions of its monitor.
    pub(super) fn follow_monitor(
        &mut self,
        reaction: MonitorResult,
        now: Timestamp,
        out: &mut PipelineEffects,
    ) {
        match reaction {
            Err(dropped) => out.dropped = Some(dropped.words()),
            Ok(actions) => {
                for action in actions {
                    self.carry_out(action, now, out);
                }
            }
        }
    }

    fn carry_out(&mut self, action: MonitorAction, now: Timestamp, out: &mut PipelineEffects) {
        let visit = self.number();
        match action {
            MonitorAction::Nudge { rest, message } => {
                self.ask_for(visit, JobWork::Nudge { rest, message });
            }
            MonitorAction::Advance { why } => self.complete(&why, now, out),
            MonitorAction::Fail { why } => self.fail(&why, now, out),
            MonitorAction::Escalate { decision, about, question, options } => {
                self.ask_or_adopt(
                    QuestionSubject::Agent(decision),
                    about,
                    &question,
                    options,
                    now,
                    out,
                );
            }
            MonitorAction::DismissDecision { decision } => {
                if self
                    .question
                    .as_ref()
                    .is_some_and(|open| open.about == QuestionSubject::Agent(decision))
                {
                    self.dismiss("no longer needed", out);
                }
            }
            MonitorAction::RunGate { gate, run, timeout } => {
                self.note(now, format!("gate: {run}"));
                let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
                self.ask_for(visit, JobWork::Gate { ticket: gate, run, timeout_ms });
            }
            MonitorAction::Recover { message, append } => self.recover(message, append, now),
            MonitorAction::BlockStop { .. } => self.note(now, "the agent was kept from stopping"),
            MonitorAction::WaitUntil(until) => {
                let report = PipelineReport { until: Some(until), ..self.report() };
                out.told.push(BusEvent::TimerStarted(report));
            }
            MonitorAction::Answer { rest, allow, message } => {
                self.ask_for(
                    visit,
                    JobWork::Answer { rest, allow, about: None, prompt: None, choose: None },
                );
                // A dialog accepts no text: it is typed when the agent rests.
                if let Some(message) = message {
                    self.note(now, format!("not entered in the agent's dialog: {message}"));
                }
            }
            MonitorAction::Attach => {
                let agent =
                    self.present().and_then(|visit| visit.agent.clone()).unwrap_or_default();
                self.note(now, format!("answer in its session: anyhook agent attach {agent}"));
            }
        }
    }

    /// Ends the agent, and restarts it afterwards.
    fn recover(&mut self, message: Option<String>, append: bool, now: Timestamp) {
        let number = self.number();
        let Some(visit) = self.visits.last_mut() else { return };
        visit.recover = Some((message, append));
        self.note(now, "the agent is restarted");
        let running = |job: &&Job| matches!(job.work, JobWork::Agent { .. });
        match self.jobs.values().find(running).map(|job| job.number) {
            Some(job) => {
                self.ask_for(number, JobWork::End { job });
            }
            None => self.start_again(now),
        }
    }

    /// Restarts an agent that was requested to restart, once its former run is gone.
    pub(super) fn start_again(&mut self, now: Timestamp) {
        let is_there = self.jobs.values().any(|job| matches!(job.work, JobWork::Agent { .. }));
        if self.course != PipelineState::AtStep || is_there {
            return;
        }
        let Some(visit) = self.visits.last_mut() else { return };
        let Some((message, append)) = visit.recover.take() else { return };
        let life = visit.lives.saturating_add(1);
        (visit.lives, visit.started, visit.has_session) = (life, now, false);
        self.monitor.started(None, now);
        self.work_on(JobWork::Agent { life, message, append });
    }

    pub(super) fn started(
        &mut self,
        job: &Job,
        warning: Option<&str>,
        agents: &Agents,
        now: Timestamp,
        out: &mut PipelineEffects,
    ) {
        // While the step is left, the agent only has to be ended.
        if job.visit != self.number() || self.course != PipelineState::AtStep {
            return;
        }
        if let Some(visit) = self.visits.last_mut() {
            visit.has_session = true;
        }
        self.note(now, "the agent runs");
        if let Some(warning) = warning {
            self.note(now, warning);
        }
        out.told.push(BusEvent::SessionCreated(self.report()));
        let report = self.started_report(now);
        // It may have reported more by then than that it was started.
        let began = self.present().map_or(now, |visit| visit.started);
        if agents.get(&report.agent).is_none_or(|known| known.seen < began) {
            out.heard.push(BusEvent::AgentWorking(report));
        }
    }

    /// Reports what is known about the agent before it does anything.
    fn started_report(&self, now: Timestamp) -> AgentReport {
        let step = self.present().and_then(|visit| self.plan.step(&visit.step));
        let plan = step.and_then(|step| match &step.work {
            StepWork::Agent(plan) => Some(plan),
            StepWork::Shell(_) => None,
        });
        AgentReport {
            host: plan.and_then(|plan| plan.host.clone()),
            work_dir: plan.map(|plan| plan.cwd.clone()),
            project: Some(self.plan.project.clone()),
            ..self.agent_report(now)
        }
    }

    /// Reports that a session is gone, if the job had one; if the agent's step is over, also that
    /// the agent has ended.
    pub(super) fn note_end(&self, job: &Job, now: Timestamp, out: &mut PipelineEffects) {
        if !matches!(job.work, JobWork::Agent { .. }) {
            return;
        }
        out.told.push(BusEvent::SessionDeleted(self.report()));
        let agent = job.visit.and_then(|number| self.visit(number)?.agent.clone());
        if let (Some(agent), PipelineState::Leaving(_)) = (agent, &self.course) {
            let (source, at) = (StateSource::Process, Some(now));
            let report = AgentReport { agent, source, at, ..AgentReport::default() };
            out.heard.push(BusEvent::AgentExited(report));
        }
    }

    /// Handles the result of a job for the agent.
    pub(super) fn agent_job_told(
        &mut self,
        job: &Job,
        result: &JobResult,
        agents: &Agents,
        now: Timestamp,
        out: &mut PipelineEffects,
    ) {
        match (&job.work, result) {
            (JobWork::Agent { .. }, JobResult::Failed { why }) => {
                self.jobs.retain(|_, other| !matches!(other.work, JobWork::End { .. }));
                self.fail(&format!("could not start the agent: {why}"), now, out);
            }
            (JobWork::Agent { .. }, result) => self.agent_ended(job.number, result, now, out),
            (JobWork::Gate { ticket, .. }, result) => {
                let (exit, output) = match result {
                    JobResult::Exited { code, timed_out: false, output } => (*code, output.clone()),
                    JobResult::Exited { output, .. } => {
                        (None, format!("{}\nit timed out", output.trim_end()))
                    }
                    other => (None, words(other)),
                };
                let report = PipelineReport { exit_code: exit, ..self.report() };
                out.told.push(BusEvent::ShellExited(report));
                let reaction = self.monitor.gate_ended(agents, *ticket, exit, &output, now);
                self.follow_monitor(reaction, now, out);
            }
            (JobWork::Nudge { message, .. }, JobResult::Done { .. }) => {
                self.note(now, format!("sent to the agent: {message}"));
            }
            (JobWork::Prompt { .. }, JobResult::Done { .. }) => {
                self.note(now, "sent the agent its prompt");
            }
            (JobWork::Answer { .. }, JobResult::Done { .. }) => {
                self.note(now, "answered the agent's dialog");
                out.told.push(BusEvent::SessionInput(self.report()));
            }
            (_, JobResult::Obsolete { why }) => {
                self.note(now, format!("not typed: {why}"));
            }
            (_, other) => {
                let question = format!("could not type into the session: {}", words(other));
                self.ask_unless_asked(&question, now, out);
            }
        }
    }

    fn ask_unless_asked(&mut self, question: &str, now: Timestamp, out: &mut PipelineEffects) {
        self.note(now, question);
        if self.question.is_none() {
            self.ask(
                QuestionSubject::Dialog,
                question,
                QuestionSubject::Dialog.options(),
                now,
                out,
            );
        }
    }

    /// The agent's process is gone.
    fn agent_ended(
        &mut self,
        number: u32,
        result: &JobResult,
        now: Timestamp,
        out: &mut PipelineEffects,
    ) {
        let is_ended_by_us = self.jobs.values().any(|job| job.work == JobWork::End { job: number });
        out.told.push(BusEvent::SessionDeleted(self.report()));
        self.note(now, format!("the agent exited: {}", words(result)));
        // There is no one left to type to.
        self.jobs.retain(|_, job| !job.work.sends_keys());
        if is_ended_by_us {
            return;
        }
        let report = AgentReport { source: StateSource::Process, ..self.agent_report(now) };
        out.heard.push(match result {
            JobResult::Exited { code: Some(0), .. } => BusEvent::AgentExited(report),
            _ => BusEvent::AgentGone(report),
        });
    }

    fn agent_report(&self, now: Timestamp) -> AgentReport {
        let agent = self.present().and_then(|visit| visit.agent.clone()).unwrap_or_default();
        AgentReport { agent, source: StateSource::Signal, at: Some(now), ..AgentReport::default() }
    }

    /// Asks a person; the step waits.
    pub(super) fn ask(
        &mut self,
        about: QuestionSubject,
        text: &str,
        options: Vec<Choice>,
        now: Timestamp,
        out: &mut PipelineEffects,
    ) {
        self.dismiss("replaced by another question", out);
        self.questions += 1;
        let id = question::id(&self.plan.id, self.questions);
        let agent = self.present().and_then(|visit| visit.agent.clone());
        let asked_of = agent.unwrap_or_else(|| {
            let step = self.present().map_or("", |visit| visit.step.as_str());
            format!("{}.{step}", self.plan.id)
        });
        let inquiry = question::inquiry(id.clone(), &asked_of, text, options, now);
        let line = text.lines().next().unwrap_or_default().to_owned();
        self.question =
            Some(PipelineQuestion { id: id.clone(), about, text: line.clone(), hook_waits: false });
        self.note(now, format!("waiting for a person: {line}"));
        let report = PipelineReport { decision: Some(id), why: Some(line), ..self.report() };
        out.told.push(BusEvent::StepWaiting(report));
        out.asked = Some((inquiry, false));
    }

    fn ask_or_adopt(
        &mut self,
        asked: QuestionSubject,
        about: DecisionSubject,
        text: &str,
        options: Vec<Choice>,
        now: Timestamp,
        out: &mut PipelineEffects,
    ) {
        self.ask(asked, text, options, now, out);
        if let (Some((_, adopts)), DecisionSubject::Prompt(_)) = (&mut out.asked, about) {
            *adopts = true;
        }
    }

    /// Closes the open question.
    pub(super) fn dismiss(&mut self, why: &str, out: &mut PipelineEffects) {
        if let Some(question) = self.question.take() {
            // A question that was only just made is removed without a trace.
            if out.asked.as_ref().is_some_and(|(inquiry, _)| inquiry.id == question.id) {
                out.asked = None;
                return;
            }
            out.dismissed.push((question.id, why.to_owned()));
        }
    }
}

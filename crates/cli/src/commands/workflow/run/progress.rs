//! Progress of a running workflow: a line for everything that happens.

use std::collections::BTreeSet;
use std::io;

use anyhook_model::pipeline::{PipelinePhase, PipelinePlan, PipelineView, StepWork};
use anyhook_workflow::gate_request::StageGate;
use anyhook_workflow::machine::Invocation;
use anyhook_workflow::state::WorkflowState;
use anyhook_workflow::supervisor::{Observer, work_of};
use jiff::Timestamp;

use crate::format::time_of_day;
use crate::ui::{Out, Tone};
use crate::workflow::warn_of_journal;

/// Reports what happens.
pub struct WorkflowProgress<'out> {
    out: &'out mut Out,
    /// The revision of the last reported state.
    revision: Option<u64>,
    /// What is reported only once: pipelines that were resumed, decisions that wait for a person.
    known: BTreeSet<String>,
}

impl<'out> WorkflowProgress<'out> {
    pub fn new(out: &'out mut Out) -> Self {
        Self { out, revision: None, known: BTreeSet::new() }
    }

    /// Returns the output.
    pub fn out(&mut self) -> &mut Out {
        self.out
    }

    fn line(&mut self, at: Timestamp, stage: &str, tone: Tone, text: &str) -> io::Result<()> {
        let time = time_of_day(at);
        let mut lines = text.lines();
        self.out.line(&[
            (Tone::Dim, &time),
            (Tone::Strong, &format!(" {stage:<24} ")),
            (tone, lines.next().unwrap_or_default()),
        ])?;
        for more in lines {
            self.out.line(&[(Tone::Plain, &format!("{:34}{more}", ""))])?;
        }
        // Shown at once, also through a pipe.
        self.out.flush()
    }

    /// Prints the next step for the last line.
    fn hint(&mut self, text: &str) -> io::Result<()> {
        self.out.pieces(&[(Tone::Plain, &format!("{:34}", ""))])?;
        self.out.hint(text)?;
        self.out.flush()
    }
}

impl Observer for WorkflowProgress<'_> {
    /// Reports what happened to the state since the last report.
    fn state(&mut self, state: &WorkflowState) -> io::Result<()> {
        let before = self.revision.replace(state.revision);
        let Some(before) = before else { return Ok(()) };
        for line in state.history.iter().filter(|line| line.revision > before) {
            // The start of an agent is reported when it happens.
            if line.what == "in_progress" {
                continue;
            }
            let tone = match line.what.as_str() {
                "failed" | "blocked" | "aborted" => Tone::Bad,
                "completed" | "passed" | "approved" => Tone::Good,
                _ => Tone::Plain,
            };
            self.line(
                line.at,
                line.stage.as_deref().unwrap_or_default(),
                tone,
                &line.sentence_without_stage(),
            )?;
        }
        Ok(())
    }

    /// Reports that an agent was started.
    fn started(
        &mut self,
        work: &Invocation,
        plan: &PipelinePlan,
        pipeline: &PipelineView,
    ) -> io::Result<()> {
        self.known.insert(pipeline.id.to_string());
        let command = plan.steps.iter().find_map(|step| match &step.work {
            StepWork::Agent(agent) => Some(agent.run.text.as_str()),
            StepWork::Shell(_) => None,
        });
        let text = format!(
            "{} starts{}: {}",
            work.agent,
            attempt(work),
            crate::ui::first_line(command.unwrap_or_default(), 60)
        );
        self.line(pipeline.created, &place(work), Tone::Hint, &text)?;
        self.hint(&format!("anyhook agent attach {}", pipeline.id))
    }

    /// Reports what is new about pipelines: that one is already working, that one waits for a
    /// person.
    fn at_work(&mut self, pipelines: &[&PipelineView]) -> io::Result<()> {
        let now = anyhook_engine::now();
        for pipeline in pipelines {
            let Some((_, work)) = work_of(pipeline) else { continue };
            if self.known.insert(pipeline.id.to_string()) {
                let text = format!("{} is already working{}", work.agent, attempt(&work));
                self.line(now, &place(&work), Tone::Hint, &text)?;
                self.hint(&format!("anyhook agent attach {}", pipeline.id))?;
            }
            if let (PipelinePhase::Waiting, Some(decision)) = (pipeline.phase, &pipeline.decision)
                && self.known.insert(decision.to_string())
            {
                let why = pipeline.why.as_deref().unwrap_or("it has a question");
                let text = format!("{} waits for you: {why}", work.agent);
                self.line(now, &place(&work), Tone::Warn, &text)?;
                self.hint(&format!("anyhook decision show {decision}"))?;
            }
        }
        Ok(())
    }

    /// Reports that a person is asked through the daemon.
    fn asked(&mut self, gate: &StageGate) -> io::Result<()> {
        self.line(anyhook_engine::now(), &gate.stage, Tone::Warn, &gate.question)?;
        self.hint("anyhook decision list")
    }

    fn worked_in_vain(&mut self, pipeline: &PipelineView) -> io::Result<()> {
        self.hint(&format!("anyhook pipeline logs {}", pipeline.id))
    }

    fn no_help(&mut self, stage: &str, what: &str, why: &str) -> io::Result<()> {
        self.line(anyhook_engine::now(), stage, Tone::Warn, &format!("no {what}: {why}"))
    }

    fn not_journaled(&mut self, error: &io::Error) -> io::Result<()> {
        warn_of_journal(error)
    }
}

fn attempt(work: &Invocation) -> String {
    if work.attempt > 1 { format!(", attempt {}", work.attempt) } else { String::new() }
}

/// Returns where an agent works: its stage, or its review of one.
pub fn place(work: &Invocation) -> String {
    match &work.reviewed {
        Some(reviewed) => format!("{} of {reviewed}", work.stage),
        None => work.stage.clone(),
    }
}

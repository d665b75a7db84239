//! Plans how an agent of a workflow is started: its command, its prompt, and the reactions while it
//! works.
//!
//! It is a pipeline of one step, so that sessions, task supervisors, decisions, `attach` and the
//! handling of idle or dead agents exist once. The run, the stage and the attempt are in its
//! variables: from these the supervisor sees which attempt it belongs to, and starts no agent
//! twice.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use anyhook_engine::sha256_hex;
use anyhook_hosts::launch;
use anyhook_model::pipeline::{
    AgentPlan, PIPELINE_VERSION, PipelineNotices, PipelinePlan, PipelineStep, PipelineView,
    StepCommand, StepWork, Workspace, WorkspaceKind,
};
use anyhook_model::reaction::{Action, Attempts, Reactions, Verb};

use super::StartOptions;
use crate::briefing;
use crate::caller::{WORKFLOW_AGENT, WORKFLOW_CONTEXT};
use crate::error::WorkflowError;
use crate::machine::Invocation;
use crate::project::Project;
use crate::state::WorkflowState;

/// Prefix of the names of a workflow's pipelines.
const NAME: &str = "workflow/";
/// How often an agent that rests too early is nudged before a person is asked.
const NUDGES: u32 = 3;
/// The variable with which a command may place the prompt itself.
const PROMPT: &str = "ANYHOOK_PROMPT";

/// Makes the plans for starting agents.
#[derive(Clone, Copy, Debug)]
pub struct Starter<'all> {
    /// The project.
    pub project: &'all Project,
    /// The caller's options.
    pub options: &'all StartOptions,
}

impl Starter<'_> {
    /// Returns the command that starts an agent.
    pub fn command(&self, agent: &str) -> Result<String, WorkflowError> {
        let definition = &self.project.definition;
        let StartOptions { with, usual, .. } = self.options;
        let own = definition.agent(agent).and_then(|agent| agent.run.as_ref());
        let told = with.as_ref().or(own).or(definition.run.as_ref()).or(usual.as_ref());
        told.cloned().ok_or_else(|| WorkflowError::NoCommand(agent.to_owned()))
    }

    /// Checks that every agent that still has to work can be started. Which reviewers are needed
    /// depends on the course of the workflow.
    pub fn check(&self, state: &WorkflowState) -> Result<(), WorkflowError> {
        let is_to_do = |name: &str| state.stages.get(name).is_some_and(|stage| !stage.is_passed());
        let stages = self.project.definition.stages.iter();
        let mut to_do = stages.filter(|stage| is_to_do(&stage.name.text));
        to_do.try_for_each(|stage| self.command(&stage.agent.text).map(drop))
    }

    /// Returns the pipeline that runs an agent.
    pub fn plan(
        &self,
        state: &WorkflowState,
        work: &Invocation,
    ) -> Result<PipelinePlan, WorkflowError> {
        let run = self.command(&work.agent)?;
        let root = self.project.root.to_string_lossy().into_owned();
        let file = self.project.file.as_ref();
        let text = self.project.text.as_deref().unwrap_or(self.project.caller.method.text());
        let digest = sha256_hex(text.as_bytes());
        let agent = AgentPlan {
            name: work.agent.clone(),
            host: launch::of_command(&run).map(str::to_owned),
            places_prompt: run.contains(PROMPT),
            run: StepCommand { text: run, values: BTreeMap::new() },
            prompt: Some(self.runnable(&self.prompt(state, work)?)),
            env: Self::variables(&work.agent),
            cwd: root.clone(),
            reactions: self.reactions(work),
            gate_values: BTreeMap::new(),
        };
        let step = PipelineStep {
            name: work.stage.clone(),
            work: StepWork::Agent(Box::new(agent)),
            on_done: None,
            on_fail: None,
            on_cancel: None,
        };
        Ok(PipelinePlan {
            v: PIPELINE_VERSION,
            id: anyhook_engine::new_id(),
            name: format!("{NAME}{}", work.stage),
            run_name: None,
            runbook: file.map_or_else(
                || "(built in)".to_owned(),
                |file| file.to_string_lossy().into_owned(),
            ),
            digest,
            project: root.clone(),
            variables: variables_of(&state.id, work),
            workspace: Workspace {
                kind: WorkspaceKind::None,
                root,
                keep: true,
                branch: None,
                base: None,
            },
            steps: vec![step],
            notify: PipelineNotices::default(),
            on_done: None,
            on_fail: None,
            on_cancel: None,
        })
    }

    fn variables(agent: &str) -> BTreeMap<String, String> {
        BTreeMap::from([
            (WORKFLOW_AGENT.to_owned(), agent.to_owned()),
            (WORKFLOW_CONTEXT.to_owned(), "given".to_owned()),
        ])
    }

    /// Returns a text with our commands made runnable. If our program is not on the `PATH`, they
    /// get its full path: agents' shells may reset the variable.
    fn runnable(&self, text: &str) -> String {
        let path = self.options.variables.get("PATH").map_or("", String::as_str);
        let is_there = std::env::split_paths(path).any(|folder| folder.join("anyhook").is_file());
        match &self.project.caller.places.binary {
            Some(binary) if !is_there => {
                text.replace("`anyhook ", &format!("`{} ", binary.display()))
            }
            _ => text.to_owned(),
        }
    }

    /// Returns the prompt of an agent.
    fn prompt(&self, state: &WorkflowState, work: &Invocation) -> Result<String, WorkflowError> {
        let text = briefing::text(self.project, state, &work.agent)?;
        let signal = self.project.signal_path(&work.agent);
        let more = format!(
            "\n\nThis is attempt {} at `{}`. You work alone: no one reads your messages until you are done, and everything you need is above or in the project. \
             Complete all of it now. `anyhook workflow complete {signal}` must be the last thing you do: once it is accepted, your session ends. \
             If you cannot continue, write the signal with `\"status\": \"blocked\"` or `\"failed\"` and a `reason`, and run the same command.",
            work.attempt, work.stage,
        );
        Ok(text + &more)
    }

    /// Returns the reactions for an agent.
    fn reactions(&self, work: &Invocation) -> Reactions {
        let signal = self.project.signal_path(&work.agent);
        let nudge = format!(
            "`{}` is not completed yet. Write what is missing, then the signal `{signal}`, and run `anyhook workflow complete {signal}`, which reports any errors. If you cannot continue, write the signal with `\"status\": \"blocked\"` and a `reason`.",
            work.stage
        );
        Reactions {
            on_idle: Action {
                message: Some(self.runnable(&nudge)),
                attempts: NonZeroU32::new(NUDGES).map(Attempts::Times),
                ..Action::new(Verb::Nudge)
            },
            on_dead: Action::new(Verb::Fail),
            ..Reactions::default()
        }
    }
}

fn variables_of(workflow: &str, work: &Invocation) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::from([
        ("workflow".to_owned(), workflow.to_owned()),
        ("agent".to_owned(), work.agent.clone()),
        ("stage".to_owned(), work.stage.clone()),
        ("round".to_owned(), work.round.to_string()),
        ("attempt".to_owned(), work.attempt.to_string()),
    ]);
    if let Some(reviewed) = &work.reviewed {
        variables.insert("reviewed".to_owned(), reviewed.clone());
    }
    variables
}

/// Returns the run of a workflow that a pipeline belongs to, and its agent's work; `None` if it is
/// not a pipeline of a workflow.
pub fn work_of(pipeline: &PipelineView) -> Option<(String, Invocation)> {
    pipeline.name.strip_prefix(NAME)?;
    let variable = |name: &str| pipeline.variables.get(name).cloned();
    let work = Invocation {
        agent: variable("agent")?,
        stage: variable("stage")?,
        reviewed: variable("reviewed"),
        round: variable("round")?.parse().ok()?,
        attempt: variable("attempt")?.parse().ok()?,
    };
    Some((variable("workflow")?, work))
}

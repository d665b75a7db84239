//! Writes the directive files that agents' hook processes read: kept in sync with the state.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhook_engine::agent_directives;
use anyhook_flow::DaemonState;
use anyhook_flow::pipeline::Pipeline;
use anyhook_model::agent_directives::{AgentDirectives, INSTRUCTIONS_VERSION};
use anyhook_model::pipeline::StepWork;
use anyhook_model::reaction::Verb;

/// The files that this daemon has written.
#[derive(Debug)]
pub(super) struct DirectiveFiles {
    /// The state folder.
    folder: PathBuf,
    written: BTreeMap<String, AgentDirectives>,
}

impl DirectiveFiles {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, written: BTreeMap::new() }
    }

    /// Writes what has changed; returns what cannot be written.
    pub(super) fn update(&mut self, state: &DaemonState) -> Result<(), String> {
        let wanted: BTreeMap<String, AgentDirectives> =
            state.pipelines.open().filter_map(|open| of_pipeline(open, state)).collect();
        for (agent, instructions) in &wanted {
            if self.written.get(agent) != Some(instructions) {
                agent_directives::write(&self.folder, instructions).map_err(|error| {
                    format!("cannot write instructions for agent {agent}: {error}")
                })?;
            }
        }
        for agent in self.written.keys().filter(|agent| !wanted.contains_key(*agent)) {
            // If it remains, it concerns an agent that has ended.
            let _ = agent_directives::remove(&self.folder, agent);
        }
        self.written = wanted;
        Ok(())
    }
}

/// Returns the directives for the hook processes of a pipeline's current agent.
fn of_pipeline(pipeline: &Pipeline, state: &DaemonState) -> Option<(String, AgentDirectives)> {
    let visit = pipeline.present()?;
    let agent = visit.agent.clone()?;
    let StepWork::Agent(plan) = &pipeline.plan.step(&visit.step)?.work else { return None };
    let instructions = AgentDirectives {
        v: INSTRUCTIONS_VERSION,
        agent: agent.clone(),
        host: plan.host.clone(),
        session: state.agents.get(&agent).and_then(|known| known.session.clone()),
        hold_stop: pipeline.monitor().holds_stop(),
        ask_permission: plan.reactions.on_prompt.verb == Verb::Escalate,
    };
    Some((agent, instructions))
}

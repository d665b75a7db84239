//! The context of an agent: which files it is given, and what it must produce.
//!
//! In addition, every agent is given the project's configuration and the workflow's state.

use super::definition::{ArtifactDefinition, SchemaChoice, StageDefinition, WorkflowDefinition};
use super::findings::Findings;
use super::state::{StageState, WorkflowState};
use super::vocabulary::{ReviewStatus, StageStatus};

/// What an agent is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentContext {
    /// The agent.
    pub agent: String,
    /// Its stage or review.
    pub stage: String,
    /// For a review: the stage being reviewed.
    pub reviewed: Option<String>,
    /// The artifacts of others.
    pub upstream: Vec<Upstream>,
    /// What it must produce.
    pub outputs: Vec<ExpectedArtifact>,
    /// What it should do differently this time.
    pub feedback: Vec<String>,
    /// What reports say about its work, if it was sent back because of them.
    pub findings: Vec<Findings>,
}

/// An artifact that another stage produced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// The stage.
    pub stage: String,
    /// The artifact's path, relative to the project.
    pub path: String,
}

/// An artifact that must be produced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedArtifact {
    /// The artifact's path, relative to the project.
    pub path: String,
    /// The schema it must match.
    pub schema: SchemaChoice,
    /// Whether the stage requires it.
    pub required: bool,
}

/// Why there is no context for an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// The agent has no stage or review.
    #[error("no stage or review uses the agent `{agent}`")]
    UnknownAgent {
        /// The agent.
        agent: String,
        /// The agents that have one.
        known: Vec<String>,
    },
    /// An artifact that it needs does not exist yet.
    #[error("`{agent}` needs `{path}`, which the stage `{stage}` produces; it is {}", .status.name())]
    NotMade {
        /// The agent.
        agent: String,
        /// The artifact.
        path: String,
        /// The stage that produces it.
        stage: String,
        /// The status of that stage.
        status: StageStatus,
    },
    /// There is nothing to review.
    #[error("`{agent}` has nothing to review")]
    NothingToReview {
        /// The agent.
        agent: String,
    },
}

impl ContextError {
    /// Returns the next step.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownAgent { known, .. } => format!("available: {}", known.join(", ")),
            Self::NotMade { stage, .. } => format!("complete `{stage}` first"),
            Self::NothingToReview { .. } => "reviews are requested when a stage is done".to_owned(),
        }
    }
}

/// Returns what an agent is given.
pub fn context(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    agent: &str,
) -> Result<AgentContext, ContextError> {
    let own = definition.stages.iter().filter(|stage| stage.agent.text == agent);
    let is = |stage: &&StageDefinition, wanted: fn(&StageState) -> bool| {
        state.stages.get(&stage.name.text).is_some_and(wanted)
    };
    let at_work = own.clone().find(|one| is(one, |now| now.status == StageStatus::InProgress));
    let to_do = own.clone().find(|one| is(one, |now| !now.is_passed()));
    if let Some(stage) = at_work {
        return of_stage(definition, state, stage);
    }
    match (of_review(definition, state, agent), to_do.or_else(|| own.clone().next())) {
        (Err(_), Some(stage)) => of_stage(definition, state, stage),
        (review, _) => review,
    }
}

fn of_stage(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    stage: &StageDefinition,
) -> Result<AgentContext, ContextError> {
    let agent = &stage.agent.text;
    let mut upstream = Vec::new();
    for other in definition.all_named(&stage.reads) {
        let Some(now) = state.stages.get(&other.name.text) else { continue };
        if !now.is_completed() && now.status != StageStatus::Skipped {
            let path = outputs(definition, state, &other.agent.text, &other.artifacts)
                .into_iter()
                .next()
                .map_or_else(|| definition.path(&other.agent.text, "…"), |output| output.path);
            return Err(ContextError::NotMade {
                agent: agent.clone(),
                path,
                stage: other.name.text.clone(),
                status: now.status,
            });
        }
        upstream.extend(made(&other.name.text, now));
    }
    let now = state.stages.get(&stage.name.text);
    Ok(AgentContext {
        agent: agent.clone(),
        stage: stage.name.text.clone(),
        reviewed: None,
        upstream,
        outputs: outputs(definition, state, agent, &stage.artifacts),
        feedback: now.map(|now| now.feedback.clone()).unwrap_or_default(),
        findings: now.map(|now| now.findings.clone()).unwrap_or_default(),
    })
}

fn of_review(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    agent: &str,
) -> Result<AgentContext, ContextError> {
    let own: Vec<_> = definition.reviews.iter().filter(|one| one.agent.text == agent).collect();
    if own.is_empty() {
        let stages = definition.stages.iter().map(|stage| stage.agent.text.clone());
        let reviews = definition.reviews.iter().map(|review| review.agent.text.clone());
        let known = stages.chain(reviews).collect();
        return Err(ContextError::UnknownAgent { agent: agent.to_owned(), known });
    }
    for review in own {
        let is_asked = |stage: &&StageDefinition| {
            state.stages.get(&stage.name.text).is_some_and(|now| {
                let asked = now.reviews.get(&review.name.text);
                now.is_at_gate() && asked.is_some_and(|one| one.status == ReviewStatus::InProgress)
            })
        };
        let Some(stage) = definition.stages.iter().find(is_asked) else { continue };
        let wanted = definition.stages.iter().filter(|other| {
            other.name.text == stage.name.text
                || definition.all_named(&review.reads).iter().any(|one| one.name == other.name)
        });
        // What else it reads may not exist yet: a review may come early.
        let upstream = wanted.filter_map(|other| {
            let now = state.stages.get(&other.name.text).filter(|now| now.is_completed())?;
            Some(made(&other.name.text, now).collect::<Vec<_>>())
        });
        return Ok(AgentContext {
            agent: agent.to_owned(),
            stage: review.name.text.clone(),
            reviewed: Some(stage.name.text.clone()),
            upstream: upstream.flatten().collect(),
            outputs: outputs(definition, state, agent, &review.artifacts),
            feedback: Vec::new(),
            findings: Vec::new(),
        });
    }
    Err(ContextError::NothingToReview { agent: agent.to_owned() })
}

/// Returns every artifact of a stage: none replaces another.
fn made<'all>(stage: &'all str, now: &'all StageState) -> impl Iterator<Item = Upstream> + 'all {
    now.output_artifacts.iter().map(|path| Upstream { stage: stage.to_owned(), path: path.clone() })
}

/// Returns the artifacts to produce in the current mode.
fn outputs(
    definition: &WorkflowDefinition,
    state: &WorkflowState,
    agent: &str,
    artifacts: &[ArtifactDefinition],
) -> Vec<ExpectedArtifact> {
    artifacts
        .iter()
        .filter(|artifact| artifact.is_made_in(state.execution_mode))
        .map(|artifact| ExpectedArtifact {
            path: definition.path(agent, &artifact.file.text),
            schema: artifact.schema.clone(),
            required: artifact.required,
        })
        .collect()
}

#[cfg(test)]
mod tests;

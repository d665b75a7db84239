//! Second opinions: another model's review of an artifact, fetched from an MCP server and kept in
//! `second-opinion-review.json` for the person who approves it.
//!
//! It is a help: a server that is absent, slow or wrong results in a review that says so.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhook_engine::now;
use anyhook_mcp::ServerFailure;
use anyhook_mcp::second_opinion::{self, Reviewer, SecondOpinion};
use jiff::Timestamp;
use serde_json::Value;

use crate::context::AgentContext;
use crate::error::{FileKind, NotReviewable, WorkflowError};
use crate::findings::Findings;
use crate::project::Project;
use crate::schemas::{ArtifactKind, validate};
use crate::server_finder::{self, ServerFinder};
use crate::state::{StageState, WorkflowState};
use crate::vocabulary::ReviewStatus;

/// The server to ask if the workflow names none.
const SERVER: &str = "gemini";
/// Maximum size of an artifact: no model reads a larger one with care.
const LONGEST: usize = 1024 * 1024;
/// Time limit of a reviewer, for all artifacts together.
pub const WITHIN: Duration = Duration::from_secs(60);

/// Reviews an artifact, a path relative to the project, and keeps the result.
pub fn review(
    project: &Project,
    servers: &dyn ServerFinder,
    artifact: &str,
    deadline: Duration,
) -> Result<SecondOpinion, WorkflowError> {
    let text = text(project, artifact)?;
    let review = ask(project, servers, artifact, &text, deadline);
    keep(project, artifact, &review)?;
    Ok(review)
}

/// Reviews what an agent has completed, if it needs a second opinion and has none yet.
pub fn review_for(
    project: &Project,
    servers: &dyn ServerFinder,
    state: &WorkflowState,
    agent: &str,
    deadline: Duration,
) -> Result<(), WorkflowError> {
    let Some(done) = last_done(project, state, agent) else { return Ok(()) };
    let Some(first) = done.artifacts.first() else { return Ok(()) };
    if opinions_of(project, agent).is_some_and(|review| done.is_meant_by(&review)) {
        return Ok(());
    }
    let until = Instant::now() + deadline;
    let reviews = done.artifacts.iter().map(|artifact| match text(project, artifact) {
        Ok(text) => {
            let left = until.saturating_duration_since(Instant::now());
            ask(project, servers, artifact, &text, left)
        }
        Err(error) => {
            let reason = error.to_string();
            let failed = Err(ServerFailure { reason, hint: String::new() });
            second_opinion::review(artifact, server_name(project), &failed, now())
        }
    });
    match second_opinion::together(reviews.collect()) {
        Some(review) => keep(project, first, &review),
        None => Ok(()),
    }
}

/// Returns the latest second opinion on an agent's work; `None` if the file cannot be used.
pub fn opinions_of(project: &Project, agent: &str) -> Option<SecondOpinion> {
    let path = project.definition.path(agent, ArtifactKind::SECOND_OPINION.file());
    let value = project.read_json(&path).ok()?;
    let is_valid = validate(ArtifactKind::SECOND_OPINION, &value).is_empty();
    serde_json::from_value(value).ok().filter(|_| is_valid)
}

/// Returns the second opinion on a completed stage; `None` if it was not requested since then, or
/// is about something else.
pub fn opinion_since(project: &Project, stage: &StageState) -> Option<SecondOpinion> {
    let review = opinions_of(project, &stage.agent)?;
    let done = Done { at: stage.completed_at?, artifacts: &stage.output_artifacts };
    done.is_meant_by(&review).then_some(review)
}

/// Returns the second opinion on the work that an agent must now repeat; `None` if it was not
/// requested, had no remarks, or is about another run of the workflow.
pub fn sent_back_with(
    project: &Project,
    state: &WorkflowState,
    context: &AgentContext,
) -> Option<Findings> {
    let review = opinions_of(project, &context.agent)?;
    let started = state.stages.get(&context.stage)?.started_at?;
    let is_of_last_attempt =
        review.reviewed_at.is_some_and(|at| at >= state.created_at && at <= started);
    let is_of_this =
        context.outputs.iter().any(|output| review.scope.contains(output.path.as_str()));
    if !(is_of_last_attempt && is_of_this) {
        return None;
    }
    let concerns = review.concerns.iter().map(|concern| Value::from(concern.as_str()));
    let suggestions = review.suggestions.iter();
    let suggestions = suggestions.map(|one| Value::from(format!("suggestion: {one}")));
    let items: Vec<Value> = concerns.chain(suggestions).collect();
    let file = project.definition.path(&context.agent, ArtifactKind::SECOND_OPINION.file());
    let source = format!("second opinion by {}", review.reviewer);
    let summary = review.verdict.as_ref().map(|verdict| verdict.words());
    (!items.is_empty()).then(|| Findings::new(&source, Some(&file), summary, items))
}

/// Returns a second opinion as lines, for the person who decides.
pub fn lines(review: &SecondOpinion) -> Vec<String> {
    let said = match (&review.verdict, &review.reason) {
        (Some(verdict), _) => verdict.words().to_owned(),
        (None, Some(reason)) => format!("unavailable: {reason}"),
        (None, None) => "unavailable".to_owned(),
    };
    let mut lines =
        vec![format!("second opinion by {} on {}: {said}", review.reviewer, review.scope)];
    lines.extend(review.concerns.iter().map(|concern| format!("  - {concern}")));
    lines.extend(review.suggestions.iter().map(|suggestion| format!("  + {suggestion}")));
    lines
}

/// A stage or a review that an agent has completed.
struct Done<'state> {
    at: Timestamp,
    artifacts: &'state [String],
}

impl Done<'_> {
    /// Returns whether a review is about this, and was made after its completion, and not in the
    /// future.
    fn is_meant_by(&self, review: &SecondOpinion) -> bool {
        let is_since = review.reviewed_at.is_some_and(|at| at >= self.at && at <= now());
        is_since && self.artifacts.iter().any(|artifact| review.scope.contains(artifact.as_str()))
    }
}

/// Returns the last work that an agent has completed and that needs a second opinion.
fn last_done<'state>(
    project: &Project,
    state: &'state WorkflowState,
    agent: &str,
) -> Option<Done<'state>> {
    let is_wanted = |name: &str| {
        project.definition.wants_second_opinion(name, state.execution_mode, state.risk())
    };
    let stages = state
        .stages
        .iter()
        .filter(|(name, stage)| stage.agent == agent && stage.is_completed() && is_wanted(name));
    let stages = stages.filter_map(|(_, stage)| {
        Some(Done { at: stage.completed_at?, artifacts: &stage.output_artifacts })
    });
    let reviews = state.stages.values().flat_map(|stage| &stage.reviews);
    let reviews = reviews.filter(|(name, review)| {
        review.agent == agent && review.status == ReviewStatus::Completed && is_wanted(name)
    });
    let reviews = reviews.filter_map(|(_, review)| {
        Some(Done { at: review.reviewed_at?, artifacts: &review.output_artifacts })
    });
    stages.chain(reviews).max_by_key(|done| done.at)
}

fn server_name(project: &Project) -> &str {
    project.definition.second_opinion.as_ref().map_or(SERVER, |rule| rule.server.as_str())
}

fn ask(
    project: &Project,
    servers: &dyn ServerFinder,
    artifact: &str,
    text: &str,
    deadline: Duration,
) -> SecondOpinion {
    let name = server_name(project);
    let rule = project.definition.second_opinion.as_ref();
    let reviewer = Reviewer { tool: rule.and_then(|rule| rule.tool.clone()), argument: None };
    let asked = server_finder::ask(servers, name, deadline, |server, limits| {
        second_opinion::ask(server, &reviewer, artifact, text, limits, &now)
    });
    asked.unwrap_or_else(|failure| second_opinion::review(artifact, name, &Err(failure), now()))
}

/// Reads an artifact: JSON, and not too long to be reviewed.
fn text(project: &Project, artifact: &str) -> Result<String, WorkflowError> {
    let text = project.read_text(artifact);
    let text = text.map_err(|error| WorkflowError::file(FileKind::Reviewed, artifact, error))?;
    let cannot = |why| WorkflowError::NotReviewable { artifact: artifact.to_owned(), why };
    if text.len() > LONGEST {
        return Err(cannot(NotReviewable::TooLarge));
    }
    serde_json::from_str::<serde::de::IgnoredAny>(&text)
        .map_err(|error| cannot(NotReviewable::NotJson(error.to_string())))?;
    Ok(text)
}

/// Keeps a review as the latest, and next to the artifact if that is in the folder of an agent.
fn keep(project: &Project, artifact: &str, review: &SecondOpinion) -> Result<(), WorkflowError> {
    let file = ArtifactKind::SECOND_OPINION.file();
    let _lock = project.lock()?;
    project.write_json(&project.system_path(file), review)?;
    let folder = Path::new(artifact).parent();
    let is_agents = folder.and_then(Path::parent) == Some(Path::new(&project.definition.folder));
    match folder.and_then(Path::to_str).filter(|_| is_agents) {
        Some(folder) => project.write_json(&format!("{folder}/{file}"), review),
        None => Ok(()),
    }
}

//! The words, tones and signs of verdicts, of agents' states, pipelines' phases and visits of
//! steps.

use std::collections::BTreeMap;

use anyhook_model::pipeline::{PipelinePhase, PipelineView, VisitState};
use anyhook_model::{AgentState, Verdict};

use crate::text::first_line;
use crate::tone::Tone;

/// The sign of a step that was not visited.
pub const NOT_VISITED: &str = ".";

/// What is added to the state of an agent that has an open decision.
pub const NEEDS_YOU: &str = "needs you";

/// Returns a verdict in a word; if no hook decided, what else hooks did.
pub fn verdict_word(verdict: &Verdict) -> (Tone, &'static str) {
    match verdict.word() {
        word @ "deny" => (Tone::Bad, word),
        word @ ("ask" | "capped") => (Tone::Warn, word),
        word @ "allow" => (Tone::Good, word),
        _ if verdict.input.is_some() => (Tone::Hint, "changed"),
        _ if verdict.context.is_some() => (Tone::Hint, "context"),
        _ => (Tone::Dim, "–"),
    }
}

/// Returns the tone of an agent's state.
pub fn agent_tone(state: AgentState) -> Tone {
    match state {
        AgentState::Prompting(_) => Tone::Warn,
        AgentState::Failed(_) | AgentState::Gone => Tone::Bad,
        AgentState::Idle => Tone::Hint,
        AgentState::Working => Tone::Good,
        AgentState::Exited => Tone::Dim,
    }
}

/// Returns the tone of a pipeline's phase.
pub fn phase_tone(phase: PipelinePhase) -> Tone {
    match phase {
        PipelinePhase::Running => Tone::Hint,
        PipelinePhase::Waiting => Tone::Warn,
        PipelinePhase::Completed => Tone::Good,
        PipelinePhase::Failed => Tone::Bad,
        PipelinePhase::Cancelled => Tone::Dim,
    }
}

/// Returns the sign of a visit, and its tone.
pub fn visit_sign(state: VisitState) -> (&'static str, Tone) {
    match state {
        VisitState::Running => (">", Tone::Hint),
        VisitState::Waiting => ("?", Tone::Warn),
        VisitState::Completed => ("+", Tone::Good),
        VisitState::Failed => ("x", Tone::Bad),
        VisitState::Cancelled => ("-", Tone::Dim),
    }
}

/// Returns the state of the last visit of every visited step.
pub fn visited(pipeline: &PipelineView) -> BTreeMap<&str, VisitState> {
    pipeline.visits.iter().map(|visit| (visit.step.as_str(), visit.state)).collect()
}

/// Returns what a pipeline waits for or why it ended, on one line; the decision's id first.
pub fn pipeline_reason(pipeline: &PipelineView, width: usize) -> String {
    let why = pipeline.why.as_deref().unwrap_or_default();
    let decision = pipeline.decision.as_ref().map(|id| format!("decision {id}: "));
    first_line(&format!("{}{why}", decision.unwrap_or_default()), width)
}

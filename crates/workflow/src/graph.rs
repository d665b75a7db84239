//! Draws a workflow as a graph: as Mermaid text, or as SVG.

mod layout;
mod mermaid;
mod svg;

use super::definition::{ReviewDefinition, StageDefinition, WorkflowDefinition};
use super::state::{StageState, WorkflowState};
use super::vocabulary::{Asks, Decision, Risk, When};

pub use mermaid::mermaid;
pub use svg::{STYLE, svg, svg_of_page};

fn approval(stage: &StageDefinition) -> Option<When> {
    stage.approval.as_ref().map(|rule| rule.when)
}

/// Returns the label of a gate: a person is asked, perhaps only in some modes.
fn gate_lines(stage: &StageDefinition) -> Option<Vec<&'static str>> {
    let rule = stage.approval.as_ref()?;
    let modes = rule.modes.iter().map(|mode| mode.name());
    Some(std::iter::once("approval").chain(modes).collect())
}

/// When a review applies to stages.
enum Reviewed {
    /// Regardless of the risk.
    Always,
    /// At these risk levels.
    At(Vec<Risk>),
}

/// Returns when a review applies to which stages.
fn reviewed<'all>(
    definition: &'all WorkflowDefinition,
    review: &ReviewDefinition,
) -> Vec<(Reviewed, Vec<&'all StageDefinition>)> {
    let mut all = Vec::new();
    let always = definition.all_named(&review.stages);
    if !always.is_empty() {
        all.push((Reviewed::Always, always));
    }
    for rule in definition.risks.iter().filter(|rule| rule.reviews.contains(&review.name)) {
        let stages = match rule.stages.as_slice() {
            [] => definition.stages.iter().collect(),
            names => definition.all_named(names),
        };
        all.push((Reviewed::At(rule.levels.clone()), stages));
    }
    all
}

impl Reviewed {
    fn words(&self) -> String {
        match self {
            Self::Always => "always".to_owned(),
            Self::At(levels) => levels.iter().map(|one| one.name()).collect::<Vec<_>>().join(", "),
        }
    }
}

/// The status of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GateStatus {
    /// No one is asked yet.
    Closed,
    /// A person is asked.
    Asked,
    /// A person approved it.
    Open,
    /// A person rejected it.
    Shut,
}

fn gate_status(now: &StageState) -> GateStatus {
    match (now.asks, now.approval.as_ref().map(|word| word.decision)) {
        (Some(Asks::Approval), _) => GateStatus::Asked,
        (_, Some(Decision::Approved | Decision::DeployAnyway)) => GateStatus::Open,
        (_, Some(Decision::Rejected)) => GateStatus::Shut,
        _ => GateStatus::Closed,
    }
}

fn state_of<'all>(
    state: Option<&'all WorkflowState>,
    stage: &StageDefinition,
) -> Option<&'all StageState> {
    state?.stages.get(&stage.name.text)
}

#[cfg(test)]
mod tests;
